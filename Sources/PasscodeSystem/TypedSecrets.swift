internal import CSodium
internal import CSystem

// What people type. Nothing is ever cut: what doesn't fit is refused whole, and what is copied without a question goes
// to a part of the same type.                                                     SecretsTests, test_too_long.py

/// A passcode, or a one-time code: at most 8 bytes. Only PasscodeVault's `take` and `takeCode` say that they are 4 or 6
/// digits, or 8 letters.
@safe public struct Passcode: ~Copyable {
  public static let longest = 8
  static let mostDigits = 6

  let start: UnsafeMutablePointer<UInt8>
  /// Bytes; 0: there is none.
  public internal(set) var count = 0

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

  /// Lends the bytes of both for reading.
  public func read<Value>(_ body: (_ new: Span<UInt8>, _ old: Span<UInt8>) -> Value) -> Value {
    new.passcode.read { new in old.passcode.read { old in body(new, old) } }
  }
}

/// A line as it was typed, before anybody knows what it is: at most 512 bytes, as many as a password may have.
@safe public struct TypedLine: ~Copyable {
  public static let longest = 512

  let start: UnsafeMutablePointer<UInt8>
  /// Bytes; at most `longest`.
  public internal(set) var count = 0

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

  mutating func take(_ bytes: UnsafeRawPointer, count length: Int) -> Bool {
    wipe()
    guard length <= TypedLine.longest else { return false }
    unsafe cs_copy(start, bytes, length)
    count = length
    return true
  }

  /// Lends the line as a C string.
  public mutating func lend(_ body: (UnsafePointer<CChar>) -> CInt) -> CInt {
    unsafe start[count] = 0
    return unsafe start.withMemoryRebound(to: CChar.self, capacity: count + 1) { unsafe body($0) }
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
}
