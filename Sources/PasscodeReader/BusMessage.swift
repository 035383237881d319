public import PasscodePolicy

/// A message of the system bus, as far as the reader's dialogue needs one. The kinds of D-Bus have their names from its
/// specification.
public struct BusMessage: Equatable, Sendable {
  public enum Kind: Equatable, Sendable {
    /// The answer to the call with this serial.
    case methodReturn(UInt64)
    case error(UInt64, name: Bytes)
    case signal(interface: Bytes, member: Bytes)
    /// A call of ours that nobody needs.
    case other
  }

  public enum Value: Equatable, Sendable {
    /// A string or an object path.
    case text(Bytes)
    case texts([Bytes])
    case number(UInt32)
    case flag(Bool)
  }

  public let kind: Kind
  /// The unique name of the connection that sent it; the bus itself vouches for it.
  public let sender: Bytes
  /// The object that a signal is about.
  public let path: Bytes
  /// The message's arguments, up to the first of another type than these.
  public let values: [Value]

  public init(_ kind: Kind, sender: Bytes, path: Bytes = [], _ values: [Value] = []) {
    self.kind = kind
    self.sender = sender
    self.path = path
    self.values = values
  }

  var text: Bytes? {
    guard case .text(let text) = values.first else { return nil }
    return text
  }

  /// The bus itself sent it: no connection can have its name.
  var isFromDriver: Bool { sender.spells(BusCall.driverName) }

  /// The driver's answer to GetNameOwner. Unique names begin with a colon, and nobody can take one over.
  var uniqueName: Bytes? {
    guard isFromDriver, let name = text, name.first == UInt8(ascii: ":") else { return nil }
    return name
  }

  /// The driver's answer to GetConnectionUnixUser is root.
  var isRootsUser: Bool { isFromDriver && values == [.number(0)] }
}

/// A call of a method on the bus.
public struct BusCall: Equatable, Sendable {
  public let destination: Bytes
  public let path: Bytes
  public let interface: Bytes
  public let member: Bytes
  public let values: [BusMessage.Value]

  init(
    _ destination: Bytes, _ path: Bytes, _ interface: Literal, _ member: Literal, _ values: [BusMessage.Value]
  ) {
    self.destination = destination
    self.path = path
    self.interface = Bytes(text: interface)
    self.member = Bytes(text: member)
    self.values = values
  }

  static var driverName: Literal { "org.freedesktop.DBus" }

  /// A call of the bus's own methods.
  static func driver(_ member: Literal, _ values: [BusMessage.Value]) -> BusCall {
    BusCall(Bytes(text: driverName), Bytes(text: "/org/freedesktop/DBus"), driverName, member, values)
  }
}
