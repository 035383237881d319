import CFuzz
@testable import PasscodePolicy
@testable import PasscodeSystem
@testable import PasscodeVault

// What must hold after a call, whatever the input was. It doesn't ask the code under test, except how a record and an
// option are read and when a delay is over, which have targets and tests of their own.
extension Scene {
  func check(_ result: CInt, after content: Bytes) {
    let before = recordCodec.read(file)?.record
    let isUnchanged = content.count == file.count && fuzz_is_same(content, file, file.count) != 0
    let now = isUnchanged ? before : recordCodec.read(content)?.record
    if let before {
      checkKept(before, now, result)
    } else {
      precondition(isUnchanged, "damage overwritten")
    }
    if result == 0 {
      // Where the kernel says that there is no configuration, there is none.
      let isOpen = isOpened(before, options) || seen.hidden > 0 && isOpened(before, optionsWithoutFile)
      precondition(isOpen, "PAM_SUCCESS for nothing")
    } else if isCalm, isOpened(before, options) {
      preconditionFailure("the correct passcode was refused")
    }
    // What is left for the next module was typed here, and isn't a passcode.
    if seen.left_token != 0 { precondition(seen.prompts == 1 && Answer(line(10).span) != .passcode) }
  }

  /// Whatever fails, the record can be read; and every hash is charged.
  private func checkKept(_ before: Record, _ now: Record?, _ result: CInt) {
    guard let now else { preconditionFailure("the record is lost") }
    precondition(now.uid == before.uid && now.generation >= before.generation && now.name == before.name)
    precondition(now.disabled == before.disabled && now.enrolledBy == before.enrolledBy)
    let (old, new) = (before.ledger.failures, now.ledger.failures)
    let spends = before.terms.change == .afterLogin
    if seen.hashes == 0 {
      // A charge that could not be synced may count: LockedRecord.
      precondition(new == old || seen.faults > 0 && new == old + 1, "counted without a hash")
      precondition(now.terms.change == before.terms.change, "a login was spent without a hash")
    } else if result == 0 {
      precondition(new == 0 || seen.faults > 0, "a success that leaves failures")
      precondition(!spends || now.terms.change == .needed, "the one login was not spent")
    } else {
      precondition(new > old || spends && seen.faults > 0, "a hash that was not charged")
    }
  }

  /// Nothing failed, and nothing is unusual but the record and what is typed. A program of root's that somebody
  /// else may have named is no login program (`Broker`).
  private var isCalm: Bool {
    let usual = [(2, "login"), (3, "tty1"), (4, ""), (5, ""), (6, ""), (7, "alice"), (11, ""), (12, "")]
    return seen.faults == 0 && recordCodec.laterVersion(file) == nil
      && usual.allSatisfy { line($0.0).elementsEqual($0.1.utf8) }
      && (line(8).isEmpty || line(8) == line(7)) && head.conversation == 0 && plan.effective == 0
      && (plan.real == 0 && plan.is_secure == 0 || plan.real == 1_000) && uid == 1_000
      && plan.record_held == 0 && plan.slots_held == 0 && plan.failing_hash == 0 && plan.clock_step < 10
      && !line(10).isEmpty
  }

  /// Whether this input may open anything.
  private func isOpened(_ record: Record?, _ options: Options?) -> Bool {
    guard let options, !line(2).spells("passcode"), let account = account(line(7)), isOwn(account),
      line(5).isEmpty || options.door.allowsRemote
    else { return false }
    let takesFirst = options.door.tryFirstPass || options.door.useFirstPass
    let typed = takesFirst && Answer(line(9).span) == .passcode ? line(9) : line(10)
    if plan.effective != 0, configurationPath == nil { return helperGrants(typed) }
    guard let record, account == uid, record.uid == uid, !record.disabled,
      case .enrolled(let sealed) = record.state, let content = Sealer.shared.content(of: sealed)
    else { return false }
    let isSealed =
      content.uid == uid && content.name == record.name && head.key == (content.isUnderOtherKey ? 1 : 0)
    let isNamed = record.name == line(7) || record.name == canonicalName(uid)
    return isSealed && isNamed && content.code == typed && isOpen(record, options)
      && (!isSecondFactor || record.isAdministrators)
  }

  private func isOpen(_ record: Record, _ options: Options) -> Bool {
    let schedule = options.policy.lockout
    let atFirst = record.review(schedule, now: RecordMaker.start, wall: RecordMaker.wall)
    // Time passes while one waits: a delay may end, and so may a validity.
    let end = Instant(boot: RecordMaker.boot, milliseconds: seen.boot_milliseconds)
    let atLast = record.review(schedule, now: end, wall: seen.wall_seconds)
    guard case .open = atLast.standing, record.terms.change != .needed else { return false }
    if case .open = atFirst.standing {} else if seen.wall_seconds == RecordMaker.wall { return false }
    return !atFirst.isExpired
  }

  /// A lying helper can say so; anything less than its whole word can't.
  private func helperGrants(_ typed: Bytes) -> Bool {
    let sent = withUnsafeBytes(of: seen.sent) { Bytes($0.prefix(seen.sent_count)) }
    return HelperReply(reply(line(14)))?.kind == .granted && seen.sends >= 2
      && Answer(typed.span) == .passcode && sent.suffix(typed.count).elementsEqual(typed)
  }

  // MARK: What the input says

  private var configurationPath: Bytes? {
    arguments.first { $0.starts(with: Bytes(text: "conf=")) }.map { Bytes($0.dropFirst(5)) }
  }

  private var isSecondFactor: Bool { arguments.contains { $0.spells("second_factor") } }

  /// nil: there is a mistake in them, or a file is missing.
  private var options: Options? { options(configuration) }

  private var optionsWithoutFile: Options? { configurationPath == nil ? options([]) : nil }

  private func options(_ configuration: Bytes) -> Options? {
    var parser = OptionParser()
    let arguments = arguments.filter {
      !$0.starts(with: Bytes(text: "conf=")) && !$0.spells("second_factor")
    }
    if let path = configurationPath, !path.spells("/etc/other.conf"),
      !path.elementsEqual("/\(Scene.conf)".utf8)
    {
      return nil
    }
    guard (try? parser.take(file: configuration[...], path: [])) != nil,
      (try? parser.take(arguments: arguments)) != nil
    else { return nil }
    return parser.options
  }

  private func account(_ name: Bytes) -> UInt32? {
    if name.spells("root") || name.spells("toor") { return 0 }
    if name.spells("alice") || name.spells("alicia") { return 1_000 }
    if name.spells("bob") { return 1_001 }
    return name.spells("_passcode") && !(plan.lacks_service != 0) ? 990 : nil
  }

  private func canonicalName(_ uid: UInt32) -> Bytes {
    Bytes(text: [0: "root", 1_000: "alice", 1_001: "bob"][uid] ?? "_passcode")
  }

  private func isOwn(_ account: UInt32) -> Bool {
    var real = plan.real
    if line(2)[...].begins(with: "polkit-1"), real == 0 { real = plan.peer == 0 ? .max : plan.peer }
    guard real == 0 || real == account else { return false }
    guard !line(6).isEmpty else { return true }
    guard let requester = self.account(line(6)) else { return false }
    return requester == 0 || requester == account
  }
}
