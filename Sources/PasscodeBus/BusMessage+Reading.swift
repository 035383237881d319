internal import CBus
internal import PasscodePolicy
internal import PasscodeReader
internal import PasscodeSystem

extension BusMessage {
  /// Strings of one array that are read; a longer one is cut, and then means nothing to the dialogue.
  private static let mostTexts = 16

  /// Copies what the dialogue needs.
  init(_ message: OpaquePointer) {
    unsafe self.init(
      BusMessage.kind(message), sender: text(sd_bus_message_get_sender(message)),
      path: text(sd_bus_message_get_path(message)), BusMessage.values(message))
  }

  private static func kind(_ message: OpaquePointer) -> Kind {
    var type: UInt8 = 0
    guard unsafe sd_bus_message_get_type(message, &type) >= 0 else { return .other }
    switch Int(type) {
    case Int(SD_BUS_MESSAGE_METHOD_RETURN): return .methodReturn(unsafe serial(message))
    case Int(SD_BUS_MESSAGE_METHOD_ERROR):
      return .error(unsafe serial(message), name: unsafe errorName(message))
    case Int(SD_BUS_MESSAGE_SIGNAL):
      return unsafe .signal(
        interface: text(sd_bus_message_get_interface(message)),
        member: text(sd_bus_message_get_member(message)))
    default: return .other
    }
  }

  /// 0, which no call has, where there is none.
  private static func serial(_ message: OpaquePointer) -> UInt64 {
    var serial: UInt64 = 0
    return unsafe sd_bus_message_get_reply_cookie(message, &serial) >= 0 ? serial : 0
  }

  private static func errorName(_ message: OpaquePointer) -> Bytes {
    guard let error = unsafe sd_bus_message_get_error(message) else { return [] }
    return unsafe text(error.pointee.name)
  }

  /// The arguments of a message, up to the first of a type that isn't read.
  private static func values(_ message: OpaquePointer) -> [Value] {
    var values: [Value] = []
    while values.count < 4, let value = unsafe next(message) { values.append(value) }
    return values
  }

  private static func next(_ message: OpaquePointer) -> Value? {
    var type: CChar = 0
    var contents: UnsafePointer<CChar>?
    guard unsafe sd_bus_message_peek_type(message, &type, &contents) > 0 else { return nil }
    switch UInt8(truncatingIfNeeded: type) {
    case UInt8(ascii: "s"), UInt8(ascii: "o"): return unsafe string(message, type).map { .text($0) }
    case UInt8(ascii: "u"):
      var number: UInt32 = 0
      return unsafe sd_bus_message_read_basic(message, type, &number) > 0 ? .number(number) : nil
    case UInt8(ascii: "b"):
      var flag: CInt = 0
      return unsafe sd_bus_message_read_basic(message, type, &flag) > 0 ? .flag(flag != 0) : nil
    case UInt8(ascii: "a") where unsafe text(contents).spells("s"): return unsafe strings(message)
    case UInt8(ascii: "v"): return unsafe variant(message, contents)
    default: return nil
    }
  }

  /// The value in a variant, if its type is one that is read; a variant within a variant isn't.
  private static func variant(_ message: OpaquePointer, _ contents: UnsafePointer<CChar>?) -> Value? {
    let type = CChar(truncatingIfNeeded: UInt8(ascii: "v"))
    // SAFETY: the contents are the message's own, as it named them just before.
    guard unsafe !text(contents).spells("v"),
      unsafe sd_bus_message_enter_container(message, type, contents) > 0
    else { return nil }
    let value = unsafe next(message)
    return unsafe sd_bus_message_exit_container(message) >= 0 ? value : nil
  }

  private static func string(_ message: OpaquePointer, _ type: CChar) -> Bytes? {
    var found: UnsafePointer<CChar>?
    // SAFETY: for a string it writes one pointer, to text that the message owns; it is copied at once.
    guard unsafe sd_bus_message_read_basic(message, type, &found) > 0, let found = unsafe found else {
      return nil
    }
    return unsafe bytes(found)
  }

  private static func strings(_ message: OpaquePointer) -> Value? {
    let string = CChar(truncatingIfNeeded: UInt8(ascii: "s"))
    let array = CChar(truncatingIfNeeded: UInt8(ascii: "a"))
    guard unsafe lend(Bytes(text: "s"), { unsafe sd_bus_message_enter_container(message, array, $0) }) > 0
    else {
      return nil
    }
    var texts: [Bytes] = []
    while let text = unsafe self.string(message, string) {
      texts.append(text)
      if texts.count > mostTexts { return nil }
    }
    return unsafe sd_bus_message_exit_container(message) >= 0 ? .texts(texts) : nil
  }
}

/// A C string's bytes; empty for NULL.
private func text(_ text: UnsafePointer<CChar>?) -> Bytes {
  guard let text = unsafe text else { return [] }
  return unsafe bytes(text)
}
