internal import CSodium
internal import CSystem

/// Proof that libsodium is initialised: without it sodium_malloc would end the process.
public struct Sodium: Sendable {
  /// The corresponding C function is `sodium_init`. nil: no source of randomness.
  public init?() {
    guard sodium_init() >= 0 else { return nil }
  }
}

/// Everything secret of one login, enrolment or change: one allocation of guarded, locked memory that is wiped when it
/// goes. Its parts are lent, each by its own type, and can't be copied or moved out; their bytes are lent as spans, and
/// never become a String or an Array.
///
/// Only the programs' outermost functions have it whole; every other function takes the parts that it needs.
///
/// One allocation, because each sodium_malloc costs ten system calls; and the process keeps it, wiped, for the next
/// attempt. mlock failing is not fatal (polkit runs us with LimitMEMLOCK=0).
///
///     offset    0    Passcode         16     offset   80    OpenedCredential    64
///     offset   16    Passcode         16     offset  144    Digest             112
///     offset   32    Passcode         16     offset  256    TypedLine          528
///     offset   48    SecretKey        32     offset  784    TypedLine          528
///     offset 1312    SecretKey        32     (the subkey)
@safe public struct Secrets: ~Copyable {
  package static let total = 1_344

  package let base: UnsafeMutableRawPointer

  /// The line that was just typed.
  public var line: TypedLine
  /// The passcode to verify.
  public var passcode: Passcode
  /// The new passcode and the old one of a change.
  public var change: PasscodeChange
  public var password: Password
  /// The part that only the Vault uses: keys, opened credentials, digests.
  public var unsealed: Unsealed

  /// nil: no memory. The corresponding C function is `sodium_malloc`.
  @inline(never)
  public init?(_ sodium: Sodium) {
    guard let memory = unsafe cs_take_kept_memory() ?? sodium_malloc(Secrets.total) else { return nil }
    unsafe sodium_memzero(memory, Secrets.total)
    unsafe base = memory
    // SAFETY: the parts lie apart within the allocation, and each has the room that its type needs. None outlives
    // it: they can't be copied or moved out of it, and nothing swaps the parts of two allocations (test_source.py).
    let start = unsafe memory.assumingMemoryBound(to: UInt8.self)
    passcode = unsafe Passcode(start: start)
    change = unsafe PasscodeChange(
      old: OldPasscode(passcode: Passcode(start: start + 16)),
      new: NewPasscode(passcode: Passcode(start: start + 32)))
    unsealed = unsafe Unsealed(
      key: SecretKey(start: start + 48), subkey: SecretKey(start: start + 1_312),
      credential: OpenedCredential(start: start + 80), digest: Digest(start: start + 144))
    line = unsafe TypedLine(start: start + 256)
    password = unsafe Password(line: TypedLine(start: start + 784))
  }

  @inline(never)
  deinit {
    // SAFETY: base came from sodium_malloc, and has one owner: this, who keeps it, or nobody after it is freed.
    unsafe sodium_memzero(base, Secrets.total)
    if unsafe cs_keep_memory(base) == 0 { unsafe sodium_free(base) }
  }
}

/// What only the Vault works with: nobody types it, and nobody is told it.
public struct Unsealed: ~Copyable {
  public var key: SecretKey
  /// The key that was derived last from the machine key (`SecretKey.derive`).
  public var subkey: SecretKey
  public var credential: OpenedCredential
  public var digest: Digest

  /// Wipes key, subkey, credential and digest. The corresponding C function is `sodium_memzero`.
  @inline(never)
  public mutating func wipe() {
    unsafe sodium_memzero(key.start, Length.key)
    unsafe sodium_memzero(subkey.start, Length.key)
    unsafe sodium_memzero(credential.start, Length.credential)
    unsafe sodium_memzero(digest.start, Digest.capacity)
  }
}

/// The machine key.
@safe public struct SecretKey: ~Copyable {
  /// `Length.key` bytes.
  package let start: UnsafeMutablePointer<UInt8>

  /// Reads an open file; false if it is shorter than a key, or is all zeros, as one that was overwritten is. The
  /// corresponding C function is `sodium_is_zero`.
  public mutating func read(_ file: borrowing Descriptor) throws(Errno) -> Bool {
    // SAFETY: there is room for Length.key bytes.
    guard try unsafe file.read(into: start, count: Length.key) else { return false }
    return unsafe sodium_is_zero(start, Length.key) == 0
  }
}

/// An opened credential, as PasscodeVault lays it out: its beginning is the salt, its end the passcode's hash.
///
/// The salt is here and nowhere else: with it, a core image that was taken in the middle of a hash, and so has Argon2's
/// own memory, would tell which passcode was being hashed.                                   test_core_images.py
@safe public struct OpenedCredential: ~Copyable {
  /// `Length.credential` bytes.
  package let start: UnsafeMutablePointer<UInt8>

  static var hashOffset: Int { Length.credential - Length.hash }

  // SAFETY (of all below): there are Length.credential bytes.

  /// Lends the whole credential for reading.
  public func read<Value>(_ body: (Span<UInt8>) -> Value) -> Value {
    unsafe body(Span(_unsafeStart: start, count: Length.credential))
  }

  /// Begins a new one with a random salt. The corresponding C function is `randombytes_buf`.
  public mutating func makeSalt(_ sodium: Sodium) {
    unsafe randombytes_buf(start, Length.salt)
  }

  /// Puts what comes between salt and hash, and the hash, behind the salt; false if the former hasn't its length.
  public mutating func fill(_ middle: [UInt8], _ digest: borrowing Digest) -> Bool {
    guard middle.count == OpenedCredential.hashOffset - Length.salt else { return false }
    unsafe cs_copy(start + Length.salt, middle, middle.count)
    unsafe cs_copy(start + OpenedCredential.hashOffset, digest.start, Length.hash)
    return true
  }
}

/// Argon2id's output for a passcode, or the keyed digest of a wrong one (`LastWrong`).
@safe public struct Digest: ~Copyable {
  static let capacity = 112

  /// `Length.hash` bytes; with what follows them, `capacity`, in which a keyed digest is put together.
  package let start: UnsafeMutablePointer<UInt8>
}

// What people type. Nothing is ever cut: what doesn't fit is refused whole, and what is copied without a question goes
// to a part of the same type.                                                     SecretsTests, test_too_long.py

/// A passcode, or a one-time code: at most 8 bytes. Only PasscodeVault's `take` and the tool's `takeCode` say that they are
/// 4 or 6 digits, or 8 letters.
@safe public struct Passcode: ~Copyable {
  public static let longest = 8
  package static let mostDigits = 6

  package let start: UnsafeMutablePointer<UInt8>
  /// Bytes; 0: there is none.
  public package(set) var count = 0

  // SAFETY (of all below, and of PasscodePrograms): count is never above `longest`, and there is room for so many bytes.

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

  package let start: UnsafeMutablePointer<UInt8>
  /// Bytes; at most `longest`.
  public package(set) var count = 0

  // SAFETY (of all below, and of PasscodePrograms): count is never above `longest`, and there is room for one byte more.

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

  package mutating func take(_ bytes: UnsafeRawPointer, count length: Int) -> Bool {
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
