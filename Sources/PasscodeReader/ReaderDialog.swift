public import PasscodePolicy

/// What is said to the bus and to fprintd for one prompt, and what is believed of their answers: one call at a time,
/// each answer only from the connection that was asked.
///
///     org.freedesktop.DBus             GetNameOwner, or first StartServiceByName   the connection to believe
///                                      GetConnectionUnixUser                       MUST be root's
///                                      AddMatch                                    its end, and its results
///     that connection …Fprint.Manager  GetDefaultDevice                            the device
///                     …Fprint.Device   Claim                                       for the account, by name
///                                      ListEnrolledFingers (`list`), or VerifyStart, VerifyStop, VerifyStart …
///                                      Properties.Get, VerifyStop                   where nobody waits any longer
///                                      Release
///
/// - A VerifyStatus MUST come from that connection, about that device, after VerifyStart was answered and before
///   VerifyStop is called: fprintd 1.90.6 and 1.90.8 fixed such holes in pam_fprintd.
/// - Everybody on the bus sees the result. So that nobody gains a touch by killing the program that asks as soon as it
///   didn't match, a prompt that is abandoned first asks for a property: what was decided before comes before the
///   answer, and is charged. VerifyStop itself makes fprintd say "verify-no-match" where nobody touched the reader.
/// - Another answer than the expected one ends the dialogue. Nothing is asked twice, so it ends.
/// - Tests: ReaderDialogTests, test_finger_attacks.py.
///
/// The API is described in fprintd's net.reactivated.Fprint.Device.xml.
public struct ReaderDialog {
  /// What must be done now.
  public enum Step: Equatable, Sendable {
    case nothing
    case call(BusCall)
    /// As `call`, and the answer may take seconds: the bus starts fprintd.
    case start(BusCall)
    /// The reader waits for a touch.
    case watching
    /// The finger was decided, and nothing is believed yet: the touch must be charged first.
    case touched(isMatch: Bool)
    case listed(Fingers)
    /// The reader is free; there is nothing more to do.
    case finished
    case ended(FingerEnd)
  }

  private enum State {
    case owner, starting, user, lossRule, resultRule, device, claim, list, verifyStart, watching
    /// The reader is ours, and doesn't wait.
    case idle
    /// From one touch to the next.
    case verifyStop
    case lastLook, lastStop, release
    case over
  }

  private let operation: FingerRequest.Operation
  private let name: Bytes
  private var state = State.owner
  private var wasStarted = false
  private var owner = Bytes()
  private var device = Bytes()
  /// Of the call that waits for its answer.
  private var serial: UInt64?

  /// - Parameter name: the account's.
  public init(_ operation: FingerRequest.Operation, name: Bytes) {
    self.operation = operation
    self.name = name
  }

  /// The first call.
  public var first: BusCall { .driver("GetNameOwner", [.text(Bytes(text: ReaderDialog.service))]) }

  /// MUST be told of each call that was sent, before the next message.
  public mutating func sent(serial: UInt64) {
    self.serial = serial
  }

  /// Whether fprintd was found.
  public var hasOwner: Bool { !owner.isEmpty }

  /// Whether fprintd may have decided a touch that nobody has heard of yet.
  public var mayHaveDecided: Bool {
    if case .lastLook = state { return true }
    return false
  }

  /// Another touch, after one that was charged and didn't match.
  public mutating func again() -> Step {
    guard case .idle = state else { return end(.failed) }
    return then(.verifyStop, deviceCall("VerifyStop"))
  }

  /// Frees the reader. Until `finished`, touches that were decided before are told.
  public mutating func finish() -> Step {
    switch state {
    case .verifyStart, .watching: return then(.lastLook, someProperty)
    case .idle, .verifyStop: return then(.release, deviceCall("Release"))
    case .lastLook, .lastStop, .release: return .nothing
    case .owner, .starting, .user, .lossRule, .resultRule, .device, .claim, .list, .over:
      return over(.finished)
    }
  }

  // MARK: What comes

  public mutating func receive(_ message: BusMessage) -> Step {
    switch message.kind {
    case .methodReturn(let serial):
      guard isAwaited(serial, message) else { return .nothing }
      self.serial = nil
      return answered(message)
    case .error(let serial, let name):
      guard isAwaited(serial, message) else { return .nothing }
      self.serial = nil
      return refused(name)
    case .signal(let interface, let member):
      return signal(message, interface, member)
    case .other: return .nothing
    }
  }

  /// The bus itself answers its own calls, and for a connection that is gone.
  private func isAwaited(_ serial: UInt64, _ message: BusMessage) -> Bool {
    guard serial == self.serial else { return false }
    return message.isFromDriver || !owner.isEmpty && message.sender == owner
  }

  private mutating func answered(_ message: BusMessage) -> Step {
    switch state {
    case .owner: return found(message)
    case .starting: return message.isFromDriver ? then(.owner, first) : end(.failed)
    case .user: return message.isRootsUser ? then(.lossRule, addMatch(lossRule)) : end(.failed)
    case .lossRule: return then(.resultRule, addMatch(resultRule))
    case .resultRule: return then(.device, defaultDevice)
    case .device: return foundDevice(message)
    case .claim: return claimed()
    case .list: return listed(message)
    case .verifyStart:
      state = .watching
      return .watching
    case .verifyStop: return then(.verifyStart, verifyStart)
    case .lastLook: return then(.lastStop, deviceCall("VerifyStop"))
    case .lastStop: return then(.release, deviceCall("Release"))
    case .release: return over(.finished)
    case .watching, .idle, .over: return end(.failed)
    }
  }

  private mutating func found(_ message: BusMessage) -> Step {
    guard let owner = message.uniqueName else { return end(.failed) }
    self.owner = owner
    return then(.user, .driver("GetConnectionUnixUser", [.text(owner)]))
  }

  private mutating func foundDevice(_ message: BusMessage) -> Step {
    guard message.sender == owner, let path = message.text, path[...].begins(with: ReaderDialog.devicePrefix)
    else { return end(.failed) }
    device = path
    return then(.claim, deviceCall("Claim", [.text(name)]))
  }

  private mutating func claimed() -> Step {
    switch operation {
    case .list: then(.list, deviceCall("ListEnrolledFingers", [.text(name)]))
    case .watch: then(.verifyStart, verifyStart)
    case .session: end(.failed)  // it asks for no reader
    }
  }

  private mutating func listed(_ message: BusMessage) -> Step {
    guard message.sender == owner, case .texts(let names) = message.values.first,
      let fingers = Fingers(named: names)
    else { return end(.failed) }
    state = .idle
    return fingers.isEmpty ? .ended(.notEnrolled) : .listed(fingers)
  }

  private mutating func signal(_ message: BusMessage, _ interface: Bytes, _ member: Bytes) -> Step {
    if member.spells("NameOwnerChanged"), interface.spells(BusCall.driverName), message.isFromDriver {
      return isLoss(message) ? end(.gone) : .nothing
    }
    guard member.spells("VerifyStatus"), interface.spells(ReaderDialog.deviceInterface),
      !owner.isEmpty, message.sender == owner, message.path == device
    else { return .nothing }
    switch state {
    case .watching, .lastLook: return result(message)
    case .owner, .starting, .user, .lossRule, .resultRule, .device, .claim, .list, .verifyStart, .idle,
      .verifyStop, .lastStop, .release, .over:
      return .nothing
    }
  }

  /// Name, old owner, new owner.
  private func isLoss(_ message: BusMessage) -> Bool {
    guard message.values.count == 3, !owner.isEmpty else { return false }
    return message.values[1] == .text(owner)
  }

  private mutating func result(_ message: BusMessage) -> Step {
    guard message.values.count == 2, case .text(let word) = message.values[0],
      case .flag(let isFinal) = message.values[1]
    else { return end(.failed) }
    if !isFinal { return .nothing }  // swiped too fast, lift the finger: fprintd goes on
    if word.spells("verify-match") { return touched(isMatch: true) }
    if word.spells("verify-no-match") { return touched(isMatch: false) }
    // libfprint's virtual reader says the second one when it is unplugged.
    let isGone = word.spells("verify-disconnected") || word.spells("verify-unknown-error")
    return end(isGone ? .gone : .failed)
  }

  private mutating func touched(isMatch: Bool) -> Step {
    // After the last look its answer is still to come.
    if case .watching = state { state = .idle }
    return .touched(isMatch: isMatch)
  }

  private mutating func refused(_ name: Bytes) -> Step {
    if case .owner = state, name.spells("org.freedesktop.DBus.Error.NameHasNoOwner"), !wasStarted {
      wasStarted = true
      state = .starting
      return .start(
        .driver("StartServiceByName", [.text(Bytes(text: ReaderDialog.service)), .number(0)]))
    }
    switch state {
    case .owner, .starting: return end(.noService)
    case .lastLook: return then(.lastStop, deviceCall("VerifyStop"))
    case .lastStop: return then(.release, deviceCall("Release"))
    case .release: return over(.finished)
    case .list, .verifyStart, .verifyStop:
      state = .idle
      return .ended(ReaderDialog.reason(name))
    case .user, .lossRule, .resultRule, .device, .claim, .watching, .idle, .over:
      return end(ReaderDialog.reason(name))
    }
  }

  private static func reason(_ name: Bytes) -> FingerEnd {
    let prefix = "net.reactivated.Fprint.Error."
    guard name[...].begins(with: prefix) else { return .gone }
    let word = name[Bytes(text: prefix).count...]
    if word.spells("NoSuchDevice") { return .noReader }
    if word.spells("AlreadyInUse") { return .inUse }
    if word.spells("PermissionDenied") { return .denied }
    if word.spells("NoEnrolledPrints") { return .notEnrolled }
    return .failed
  }

  private mutating func end(_ reason: FingerEnd) -> Step { over(.ended(reason)) }

  private mutating func over(_ step: Step) -> Step {
    state = .over
    return step
  }

  // MARK: Calls

  private static var service: String { "net.reactivated.Fprint" }
  private static var deviceInterface: String { "net.reactivated.Fprint.Device" }
  private static var devicePrefix: String { "/net/reactivated/Fprint/Device/" }

  private mutating func then(_ next: State, _ call: BusCall) -> Step {
    state = next
    return .call(call)
  }

  private func addMatch(_ rule: Text) -> BusCall {
    .driver("AddMatch", [.text(rule.bytes)])
  }

  private var lossRule: Text {
    """
    type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',\
    arg0='net.reactivated.Fprint'
    """
  }

  private var resultRule: Text {
    "type='signal',sender='\(owner)',interface='net.reactivated.Fprint.Device',member='VerifyStatus'"
  }

  // To the connection itself: another one may have the service's name by now.

  private var defaultDevice: BusCall {
    BusCall(
      owner, Bytes(text: "/net/reactivated/Fprint/Manager"), "net.reactivated.Fprint.Manager",
      "GetDefaultDevice", [])
  }

  private func deviceCall(_ member: String, _ values: [BusMessage.Value] = []) -> BusCall {
    BusCall(owner, device, ReaderDialog.deviceInterface, member, values)
  }

  private var verifyStart: BusCall { deviceCall("VerifyStart", [.text(Bytes(text: "any"))]) }

  private var someProperty: BusCall {
    BusCall(
      owner, device, "org.freedesktop.DBus.Properties", "Get",
      [.text(Bytes(text: ReaderDialog.deviceInterface)), .text(Bytes(text: "name"))])
  }
}
