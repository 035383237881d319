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
  static let total = 1_344

  let base: UnsafeMutableRawPointer

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
  let start: UnsafeMutablePointer<UInt8>

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
  let start: UnsafeMutablePointer<UInt8>

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
  let start: UnsafeMutablePointer<UInt8>
}
