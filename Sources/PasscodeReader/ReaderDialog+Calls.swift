internal import PasscodePolicy

// What is said, and to whom.

extension ReaderDialog {
  static var service: String { "net.reactivated.Fprint" }
  static var deviceInterface: String { "net.reactivated.Fprint.Device" }
  static var devicePrefix: String { "/net/reactivated/Fprint/Device/" }

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

  func deviceCall(_ member: String, _ values: [BusMessage.Value] = []) -> BusCall {
    BusCall(owner, device, ReaderDialog.deviceInterface, member, values)
  }

  var someProperty: BusCall {
    BusCall(
      owner, device, "org.freedesktop.DBus.Properties", "Get",
      [.text(Bytes(text: ReaderDialog.deviceInterface)), .text(Bytes(text: "name"))])
  }
}
