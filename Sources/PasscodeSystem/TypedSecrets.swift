internal import CSodium
internal import CSystem

// What people type. Nothing is ever cut: what doesn't fit is refused whole, and what is copied without a question goes
// to a part of the same type.                                                     SecretsTests, test_too_long.py

/// A passcode, or a one-time code: at most 8 bytes. Only PasscodeVault's `take` and `takeCode` say that they are 4 or 6
/// digits, or 8 letters.
@safe public struct Passcode: ~Copyable {
  public static let longest = 8
  private static let mostDigits = 6

  let start: UnsafeMutablePointer<UInt8>
  /// Bytes; 0: there is none.
  public private(set) var count = 0

  init(_ start: UnsafeMutablePointer<UInt8>) {
    unsafe self.start = start
  }

  // SAFETY (of all below): count is never above `longest`, and there is room for so many bytes.

  /// Lends the bytes for reading.
  public func read<Value>(_ body: (Span<UInt8>) -> Value) -> Value {
    unsafe body(Span(_unsafeStart: start, count: count))
  }

  /// Takes what was typed, without a look at it; false, and there is none then, if it is longer than a passcode.
  public mutating func copy(_ line: borrowing TypedLine) -> Bool {
    count = 0
    guard line.count <= Passcode.mostDigits else { return false }
    unsafe cs_copy(start, line.start, line.count)
    count = line.count
    return true
  }

  /// Takes what a function makes of each byte that was typed; bytes of which it makes 0 are left out. False, and there is
  /// none then, if it makes nothing of one (nil), or if they are too many.
  public mutating func copy(_ line: borrowing TypedLine, as meaning: (UInt8) -> UInt8?) -> Bool {
    wipe()
    for index in 0..<line.count {
      guard let byte = unsafe meaning(line.start[index]), byte == 0 || count < Passcode.longest else {
        wipe()
        return false
      }
      guard byte != 0 else { continue }
      unsafe start[count] = byte
      count += 1
    }
    return true
  }

  /// Copies another passcode into this one.
  public mutating func copy(_ other: borrowing Passcode) {
    unsafe cs_copy(start, other.start, other.count)
    count = other.count
  }

  /// Fills it with so many bytes of the helper's request; false where it ends before, or where they don't fit.
  @inline(never)
  public mutating func receive(count: Int) -> Bool {
    self.count = 0
    guard count <= Passcode.longest, unsafe HelperService.fill(start, count) else { return false }
    self.count = count
    return true
  }

  /// Draws a passcode, uniformly; false, and the passcode is empty, if it can't have so many digits.
  public mutating func makeUp(digits: Int, _ sodium: Sodium) -> Bool {
    count = 0
    guard 0...Passcode.mostDigits ~= digits else { return false }
    for index in 0..<digits {
      unsafe start[index] = UInt8(ascii: "0") + UInt8(randomNumber(below: 10, sodium))
    }
    count = digits
    return true
  }

  /// Draws so many bytes uniformly from these; none if they don't fit.
  public mutating func draw(_ count: Int, from letters: [UInt8], _ sodium: Sodium) {
    wipe()
    guard 0...Passcode.longest ~= count, !letters.isEmpty else { return }
    for index in 0..<count {
      unsafe start[index] = letters[Int(randomNumber(below: UInt32(letters.count), sodium))]
    }
    self.count = count
  }

  /// Whether a line repeats this passcode; compared in constant time. The corresponding C function is `sodium_memcmp`.
  public func isRepeated(in line: borrowing TypedLine) -> Bool {
    unsafe count == line.count && sodium_memcmp(start, line.start, count) == 0
  }

  /// The corresponding C function is `sodium_memzero`.
  public mutating func wipe() {
    unsafe sodium_memzero(start, Passcode.longest)
    count = 0
  }
}

/// The passcode that an enrolment or a change sets.
public struct NewPasscode: ~Copyable {
  public var passcode: Passcode
}

/// The passcode that a change replaces; empty where there is none, or nobody had to type it.
public struct OldPasscode: ~Copyable {
  public var passcode: Passcode
}

/// What is to be set, and in place of what.
public struct PasscodeChange: ~Copyable {
  public var old: OldPasscode
  public var new: NewPasscode

  init(old: UnsafeMutablePointer<UInt8>, new: UnsafeMutablePointer<UInt8>) {
    unsafe self.old = OldPasscode(passcode: Passcode(old))
    unsafe self.new = NewPasscode(passcode: Passcode(new))
  }

  /// Lends the bytes of both for reading.
  public func read<Value>(_ body: (_ new: Span<UInt8>, _ old: Span<UInt8>) -> Value) -> Value {
    // SAFETY: as in Passcode.
    unsafe body(
      Span(_unsafeStart: new.passcode.start, count: new.passcode.count),
      Span(_unsafeStart: old.passcode.start, count: old.passcode.count))
  }
}

/// A line as it was typed, before anybody knows what it is: at most 512 bytes, as many as a password may have.
@safe public struct TypedLine: ~Copyable {
  public static let longest = 512

  let start: UnsafeMutablePointer<UInt8>
  /// Bytes; at most `longest`.
  public internal(set) var count = 0

  init(_ start: UnsafeMutablePointer<UInt8>) {
    unsafe self.start = start
  }

  // SAFETY (of all below, and of Streams.swift): count is never above `longest`, and there is room for one byte more.

  /// Lends the bytes for reading.
  public func read<Value>(_ body: (Span<UInt8>) -> Value) -> Value {
    unsafe body(Span(_unsafeStart: start, count: count))
  }

  /// Takes a typed answer; false, and the line is empty then, if it is too long.
  ///
  /// - Precondition: NUL-terminated.
  public mutating func take(_ text: UnsafePointer<CChar>) -> Bool {
    unsafe take(text, count: cs_length(text, TypedLine.longest + 1))
  }

  /// Takes the bytes; false, and the line is empty then, if they are too many.
  public mutating func take(_ bytes: [UInt8]) -> Bool {
    unsafe take(bytes, count: bytes.count)
  }

  /// Adds a byte; none beyond `longest`.
  public mutating func append(_ byte: UInt8) {
    guard count < TypedLine.longest else { return }
    unsafe start[count] = byte
    count += 1
  }

  private mutating func take(_ bytes: UnsafeRawPointer, count length: Int) -> Bool {
    wipe()
    guard length <= TypedLine.longest else { return false }
    unsafe cs_copy(start, bytes, length)
    count = length
    return true
  }

  /// Lends the line as a C string.
  public mutating func lend(_ body: (UnsafePointer<CChar>) -> CInt) {
    unsafe start[count] = 0
    _ = unsafe start.withMemoryRebound(to: CChar.self, capacity: count + 1) { unsafe body($0) }
  }

  /// Fills it with so many bytes of the helper's request; false where it ends before, or where they don't fit.
  public mutating func receive(count: Int) -> Bool {
    self.count = 0
    guard count <= TypedLine.longest, unsafe HelperService.fill(start, count) else { return false }
    self.count = count
    return true
  }

  /// The corresponding C function is `sodium_memzero`.
  @inline(never)
  public mutating func wipe() {
    unsafe sodium_memzero(start, TypedLine.longest + 1)
    count = 0
  }
}

/// A line with an account's password.
public struct Password: ~Copyable {
  public var line: TypedLine

  init(_ start: UnsafeMutablePointer<UInt8>) {
    unsafe line = TypedLine(start)
  }
}
