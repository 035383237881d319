// Any messages in any order from the bus, from fprintd and from somebody else: a touch is told only where fprintd's own
// connection spoke of the claimed device while the reader waited, and at most once for each time that it waited. A
// session is unlocked only after four answers.

@testable import PasscodePolicy
@testable import PasscodeReader

private let driver = Bytes(text: "org.freedesktop.DBus")
private let senders = [driver, Bytes(text: ":1.5"), Bytes(text: ":1.6")]
private let (alice, seven) = (Bytes(text: "alice"), Bytes(text: "7"))
private let reader = Bytes(text: "/net/reactivated/Fprint/Device/0")

/// What a byte's bits 5-7 say, with names that are made only once.
private let values: [[BusMessage.Value]] = [
  [], [.text(Bytes(text: ":1.5"))], [.number(0)], [.text(reader)], [.flag(false)],
  [.text(Bytes(text: "verify-match")), .flag(true)], [.text(Bytes(text: "verify-no-match")), .flag(true)],
  [.text(Bytes(text: "net.reactivated.Fprint")), .text(Bytes(text: ":1.5")), .text([])],
]
private let noOwner = Bytes(text: "org.freedesktop.DBus.Error.NameHasNoOwner")
private let device = Bytes(text: "net.reactivated.Fprint.Device")
private let (status, change) = (Bytes(text: "VerifyStatus"), Bytes(text: "NameOwnerChanged"))

/// One message for each byte: bits 0-1 who sends it, bits 2-4 what it is, bits 5-7 its values.
private func message(_ byte: UInt8, _ serial: UInt64) -> BusMessage {
  let sender = senders[Int(byte & 3) % senders.count]
  let kind: BusMessage.Kind =
    switch byte >> 2 & 7 {
    case 0, 1, 2: .methodReturn(serial)
    case 3: .error(serial, name: noOwner)
    case 4, 5: .signal(interface: device, member: status)
    case 6: .signal(interface: driver, member: change)
    default: .methodReturn(serial &+ 1)
    }
  return BusMessage(kind, sender: sender, path: byte >> 2 & 7 == 5 ? [] : reader, values[Int(byte >> 5)])
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzReader(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = UnsafeBufferPointer(start: data, count: size)
  var dialog = ReaderDialog(input.first == 0 ? .list : .watch, name: alice)
  var session = SessionDialog(seven)
  var isWatched = false
  var wasTouched = false
  var serial: UInt64 = 1
  var answers = 0
  for byte in input.dropFirst() {
    dialog.sent(serial: serial)
    session.sent(serial: serial)
    let message = message(byte, serial)
    var step =
      switch byte {
      case 0x1c: dialog.again()
      case 0x3c: dialog.finish()
      case 0x5c: dialog.look()
      default: dialog.receive(message)
      }
    if case .ready = step {
      step = dialog.verify()
      wasTouched = false
    }
    precondition(!(wasTouched && dialog.isUntouched))
    if case .touched = step {
      precondition(
        (isWatched || dialog.isStopping) && message.sender == senders[1] && message.path == reader)
      precondition(!dialog.isUntouched)
      isWatched = dialog.isStopping
      wasTouched = true
      step = .nothing
    }
    if case .watching = step { isWatched = true }
    let sessionStep = session.receive(message)
    if case .call = sessionStep { answers += 1 }
    if sessionStep == .unlocked { precondition(answers == 3 && message.sender == senders[1]) }
    serial += 2
  }
  return 0
}
