public import PasscodePolicy

/// What is said to the bus and to fprintd for one prompt, and what is believed of their answers: one call at a time,
/// each answer only from the connection that was asked.
///
///     org.freedesktop.DBus             GetNameOwner, or first StartServiceByName   the connection to believe
///                                      GetConnectionUnixUser                       MUST be root's
///                                      AddMatch                                    its end, and its results
///     that connection …Fprint.Manager  GetDefaultDevice                            the device
///                     …Fprint.Device   ListEnrolledFingers                         by name, without a claim
///                                      Claim                                       not for `list`
///                                      VerifyStart, VerifyStop, VerifyStart …
///                                      Properties.Get                              at Enter: is a finger on it?
///                                      Properties.Get, VerifyStop                   where nobody waits any longer
///                                      Release
///
/// - A VerifyStatus MUST come from that connection, about that device, after VerifyStart was answered and before
///   VerifyStop is called: fprintd 1.90.6 and 1.90.8 fixed such holes in pam_fprintd.
/// - Everybody on the bus sees the result, so a touch is charged before VerifyStart. A prompt that is abandoned first
///   asks for a property: what was decided before comes before the answer. VerifyStop itself makes fprintd say
///   "verify-no-match" where nobody touched the reader; a match that comes then is a touch.
/// - Another answer than the expected one ends the dialogue. Nothing is asked twice, so it ends.
/// - Tests: ReaderDialogTests, test_finger_attacks.py.
///
/// The API is described in fprintd's net.reactivated.Fprint.Device.xml.
public struct ReaderDialog {
  private enum State {
    case owner, starting, user, lossRule, resultRule, device, claim, list, verifyStart, watching, look
    /// The reader is ours, and doesn't wait.
    case idle
    /// Ends the wait for one touch, before the next one.
    case verifyStop
    case lastLook, lastStop, release
    case over
  }

  private let operation: FingerRequest.Operation
  private let name: Bytes
  private var state = State.owner
  private var wasStarted = false
  private(set) var owner = Bytes()
  private(set) var device = Bytes()
  /// The serial of the call whose answer is awaited.
  private var serial: UInt64?
  /// fprintd no longer waits for the touch that `verify` was for, and has decided none: it said so, or has ended.
  public private(set) var isUntouched = false
  private var wasTouched = false

  /// - Parameter name: the account's.
  public init(_ operation: FingerRequest.Operation, name: Bytes) {
    self.operation = operation
    self.name = name
  }

  /// The dialogue's first call: who owns fprintd's name.
  public var first: BusCall { .driver("GetNameOwner", [.text(Bytes(text: ReaderDialog.service))]) }

  /// - Precondition: is called for each call that was sent, before the next message.
  public mutating func sent(serial: UInt64) {
    self.serial = serial
  }

  /// Whether fprintd was found.
  public var hasOwner: Bool { !owner.isEmpty }

  /// A touch that is decided now comes too late.
  public var isStopping: Bool { state == .lastLook || state == .lastStop }

  /// fprintd may decide a touch, or has just done so.
  private var isDeciding: Bool {
    switch state {
    case .watching, .look, .lastLook, .lastStop: true
    case .owner, .starting, .user, .lossRule, .resultRule, .device, .claim, .list, .verifyStart, .idle,
      .verifyStop, .release, .over:
      false
    }
  }

  /// Has the reader wait for a touch.
  public mutating func verify() -> Step {
    guard case .idle = state else { return end(.failed) }
    (isUntouched, wasTouched) = (false, false)
    return then(.verifyStart, deviceCall("VerifyStart", [.text(Bytes(text: "any"))]))
  }

  /// Another touch, after one that didn't match.
  public mutating func again() -> Step {
    guard case .idle = state else { return end(.failed) }
    return then(.verifyStop, deviceCall("VerifyStop"))
  }

  /// Asks whether a finger is on the reader, which waits for one. If it is, a result may follow.
  public mutating func look() -> Step {
    guard case .watching = state else { return .absent }
    return then(.look, presence)
  }

  /// Frees the reader. Until `finished`, touches that were decided before are told.
  public mutating func finish() -> Step {
    switch state {
    case .verifyStart, .watching, .look: return then(.lastLook, presence)
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
      return refused(name, message)
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
    case .claim: return ready()
    case .list: return listed(message)
    case .verifyStart:
      state = .watching
      return .watching
    case .verifyStop: return ready()
    case .look:
      state = .watching
      return message.values == [.flag(true)] ? .nothing : .absent
    case .lastLook: return then(.lastStop, deviceCall("VerifyStop"))
    case .lastStop: return stopped(message)
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
    return then(.list, deviceCall("ListEnrolledFingers", [.text(name)]))
  }

  private mutating func ready() -> Step {
    state = .idle
    return .ready
  }

  /// Handles the answer to VerifyStop: any answer of fprintd's ends the touch.
  private mutating func stopped(_ message: BusMessage) -> Step {
    isUntouched = !wasTouched && message.sender == owner
    return then(.release, deviceCall("Release"))
  }

  private mutating func listed(_ message: BusMessage) -> Step {
    guard message.sender == owner, case .texts(let names) = message.values.first,
      let fingers = Fingers(named: names)
    else { return end(.failed) }
    if fingers.isEmpty { return end(.notEnrolled) }
    switch operation {
    case .list: return over(.listed(fingers))
    case .watch:
      state = .claim
      return .claim(deviceCall("Claim", [.text(name)]))
    case .session: return end(.failed)  // it asks for no reader
    }
  }

  private mutating func signal(_ message: BusMessage, _ interface: Bytes, _ member: Bytes) -> Step {
    if member.spells("NameOwnerChanged"), interface.spells(BusCall.driverName), message.isFromDriver {
      return isLoss(message) ? lost() : .nothing
    }
    guard member.spells("VerifyStatus"), interface.spells(ReaderDialog.deviceInterface),
      !owner.isEmpty, message.sender == owner, message.path == device, isDeciding
    else { return .nothing }
    return result(message)
  }

  /// Name, old owner, new owner.
  private func isLoss(_ message: BusMessage) -> Bool {
    guard message.values.count == 3, !owner.isEmpty else { return false }
    return message.values[1] == .text(owner)
  }

  /// What fprintd said before its end has come already: the bus keeps the order of a connection's messages, and nobody
  /// has therefore heard of a touch that we haven't.
  private mutating func lost() -> Step {
    if isDeciding { isUntouched = !wasTouched }
    return end(.gone)
  }

  private mutating func result(_ message: BusMessage) -> Step {
    guard message.values.count == 2, case .text(let word) = message.values[0],
      case .flag(let isFinal) = message.values[1]
    else { return end(.failed) }
    if !isFinal { return .nothing }  // swiped too fast, lift the finger: fprintd goes on
    if word.spells("verify-match") { return touched(isMatch: true) }
    if case .lastStop = state { return .nothing }  // said where nobody touched it, too
    if word.spells("verify-no-match") { return touched(isMatch: false) }
    // libfprint's virtual reader says the second one when it is unplugged.
    guard word.spells("verify-disconnected") || word.spells("verify-unknown-error") else {
      return end(.failed)
    }
    isUntouched = !wasTouched
    return end(.gone)
  }

  private mutating func touched(isMatch: Bool) -> Step {
    if wasTouched { return .nothing }  // one result for one VerifyStart
    wasTouched = true
    // After the last look, or stop, its answer is still to come. What `look` is answered doesn't matter any longer.
    if !isStopping { (state, serial) = (.idle, nil) }
    return .touched(isMatch: isMatch)
  }

  private mutating func refused(_ name: Bytes, _ message: BusMessage) -> Step {
    if case .owner = state, name.spells("org.freedesktop.DBus.Error.NameHasNoOwner"), !wasStarted {
      wasStarted = true
      state = .starting
      return .start(
        .driver("StartServiceByName", [.text(Bytes(text: ReaderDialog.service)), .number(0)]))
    }
    switch state {
    case .owner, .starting: return end(.noService)
    case .look:
      state = .watching
      return .absent
    // A refusal ends these as an answer does.
    case .lastLook, .lastStop, .release: return answered(message)
    case .verifyStart:
      isUntouched = message.sender == owner
      state = .idle
      return .ended(ReaderDialog.reason(name))
    case .verifyStop:
      state = .idle
      return .ended(ReaderDialog.reason(name))
    case .user, .lossRule, .resultRule, .device, .claim, .list, .watching, .idle, .over:
      return end(ReaderDialog.reason(name))
    }
  }

  private mutating func end(_ reason: FingerEnd) -> Step { over(.ended(reason)) }

  private mutating func over(_ step: Step) -> Step {
    state = .over
    return step
  }

  private mutating func then(_ next: State, _ call: BusCall) -> Step {
    state = next
    return .call(call)
  }
}
