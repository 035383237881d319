internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool

// passcode-verifier: on a server of a fleet, answers its workstations. `passcode-verifier accept`, which systemd starts and
// confines, starts one process for each request: this program without an argument. Each is executed afresh, not forked, so
// that addresses learned from one say nothing about the next. With another argument it is an administrator's tool, or
// stunnel's relay.
//
//     workstation ══ TLS ══ stunnel ── passcode-verifier relay ── AF_UNIX ── passcode-verifier ── 127.0.0.1 ── etcd
//                          (stunnel's own account)                        (_passcode)
//
// MUST (passcode-verifier):
//  1  The process that faces the network reads neither key nor etcd's password: the relay runs as stunnel's account.
//                                                                          test_verifier.py, test_verifier_attacks.py
//  2  Only root and the relay's account are answered; the workstation is who the relay says it is, by the whole
//     distinguished name in its certificate, and only if the list has that name. That is checked before any of the
//     request is read; and by the relay, if it can read the list, before a verifier or the issuer is started.
//     test_verifier_attacks.py
//  3  A request is bounded, and read to its end. What it can ask is FleetRequest.allows.
//                                                                                FleetTests, test_verifier_attacks.py
//  4  One whole reply to a request; while it works, a sign of it every second or two.                     test_verifier.py
//  5  It ends: 10 s for a request, 140 s for the rest; 30 s for the attempt after a look. On a server, at most 256 wait
//     for such an attempt; one more answers, and ends. At most 128 serve one workstation, 96 of them with an attempt on
//     one account; one more refuses.                                      test_verifier.py, test_verifier_attacks.py
//  6  It never runs as root while it answers.                                                       test_verifier.py
//  7  The process that accepts connections opens no file and reads nothing of a request. It runs at most 512 others at a
//     time and closes any further connection. It keeps running when they crash or resources run short, and they finish if
//     it ends. Its own account can't trace it.                                                 test_verifier_accept.py
//  8  Where AppArmor is in force, neither it nor the relay keeps the rights that only root's commands need: they can't
//     write programs, or read other accounts' files.                    test_verifier_apparmor.py, test_fleet_kernel.py

@main
struct Main {
  static func main() {
    exitProcess(run())
  }

  private static func run() -> Int32 {
    do throws(Failure) {
      let table = Order.Option.allCases.map { $0.entry }
      let parsed: Arguments.Parsed
      do throws(Arguments.Problem) {
        parsed = try Arguments.parse(table)
      } catch {
        Catalogue.useLanguageOfEnvironment()
        throw .unknownOption(error.text(table))
      }
      return try run(parsed)
    } catch {
      complain(error.text)
      return error.status.rawValue
    }
  }

  private static func run(_ parsed: Arguments.Parsed) throws(Failure) -> Int32 {
    let given = parsed.options.map { Order.Option.allCases[$0.index] }
    if given.contains(.version) {
      Stream.output.write(Text("passcode-verifier \(Bytes(ProgramVersion().text))\n").bytes)
      return 0
    }
    let word = parsed.operands.first ?? []
    if !given.contains(.help) {
      if parsed.operands.isEmpty { return serve() }
      if word.spells("relay"), parsed.operands.count == 1 { return Relay.run(.answer) }
      if word.spells("relay"), parsed.operands.count == 2, parsed.operands[1].spells("renew") {
        return Relay.run(.renewal)
      }
      if word.spells("accept"), parsed.operands.count == 1 { return Acceptor.run() }
    }
    // None of those four has anything to say to a person.
    Catalogue.useLanguageOfEnvironment()
    if given.contains(.help) {
      Stream.output.write(Words.usage.bytes)
      return 0
    }
    guard let command = Command.allCases.first(where: { word == $0.name.bytes }) else {
      throw .unknownCommand(word)
    }
    let order = try Order(command, parsed.operands.dropFirst(), parsed.options)
    switch order.command {
    case .check: return try ServerCheck.run(order).rawValue
    case .metrics: return try Metrics.run().rawValue
    default: return try Administration.run(order).rawValue
    }
  }

  private static func serve() -> Int32 {
    guard HelperService.isConnected() else {
      complain(Words.notByHand)
      return 2
    }
    Confinement.narrow(to: Bytes(text: "passcode-verifier//serve"))
    do throws(Errno) { try HelperService.layDownInheritance(limit: 10) } catch { return 1 }
    guard let sodium = Sodium() else { return 1 }
    let peer = VerifierService.peer()
    guard let name = FleetRequest.readName(HelperService.receive) else { return nonsense() }
    var connection = StationConnection(workstation: name, peer: peer, sodium)
    if let refusal = connection.refusal() {
      // Nothing of the request is read, so no code of it is charged.
      HelperService.reply(FleetReply.encoded(refusal, isUncharged: true))
      HelperService.dropInput()
      HelperService.endReplies()
      connection.keepCounts()
      return 0
    }
    guard let request = Request.read(sodium) else { return nonsense() }
    serve(request, &connection, sodium)
    HelperService.endReplies()
    connection.keepCounts()
    connection.tidyUp()
    return 0
  }

  private static func nonsense() -> Int32 {
    SystemLog.notice(Bytes(text: "passcode-verifier: incomplete or malformed request"))
    return 1
  }

  /// One request; or a look, and the attempt that follows it within 30 s.
  private static func serve(
    _ request: consuming Request, _ connection: inout StationConnection, _ sodium: Sodium
  ) {
    let account = request.account
    var turn = request.head.operation == .look ? FleetTurn.toWait() : FleetTurn.none
    let reply = connection.answer(request)
    let waits = reply.kind == .openEnding && turn.isTaken
    HelperService.reply(
      FleetReply.encoded(
        waits ? HelperReply(.openWaiting, [reply.number(0)]) : reply, isUncharged: connection.isUncharged))
    guard waits else { return }
    connection.keepCounts()
    HelperService.limitTime(seconds: 30)
    guard HelperService.hasMore(), let attempt = Request.read(sodium, after: account) else { return }
    turn.end()
    let last = connection.answer(attempt)
    HelperService.reply(FleetReply.encoded(last, isUncharged: connection.isUncharged))
  }
}
