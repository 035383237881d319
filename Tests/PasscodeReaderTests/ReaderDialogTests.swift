import PasscodePolicy
import Testing

@testable import PasscodeReader

/// A fake bus, where fprintd is `:1.5` and the reader its device 0.
private struct Bus {
  static let driver = "org.freedesktop.DBus"
  static let fprintd = ":1.5"
  static let reader = "/net/reactivated/Fprint/Device/0"

  var dialog: ReaderDialog
  var serial: UInt64 = 1

  init(_ operation: FingerRequest.Operation = .watch) {
    dialog = ReaderDialog(operation, name: Bytes(text: "alice"))
    dialog.sent(serial: 1)
  }

  /// Answers the call that waits; sends the next one.
  mutating func answer(_ sender: String, _ values: BusMessage.Value...) -> ReaderDialog.Step {
    receive(BusMessage(.methodReturn(serial), sender: Bytes(text: sender), values))
  }

  mutating func refuse(_ sender: String, _ name: String) -> ReaderDialog.Step {
    receive(BusMessage(.error(serial, name: Bytes(text: name)), sender: Bytes(text: sender)))
  }

  mutating func status(
    _ result: String, sender: String = fprintd, path: String = reader, isFinal: Bool = true,
    interface: String = "net.reactivated.Fprint.Device"
  ) -> ReaderDialog.Step {
    let kind = BusMessage.Kind.signal(interface: Bytes(text: interface), member: Bytes(text: "VerifyStatus"))
    return receive(
      BusMessage(
        kind, sender: Bytes(text: sender), path: Bytes(text: path), [.word(result), .flag(isFinal)]))
  }

  mutating func owner(was old: String, sender: String = driver) -> ReaderDialog.Step {
    let kind = BusMessage.Kind.signal(
      interface: Bytes(text: Bus.driver), member: Bytes(text: "NameOwnerChanged"))
    return receive(
      BusMessage(kind, sender: Bytes(text: sender), [.word("net.reactivated.Fprint"), .word(old), .word("")]))
  }

  mutating func receive(_ message: BusMessage) -> ReaderDialog.Step {
    sent(dialog.receive(message))
  }

  mutating func sent(_ next: ReaderDialog.Step) -> ReaderDialog.Step {
    // The touch is charged here.
    let step = next == .ready ? dialog.verify() : next
    switch step {
    case .call, .start, .claim:
      serial += 1
      dialog.sent(serial: serial)
    case .nothing, .ready, .watching, .touched, .absent, .listed, .finished, .ended: break
    }
    return step
  }

  /// The answers that a sound bus gives, up to (and without) this call.
  @discardableResult
  mutating func proceed(to member: String) -> ReaderDialog.Step {
    var step = ReaderDialog.Step.call(dialog.first)
    while step.member != member, let asked = step.member { step = soundAnswer(to: asked) }
    return step
  }

  mutating func soundAnswer(to member: String) -> ReaderDialog.Step {
    switch member {
    case "GetNameOwner": answer(Bus.driver, .word(Bus.fprintd))
    case "GetConnectionUnixUser": answer(Bus.driver, .number(0))
    case "AddMatch": answer(Bus.driver)
    case "GetDefaultDevice": answer(Bus.fprintd, .word(Bus.reader))
    case "ListEnrolledFingers": answer(Bus.fprintd, .texts([Bytes(text: "left-thumb")]))
    default: answer(Bus.fprintd)
    }
  }

  static func watching() -> Bus {
    var bus = Bus()
    #expect(bus.proceed(to: "nothing more") == .watching)
    return bus
  }
}

extension ReaderDialog.Step {
  fileprivate var call: BusCall? {
    switch self {
    case .call(let call), .start(let call), .claim(let call): call
    case .nothing, .ready, .watching, .touched, .absent, .listed, .finished, .ended: nil
    }
  }

  fileprivate var member: String? { call.map { String(decoding: $0.member, as: UTF8.self) } }
}

extension BusMessage.Value {
  fileprivate static func word(_ text: String) -> BusMessage.Value { .text(Bytes(text: text)) }
}

struct ReaderDialogTests {
  private static let order = [
    "GetNameOwner", "GetConnectionUnixUser", "AddMatch", "AddMatch", "GetDefaultDevice",
    "ListEnrolledFingers", "Claim", "VerifyStart",
  ]

  @Test func itAsksInThisOrder() {
    var bus = Bus()
    var asked: [String] = []
    var step = ReaderDialog.Step.call(bus.dialog.first)
    while let member = step.member {
      asked.append(member)
      step = bus.soundAnswer(to: member)
    }
    #expect(asked == Self.order)
    #expect(step == .watching)
    var claim = Bus()
    let claiming = claim.proceed(to: "Claim")
    #expect(claiming.call?.values == [.word("alice")])
    guard case .claim = claiming else {
      Issue.record("\(claiming)")
      return
    }
  }

  @Test func `where no finger is enrolled, no reader is claimed`() {
    for operation in [FingerRequest.Operation.watch, .list] {
      var bus = Bus(operation)
      bus.proceed(to: "ListEnrolledFingers")
      #expect(bus.answer(Bus.fprintd, .texts([])) == .ended(.notEnrolled))
      #expect(bus.dialog.finish() == .finished)
    }
  }

  @Test func fprintdIsAskedByItsUniqueName() {
    for member in ["GetDefaultDevice", "ListEnrolledFingers", "Claim", "VerifyStart"] {
      var bus = Bus()
      #expect(bus.proceed(to: member).call?.destination == Bytes(text: Bus.fprintd))
    }
  }

  @Test func aTouchIsToldOnceItIsDecided() {
    var bus = Bus.watching()
    #expect(bus.status("verify-retry-scan", isFinal: false) == .nothing)
    #expect(bus.status("verify-match") == .touched(isMatch: true))
    #expect(bus.status("verify-match") == .nothing, "one result for one VerifyStart")
    var other = Bus.watching()
    #expect(other.status("verify-no-match") == .touched(isMatch: false))
  }

  @Test func aForgedResultIsNotBelieved() {
    var bus = Bus.watching()
    #expect(bus.status("verify-match", sender: ":1.6") == .nothing)
    #expect(bus.status("verify-match", sender: "net.reactivated.Fprint") == .nothing)
    #expect(bus.status("verify-match", sender: Bus.driver) == .nothing)
    #expect(bus.status("verify-match", sender: "") == .nothing)
    #expect(bus.status("verify-match", path: "/net/reactivated/Fprint/Device/1") == .nothing)
    #expect(bus.status("verify-match", interface: "net.reactivated.Fprint.Manager") == .nothing)
    #expect(bus.status("verify-match") == .touched(isMatch: true))
  }

  @Test func aResultBeforeVerifyStartWasAnsweredIsNotBelieved() {
    for member in Self.order {
      var bus = Bus()
      bus.proceed(to: member)
      #expect(bus.status("verify-match") == .nothing)
    }
  }

  @Test func aResultBetweenTwoTouchesIsNotBelieved() {
    var bus = Bus.watching()
    #expect(bus.status("verify-no-match") == .touched(isMatch: false))
    #expect(bus.sent(bus.dialog.again()).member == "VerifyStop")
    #expect(bus.status("verify-match") == .nothing)
    #expect(bus.answer(Bus.fprintd).member == "VerifyStart")
    #expect(bus.status("verify-match") == .nothing)
    #expect(bus.answer(Bus.fprintd) == .watching)
    #expect(bus.status("verify-match") == .touched(isMatch: true))
  }

  @Test func anAnswerFromSomebodyElseIsNone() {
    var bus = Bus()
    bus.proceed(to: "VerifyStart")
    #expect(bus.answer(":1.6") == .nothing)
    #expect(
      bus.receive(BusMessage(.methodReturn(bus.serial - 1), sender: Bytes(text: Bus.fprintd))) == .nothing)
    #expect(bus.refuse(":1.6", "net.reactivated.Fprint.Error.Internal") == .nothing)
    #expect(bus.answer(Bus.fprintd) == .watching)
  }

  @Test func aServiceThatIsNotRootsIsNotBelieved() {
    var bus = Bus()
    bus.proceed(to: "GetConnectionUnixUser")
    #expect(bus.answer(Bus.driver, .number(1_000)) == .ended(.failed))
    var silent = Bus()
    silent.proceed(to: "GetConnectionUnixUser")
    #expect(silent.answer(Bus.driver) == .ended(.failed))
  }

  @Test func anOwnerWithoutAUniqueNameIsNone() {
    for owner in ["", "net.reactivated.Fprint", "org.freedesktop.DBus"] {
      var bus = Bus()
      #expect(bus.answer(Bus.driver, .word(owner)) == .ended(.failed))
    }
  }

  @Test func anotherObjectIsNoReader() {
    for path in ["/", "/net/reactivated/Fprint/Manager", "/net/reactivated/Fprint/Device"] {
      var bus = Bus()
      bus.proceed(to: "GetDefaultDevice")
      #expect(bus.answer(Bus.fprintd, .word(path)) == .ended(.failed))
    }
  }

  @Test func fprintdIsStartedOnce() {
    let nobody = "org.freedesktop.DBus.Error.NameHasNoOwner"
    var bus = Bus()
    let start = bus.refuse(Bus.driver, nobody)
    guard case .start(let call) = start else {
      Issue.record("\(start)")
      return
    }
    #expect(call.member == Bytes(text: "StartServiceByName"))
    #expect(bus.answer(Bus.driver, .number(1)).member == "GetNameOwner")
    #expect(bus.refuse(Bus.driver, nobody) == .ended(.noService))
    var broken = Bus()
    _ = broken.refuse(Bus.driver, nobody)
    #expect(broken.refuse(Bus.driver, "org.freedesktop.DBus.Error.ServiceUnknown") == .ended(.noService))
  }

  @Test(
    arguments: [
      ("GetDefaultDevice", "NoSuchDevice", .noReader), ("Claim", "AlreadyInUse", .inUse),
      ("Claim", "PermissionDenied", .denied), ("ListEnrolledFingers", "NoEnrolledPrints", .notEnrolled),
      ("ListEnrolledFingers", "PermissionDenied", .denied), ("VerifyStart", "NoEnrolledPrints", .notEnrolled),
      ("VerifyStart", "Internal", .failed), ("Claim", "Unheard-of", .failed),
    ] as [(String, String, FingerEnd)])
  func refusalsAreToldApart(_ member: String, _ error: String, _ end: FingerEnd) {
    var bus = Bus()
    bus.proceed(to: member)
    #expect(bus.refuse(Bus.fprintd, "net.reactivated.Fprint.Error.\(error)") == .ended(end))
  }

  @Test func whatGoesAwayEndsIt() {
    var bus = Bus.watching()
    #expect(bus.owner(was: ":1.6") == .nothing)
    #expect(bus.owner(was: Bus.fprintd, sender: ":1.6") == .nothing)
    #expect(bus.owner(was: Bus.fprintd) == .ended(.gone))
    #expect(bus.status("verify-match") == .nothing)
    for result in ["verify-disconnected", "verify-unknown-error"] {
      var other = Bus.watching()
      #expect(other.status(result) == .ended(.gone))
    }
    var odd = Bus.watching()
    #expect(odd.status("verify-perhaps") == .ended(.failed))
    var lost = Bus()
    lost.proceed(to: "Claim")
    #expect(lost.refuse(Bus.driver, "org.freedesktop.DBus.Error.NoReply") == .ended(.gone))
  }

  @Test func aResultWithOtherValuesIsNone() {
    let values: [[BusMessage.Value]] = [
      [], [.word("verify-match")], [.flag(true), .word("verify-match")],
      [.word("verify-match"), .number(1)], [.word("verify-match"), .flag(true), .flag(true)],
    ]
    for values in values {
      var bus = Bus.watching()
      let kind = BusMessage.Kind.signal(
        interface: Bytes(text: "net.reactivated.Fprint.Device"), member: Bytes(text: "VerifyStatus"))
      let message = BusMessage(kind, sender: Bytes(text: Bus.fprintd), path: Bytes(text: Bus.reader), values)
      #expect(bus.receive(message) == .ended(.failed))
    }
  }

  @Test func theReaderWaitsOnlyOnceATouchIsCharged() {
    var bus = Bus()
    bus.proceed(to: "Claim")
    let claimed = BusMessage(.methodReturn(bus.serial), sender: Bytes(text: Bus.fprintd))
    #expect(bus.dialog.receive(claimed) == .ready)
    #expect(bus.sent(bus.dialog.finish()).member == "Release", "where it can't be charged")
    #expect(!bus.dialog.isUntouched)
  }

  /// What was decided before the last look stays charged; what VerifyStop itself makes fprintd say isn't a touch.
  @Test func anAbandonedPromptLooksOnceMoreBeforeItStops() {
    for (early, late, isUntouched) in [
      (nil, nil, true), (nil, "verify-no-match", true), (nil, "verify-match", false),
      ("verify-no-match", nil, false), ("verify-match", "verify-no-match", false),
    ] as [(String?, String?, Bool)] {
      var bus = Bus.watching()
      #expect(bus.sent(bus.dialog.finish()).member == "Get")
      #expect(bus.dialog.isStopping && !bus.dialog.isUntouched)
      if let early { #expect(bus.status(early) == .touched(isMatch: early == "verify-match")) }
      #expect(bus.answer(Bus.fprintd).member == "VerifyStop")
      #expect(bus.dialog.isStopping && !bus.dialog.isUntouched)
      if let late {
        #expect(bus.status(late) == (late == "verify-match" ? .touched(isMatch: true) : .nothing))
      }
      #expect(bus.answer(Bus.fprintd).member == "Release")
      #expect(bus.dialog.isUntouched == isUntouched)
      #expect(bus.answer(Bus.fprintd) == .finished)
      #expect(bus.dialog.isUntouched == isUntouched)
    }
  }

  @Test func aSecondResultForOneVerifyStartIsNone() {
    for second in ["verify-match", "verify-no-match"] {
      var bus = Bus.watching()
      _ = bus.sent(bus.dialog.finish())
      #expect(bus.status("verify-no-match") == .touched(isMatch: false))
      #expect(bus.status(second) == .nothing)
      #expect(bus.answer(Bus.fprintd).member == "VerifyStop")
      #expect(bus.status(second) == .nothing)
    }
  }

  @Test func onlyFprintdItselfSaysThatNobodyTouched() {
    var refused = Bus.watching()
    _ = refused.sent(refused.dialog.finish())
    _ = refused.answer(Bus.fprintd)
    #expect(refused.refuse(Bus.fprintd, "net.reactivated.Fprint.Error.Internal").member == "Release")
    #expect(refused.dialog.isUntouched)
    var lost = Bus.watching()
    _ = lost.sent(lost.dialog.finish())
    _ = lost.answer(Bus.fprintd)
    _ = lost.refuse(Bus.driver, "org.freedesktop.DBus.Error.NoReply")
    #expect(!lost.dialog.isUntouched)
    var unplugged = Bus.watching()
    _ = unplugged.status("verify-disconnected")
    #expect(unplugged.dialog.isUntouched)
    for (sender, isUntouched) in [(Bus.fprintd, true), (Bus.driver, false)] {
      var never = Bus()
      never.proceed(to: "VerifyStart")
      _ = never.refuse(sender, "net.reactivated.Fprint.Error.NoEnrolledPrints")
      #expect(never.dialog.isUntouched == isUntouched)
    }
  }

  @Test func `at Enter it asks whether a finger is on the reader`() {
    var bus = Bus.watching()
    let look = bus.sent(bus.dialog.look())
    #expect(look.member == "Get")
    #expect(look.call?.values == [.word("net.reactivated.Fprint.Device"), .word("finger-present")])
    #expect(bus.answer(":1.6", .flag(true)) == .nothing, "not asked")
    #expect(bus.answer(Bus.fprintd, .flag(true)) == .nothing)
    #expect(bus.status("verify-match") == .touched(isMatch: true))
    for answer in [[.flag(false)], [], [.number(1)], [.flag(true), .flag(true)]] as [[BusMessage.Value]] {
      var other = Bus.watching()
      _ = other.sent(other.dialog.look())
      let message = BusMessage(.methodReturn(other.serial), sender: Bytes(text: Bus.fprintd), answer)
      #expect(other.receive(message) == .absent)
      #expect(other.sent(other.dialog.finish()).member == "Get", "and then it stops as ever")
      _ = other.answer(Bus.fprintd)
      _ = other.answer(Bus.fprintd)
      #expect(other.dialog.isUntouched)
    }
    var refused = Bus.watching()
    _ = refused.sent(refused.dialog.look())
    #expect(refused.refuse(Bus.fprintd, "org.freedesktop.DBus.Error.InvalidArgs") == .absent)
  }

  @Test func `what is decided before that answer counts, and the answer doesn't`() {
    for result in ["verify-match", "verify-no-match"] {
      var bus = Bus.watching()
      _ = bus.sent(bus.dialog.look())
      let serial = bus.serial
      #expect(bus.status(result) == .touched(isMatch: result == "verify-match"))
      let answer = BusMessage(.methodReturn(serial), sender: Bytes(text: Bus.fprintd), [.flag(false)])
      #expect(bus.receive(answer) == .nothing)
      #expect(bus.sent(bus.dialog.finish()).member == "Release")
      #expect(bus.receive(answer) == .nothing)
    }
  }

  @Test func `between two touches nothing is on the reader`() {
    var bus = Bus.watching()
    _ = bus.status("verify-no-match")
    #expect(bus.dialog.look() == .absent)
    _ = bus.sent(bus.dialog.again())
    #expect(bus.dialog.look() == .absent)
  }

  /// What it said before its end comes before the end.
  @Test func `where fprintd ends, nobody heard of a touch that we haven't`() {
    var killed = Bus.watching()
    _ = killed.owner(was: Bus.fprintd)
    #expect(killed.dialog.isUntouched)
    var stopping = Bus.watching()
    _ = stopping.sent(stopping.dialog.finish())
    _ = stopping.owner(was: Bus.fprintd)
    #expect(stopping.dialog.isUntouched)
    var touched = Bus.watching()
    _ = touched.status("verify-no-match")
    _ = touched.owner(was: Bus.fprintd)
    #expect(!touched.dialog.isUntouched)
    var another = Bus.watching()
    _ = another.owner(was: ":1.6")
    #expect(!another.dialog.isUntouched)
    var unanswered = Bus()
    unanswered.proceed(to: "VerifyStart")
    _ = unanswered.owner(was: Bus.fprintd)
    #expect(!unanswered.dialog.isUntouched)
  }

  @Test func aTouchIsNoLongerUntouchedAfterTheNextVerifyStart() {
    var bus = Bus.watching()
    _ = bus.status("verify-no-match")
    _ = bus.sent(bus.dialog.again())
    #expect(bus.answer(Bus.fprintd).member == "VerifyStart")
    #expect(!bus.dialog.isUntouched)
  }

  @Test func afterATouchTheReaderIsReleased() {
    var bus = Bus.watching()
    _ = bus.status("verify-match")
    #expect(bus.sent(bus.dialog.finish()).member == "Release")
    #expect(bus.refuse(Bus.fprintd, "net.reactivated.Fprint.Error.Internal") == .finished)
  }

  @Test func whatWasNotClaimedNeedsNoRelease() {
    for member in Self.order.dropLast() {
      var bus = Bus()
      bus.proceed(to: member)
      #expect(bus.dialog.finish() == .finished)
      #expect(!bus.dialog.isStopping)
    }
  }

  @Test func `fingers are listed without a claim`() {
    var bus = Bus(.list)
    var asked: [String] = []
    var step = ReaderDialog.Step.call(bus.dialog.first)
    while let member = step.member, member != "ListEnrolledFingers" {
      asked.append(member)
      step = bus.soundAnswer(to: member)
    }
    #expect(asked == Self.order.dropLast(3))
    let names = [Bytes(text: "left-thumb")]
    #expect(bus.answer(Bus.fprintd, .texts(names)) == Fingers(named: names).map { .listed($0) })
    var none = Bus(.list)
    none.proceed(to: "ListEnrolledFingers")
    #expect(none.answer(Bus.fprintd, .texts([])) == .ended(.notEnrolled))
    #expect(none.dialog.finish() == .finished, "there is nothing to release")
  }
}

extension [UInt8] {
  /// The UTF-8 of a text that a test puts together; the sources have literals only.
  init(text: String) {
    self = Array(text.utf8)
  }
}
