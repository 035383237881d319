/// What the module sends to `passcode-finger`, version 2, and what comes back. Numbers are little-endian.
///
/// A request has 8 bytes. The connection then stays open for as long as the prompt does: its end stops the reader. At
/// Enter alone one byte more may come, of value 1, once the reader was said to wait: `matched` or `ended` answers it.
///
///     offset 0    version       1 byte    2
///     offset 1    operation     1 byte    FingerRequest.Operation
///     offset 2    for whom      1 byte    1: the caller runs for a person; 0: for the machine
///     offset 3    terminal      1 byte    for the machine: FingerRequest.Terminal. Else 0
///     offset 4    uid           4 bytes   whose finger it must be
///
/// An event has 16 bytes. `FingerTranscript` says which may follow which:
///
///     offset 0    version       1 byte    1
///     offset 1    kind          1 byte    FingerEvent.Kind
///     offset 2    detail        2 bytes   `ended`: FingerEnd. `listed`: the fingers, one bit each. Else 0
///     offset 4    serial        4 bytes   `matched`: the touch count's, as this touch left it. Else 0
///     offset 8    time          8 bytes   `matched`: CLOCK_BOOTTIME in milliseconds. Else 0
///
/// Its caller MUST take anything but a valid transcript as no match.              FingerTranscriptTests, FuzzFinger
///
/// What decodes, encodes to the same bytes.                                       FingerMessageTests, FuzzFinger
public struct FingerRequest: Equatable, Sendable {
  public static let length = 8
  /// The byte that says that Enter alone was pressed.
  public static let enter: UInt8 = 1

  public enum Operation: UInt8, CaseIterable, Sendable {
    /// Hold the reader for a prompt, and tell what happens.
    case watch = 1
    /// Tell which fingers are enrolled.
    case list = 2
    /// Tell whether somebody is at that place, and do nothing else.
    case session = 3
  }

  /// The place where somebody must be for the reader to be used.
  public enum Place: Equatable, Sendable {
    /// The caller runs for the person: their session.
    case session
    /// It runs for the machine (a login program runs for nobody yet): whatever session it belongs to; or else here.
    case terminal(Terminal)
  }

  /// Where the prompt is, in one byte:
  ///
  ///     0            a terminal that doesn't show where its user is: a serial line, a pseudo-terminal, a display of
  ///                  another name
  ///     1 to 63      a virtual console
  ///     64 to 254    an X display of this machine, ":0" to ":190"
  ///     255          a login screen that names neither
  public struct Terminal: Equatable, Sendable {
    public let code: UInt8

    public init(code: UInt8) {
      self.code = code
    }

    public static var other: Terminal { Terminal(code: 0) }
    public static var loginScreen: Terminal { Terminal(code: 255) }

    /// A virtual console by its name, "tty3", also with /dev/ before it, or a display, ":0".
    public init(named name: Bytes) {
      let isDisplay = name.first == UInt8(ascii: ":")
      let isLong = name.begins(with: "/dev/tty")
      let start = isDisplay ? 1 : isLong ? 8 : name.begins(with: "tty") ? 3 : 0
      // There is no console 0, and without a prefix there is no number.
      let number = start == 0 ? 0 : decimal(name[start...]) ?? .max
      code = number > (isDisplay ? 190 : 63) ? 0 : UInt8(number) + (isDisplay ? 64 : 0)
    }
  }

  public let operation: Operation
  public let uid: UInt32
  public let place: Place

  public init(_ operation: Operation, uid: UInt32, at place: Place = .terminal(.other)) {
    self.operation = operation
    self.uid = uid
    self.place = place
  }

  /// The caller runs for the person, who wants something now. Else it may be a login screen, which stands for hours.
  public var isForPerson: Bool { place == .session }

  public var bytes: Bytes {
    let (forPerson, terminal): (UInt8, UInt8) =
      switch place {
      case .session: (1, 0)
      case .terminal(let terminal): (0, terminal.code)
      }
    var bytes: Bytes = [2, operation.rawValue, forPerson, terminal]
    bytes.append(UInt64(uid), bytes: 4)
    return bytes
  }
}

/// Why the reader isn't used, or no longer.
public enum FingerEnd: UInt8, CaseIterable, Sendable {
  /// The bus or fprintd can't be reached.
  case noService = 1
  case noReader = 2
  /// Another program holds the reader.
  case inUse = 3
  /// fprintd refuses us the reader.
  case denied = 4
  case notEnrolled = 5
  /// 5 touches in a row didn't match.
  case off = 6
  /// fprintd didn't answer within 300 ms, so the prompt came without the reader.
  case slow = 7
  /// The bus, fprintd or the reader went away, or the reader failed.
  case gone = 8
  /// 3 touches at this prompt didn't match.
  case tries = 9
  /// 30 s are over.
  case time = 10
  /// What fprintd said makes no sense, or a touch couldn't be charged.
  case failed = 11
  /// The session isn't active, local and unlocked, the terminal isn't one that shows where its user is, or nothing tells.
  case noSession = 12
  /// At Enter no finger was on the reader, or it didn't decide within 1 s.
  case noTouch = 13
  /// With `finger_for`: prints changed since passcode or password were last used, or nothing tells.
  case printsChanged = 14
}

/// What happened at the reader.
public enum FingerEvent: Equatable, Sendable {
  /// The prompt needn't wait: the bus starts fprintd, or a finger is enrolled and the reader takes its time.
  case starting
  /// The reader waits for a touch.
  case watching
  /// A touch was charged and didn't match.
  case noMatch
  /// A touch was charged and matched; `serial` is the count's.
  case matched(serial: UInt32, milliseconds: UInt64)
  case ended(FingerEnd)
  /// The answer to `list`.
  case listed(Fingers)
  /// The answer to `session`.
  case present

  public static let length = 16

  enum Kind: UInt8 {
    case starting = 1, watching = 2, noMatch = 3, matched = 4, ended = 5, listed = 6, present = 7
  }

  /// nil unless the input is well-formed and complete.
  public init?(_ bytes: Bytes) {
    guard bytes.count == FingerEvent.length else { return nil }
    self.init(bytes, at: 0)
  }

  /// The event that begins there, of several.
  ///
  /// - Precondition: there are as many bytes as it has.
  @inline(never)
  init?(_ bytes: Bytes, at start: Int) {
    guard bytes[start] == 1, let kind = Kind(rawValue: bytes[start + 1]) else { return nil }
    let detail = UInt16(littleEndianNumber(bytes, start + 2, 2))
    let serial = UInt32(littleEndianNumber(bytes, start + 4, 4))
    let time = littleEndianNumber(bytes, start + 8, 8)
    // What the kind doesn't use must be 0.
    guard detail == 0 || kind == .ended || kind == .listed, serial == 0 && time == 0 || kind == .matched
    else { return nil }
    switch kind {
    case .starting: self = .starting
    case .watching: self = .watching
    case .noMatch: self = .noMatch
    case .matched: self = .matched(serial: serial, milliseconds: time)
    case .ended:
      guard let end = UInt8(exactly: detail).flatMap({ FingerEnd(rawValue: $0) }) else { return nil }
      self = .ended(end)
    case .listed:
      guard let fingers = Fingers(bits: detail) else { return nil }
      self = .listed(fingers)
    case .present: self = .present
    }
  }
}

/// A set of fingers, by fprintd's names.
public struct Fingers: Equatable, Sendable {
  /// One bit each, in the order of `Fingers+Names`.
  public let bits: UInt16

  /// nil where a bit has no finger.
  public init?(bits: UInt16) {
    guard bits < 1 << 10 else { return nil }
    self.bits = bits
  }
}
