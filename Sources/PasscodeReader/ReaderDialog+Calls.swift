public import PasscodePolicy

// What is said, to whom, and what must be done; and why fprintd refuses.

extension ReaderDialog {
  /// What the program must do after a message.
  public enum Step: Equatable, Sendable {
    case nothing
    case call(BusCall)
    /// As `call`, and the answer may take seconds: the bus starts fprintd.
    case start(BusCall)
    /// Claim the reader by this call: prints are enrolled. The answer may take as long as the reader does to begin.
    case claim(BusCall)
    /// The reader is ours: `verify` is next, once a touch is charged.
    case ready
    /// The reader waits for a touch.
    case watching
    /// The finger was decided.
    case touched(isMatch: Bool)
    /// The answer to `look`: no finger is on the reader, or it doesn't say so.
    case absent
    case listed(Fingers)
    /// The reader is free; there is nothing more to do.
    case finished
    case ended(FingerEnd)
  }

  static var service: Literal { "net.reactivated.Fprint" }
  static var deviceInterface: Literal { "net.reactivated.Fprint.Device" }
  static var devicePrefix: Literal { "/net/reactivated/Fprint/Device/" }

  func addMatch(_ rule: Text) -> BusCall {
    .driver("AddMatch", [.text(rule.bytes)])
  }

  var lossRule: Text {
    """
    type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',\
    arg0='net.reactivated.Fprint'
    """
  }

  var resultRule: Text {
    "type='signal',sender='\(owner)',interface='net.reactivated.Fprint.Device',member='VerifyStatus'"
  }

  // To the connection itself: another one may have the service's name by now.

  var defaultDevice: BusCall {
    BusCall(
      owner, Bytes(text: "/net/reactivated/Fprint/Manager"), "net.reactivated.Fprint.Manager",
      "GetDefaultDevice", [])
  }

  func deviceCall(_ member: Literal, _ values: [BusMessage.Value] = []) -> BusCall {
    BusCall(owner, device, ReaderDialog.deviceInterface, member, values)
  }

  /// Whether a finger is on the reader.
  var presence: BusCall {
    BusCall(
      owner, device, "org.freedesktop.DBus.Properties", "Get",
      [.text(Bytes(text: ReaderDialog.deviceInterface)), .text(Bytes(text: "finger-present"))])
  }

  static func reason(_ name: Bytes) -> FingerEnd {
    let prefix: Literal = "net.reactivated.Fprint.Error."
    guard name[...].begins(with: prefix) else { return .gone }
    let word = name[Bytes(text: prefix).count...]
    if word.spells("NoSuchDevice") { return .noReader }
    if word.spells("AlreadyInUse") { return .inUse }
    if word.spells("PermissionDenied") { return .denied }
    if word.spells("NoEnrolledPrints") { return .notEnrolled }
    return .failed
  }
}
