internal import CBus
internal import PasscodePolicy
public import PasscodeReader

/// A connection to the system bus; it is closed when it goes, and fprintd then frees the reader.
///
/// - The address MUST be the usual one: sd-bus is never asked to read the environment.    test_finger_attacks.py
/// - Nobody MUST be able to send it descriptors.                                            test_finger_attacks.py
/// - What was received is copied into `BusMessage` at once, so that no pointer outlives its message.
@safe public struct SystemBus: ~Copyable {
  private let bus: OpaquePointer

  private static var address: StaticString { "unix:path=/run/dbus/system_bus_socket" }

  /// Begins to connect; nil: there is no bus. The corresponding C functions are `sd_bus_new`, `sd_bus_set_address` and
  /// `sd_bus_start`.
  public static func connect() -> SystemBus? {
    var made: OpaquePointer?
    guard unsafe sd_bus_new(&made) >= 0, let bus = unsafe made else { return nil }
    let connection = unsafe SystemBus(bus: bus)
    guard connection.start() else { return nil }
    return consume connection
  }

  deinit {
    _ = unsafe sd_bus_close_unref(bus)
  }

  private func start() -> Bool {
    // SAFETY: a StaticString ends in NUL and lives for ever.
    let address = unsafe UnsafeRawPointer(SystemBus.address.utf8Start).assumingMemoryBound(to: CChar.self)
    return unsafe sd_bus_set_address(bus, address) >= 0 && sd_bus_set_bus_client(bus, 1) >= 0
      && sd_bus_negotiate_fds(bus, 0) >= 0 && sd_bus_start(bus) >= 0
  }

  /// Sends it, or puts it in the queue until the connection is made.
  ///
  /// - Returns: its serial; nil: the bus is gone, or the call can't be said in D-Bus.
  public func send(_ call: BusCall) -> UInt64? {
    guard let message = unsafe make(call) else { return nil }
    defer { _ = unsafe sd_bus_message_unref(message) }
    for value in call.values where !(unsafe append(value, to: message)) { return nil }
    var serial: UInt64 = 0
    return unsafe sd_bus_send(bus, message, &serial) >= 0 ? serial : nil
  }

  private func make(_ call: BusCall) -> OpaquePointer? {
    var message: OpaquePointer?
    let result = unsafe lend(call.destination) { destination in
      unsafe lend(call.path) { path in
        unsafe lend(call.interface) { interface in
          unsafe lend(call.member) { member in
            unsafe sd_bus_message_new_method_call(bus, &message, destination, path, interface, member)
          }
        }
      }
    }
    return result >= 0 ? unsafe message : nil
  }

  private func append(_ value: BusMessage.Value, to message: OpaquePointer) -> Bool {
    switch value {
    case .text(let text):
      let type = CChar(truncatingIfNeeded: UInt8(ascii: "s"))
      return unsafe lend(text) { unsafe sd_bus_message_append_basic(message, type, $0) } >= 0
    case .number(var number):
      return unsafe sd_bus_message_append_basic(
        message, CChar(truncatingIfNeeded: UInt8(ascii: "u")), &number) >= 0
    case .texts, .flag: return false  // no call of ours has one
    }
  }

  /// What came of reading.
  public enum Received: Equatable, Sendable {
    case message(BusMessage)
    /// One message was handled; there may be more.
    case more
    case nothing
    case gone
  }

  /// The next message, in the order of their arrival; doesn't wait. The corresponding C function is `sd_bus_process`.
  public func receive() -> Received {
    var received: OpaquePointer?
    let result = unsafe sd_bus_process(bus, &received)
    if result < 0 { return .gone }
    guard let message = unsafe received else { return result == 0 ? .nothing : .more }
    defer { _ = unsafe sd_bus_message_unref(message) }
    return unsafe .message(BusMessage(message))
  }

  /// The descriptor and events of the connection, for poll. The corresponding C functions are `sd_bus_get_fd` and
  /// `sd_bus_get_events`.
  var polled: pollfd {
    unsafe pollfd(fd: sd_bus_get_fd(bus), events: Int16(max(0, sd_bus_get_events(bus))), revents: 0)
  }
}

/// Lends bytes as a C string; what comes from the bus or from the account has no NUL.
func lend<Result>(_ bytes: Bytes, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
  let terminated = bytes + [0]
  // SAFETY: the array lives through the call, ends in NUL, and UInt8 and CChar have one layout.
  return unsafe terminated.withUnsafeBytes {
    unsafe body($0.baseAddress?.assumingMemoryBound(to: CChar.self))
  }
}
