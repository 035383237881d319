/// What the system itself tells everybody about an account: the first thing to try after the popular codes.
///
/// A third of those who use a date take their own birthday (Bonneau et al., FC 2012); which one that is the
/// system doesn't know, but it knows telephone and room numbers, and names.
public struct PersonalData: Equatable, Sendable {
  /// Digits in which a code isn't to be found.
  private struct Trace: Equatable, Sendable {
    let kind: Weakness
    let digits: Bytes
  }

  private var traces: [Trace] = []

  /// Personal data of nobody, in which no code is found.
  public init() {}

  /// - Parameters: as in the account's passwd entry; any bytes. GECOS is `name,room,work phone,home phone,anything`.
  public init(userName: Bytes, gecos: Bytes, uid: UInt32, home: Bytes) {
    addGecos(gecos)
    addNumber(.userID, decimalDigits(UInt64(uid)))
    add(.userName, digits(userName[...]))
    add(.spelledName, spelled(userName[...]))
    for component in home[...].parts(between: UInt8(ascii: "/")) { add(.home, digits(component)) }
    addYears(userName)
    addYears(home)
  }

  /// What kind of personal data contains a code; nil if none does.
  ///
  /// - Parameter code: 4 or 6 ASCII digits, of which nothing is copied.
  func weakness(of code: Span<UInt8>) -> Weakness? {
    for trace in traces where contains(trace, code) { return trace.kind }
    return nil
  }
}

// MARK: - Taking it apart

extension PersonalData {
  private mutating func addGecos(_ gecos: Bytes) {
    let fields = gecos[...].parts(between: UInt8(ascii: ","))
    for index in fields.indices {
      switch index {
      case 0: addFullName(fields[index])
      case 1: addNumber(.room, digits(fields[index]))
      case 2, 3: add(.phone, digits(fields[index]))
      default: add(.details, digits(fields[index]))
      }
    }
  }

  private mutating func addFullName(_ name: ArraySlice<UInt8>) {
    add(.fullName, digits(name))
    for word in name.parts(between: UInt8(ascii: " ")) { add(.spelledName, spelled(word)) }
  }

  /// A number is also typed with zeros before it, to fill it up: room 12 as 0012, uid 1000 as 001000.
  private mutating func addNumber(_ kind: Weakness, _ digits: Bytes) {
    add(kind, digits)
    for length in [4, 6] where !digits.isEmpty && digits.count < length {
      add(kind, Bytes(repeating: UInt8(ascii: "0"), count: length - digits.count) + digits)
    }
  }

  /// The years in a name: its runs of exactly four digits, and of two as in `bob87`.
  private mutating func addYears(_ name: Bytes) {
    var run = Bytes()
    for byte in name + [0] {
      if isDigit(byte) {
        run.append(byte: byte)
        continue
      }
      if run.count == 4 { add(.nameYear, run) }
      if run.count == 2 {
        add(.nameYear, Bytes(text: "19") + run)
        add(.nameYear, Bytes(text: "20") + run)
      }
      run = []
    }
  }

  @inline(never)
  private mutating func add(_ kind: Weakness, _ digits: Bytes) {
    if digits.count >= 4 { traces.append(Trace(kind: kind, digits: digits)) }
  }

  /// The digits of a text, whatever stands between them: 0171-23 45 becomes 01712345.
  @inline(never)
  private func digits(_ text: ArraySlice<UInt8>) -> Bytes {
    var digits = Bytes()
    for byte in text where isDigit(byte) { digits.append(byte: byte) }
    return digits
  }

  /// A name as typed on the letters of a phone keypad: "love" is 5683. What has no key is left out.
  private func spelled(_ name: ArraySlice<UInt8>) -> Bytes {
    let keys = Bytes(text: "22233344455566677778889999")
    var digits = Bytes()
    for byte in name {
      let letter = byte | 0x20
      if isDigit(byte) {
        digits.append(byte: byte)
      } else if letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z") {
        digits.append(byte: keys[Int(letter - UInt8(ascii: "a"))])
      }
    }
    return digits
  }
}

// MARK: - Finding a code in it

extension PersonalData {
  private func contains(_ trace: Trace, _ code: Span<UInt8>) -> Bool {
    if trace.kind == .nameYear { return isAtEitherEnd(trace.digits, code) }
    guard trace.digits.count >= code.count else { return false }
    let digits = trace.digits.span
    for start in 0...digits.count - code.count where Weakness.isEqual(code, digits, at: start) { return true }
    return false
  }

  /// True if four digits begin the code or end it: 1987 in 198704 and 041987.
  private func isAtEitherEnd(_ year: Bytes, _ code: Span<UInt8>) -> Bool {
    Weakness.isEqual(year.span, code, at: 0)
      || Weakness.isEqual(year.span, code, at: code.count - year.count)
  }
}
