internal import CSodium
internal import CSystem

/// Proof that libsodium is initialised: without it sodium_malloc would end the process.
public struct Sodium: Sendable {
  /// The corresponding C function is `sodium_init`. nil: no source of randomness.
  public init?() {
    guard sodium_init() >= 0 else { return nil }
  }
}

/// Everything secret of one attempt or enrolment: one piece of guarded, locked memory that is wiped when it
/// goes. Its contents are lent as spans; they never become a String or an Array.
///
/// One piece, because each sodium_malloc costs ten system calls; and the process keeps it, wiped, for the next
/// attempt. mlock failing is not fatal (polkit runs us with LimitMEMLOCK=0).
@safe public struct Secrets: ~Copyable {
  private let base: UnsafeMutableRawPointer

  /// The parts of the arena.
  public enum Field: Sendable {
    /// A passcode: what was just typed.
    case code
    /// A passcode typed again; in a helper's request, the new one.
    case other
    /// The old passcode, at a change.
    case old
    /// The machine key.
    case key
    /// The opened credential, as PasscodeVault lays it out.
    case credential
    /// Argon2id's output for `code`.
    case digest
    /// A line as it was read, before anybody knows whether it is a passcode.
    case line

    /// Bytes that the field can hold.
    public var capacity: Int {
      switch self {
      case .code, .other, .old: 8
      case .key, .digest: 32
      case .credential: 128
      case .line: 512
      }
    }

    var offset: Int {
      switch self {
      case .code: 0
      case .other: 8
      case .old: 16
      case .key: 32
      case .digest: 64
      case .credential: 128
      case .line: 256
      }
    }

    static let total = 768
  }

  /// Counts of the passcodes and the line; the other fields are always full.
  private var codeCount = 0
  private var otherCount = 0
  private var oldCount = 0
  private var lineCount = 0

  /// nil: no memory. The corresponding C function is `sodium_malloc`.
  @inline(never)
  public init?(_ sodium: Sodium) {
    guard let memory = unsafe cs_take_kept_memory() ?? sodium_malloc(Field.total) else { return nil }
    unsafe base = memory
    unsafe sodium_memzero(base, Field.total)
  }

  @inline(never)
  deinit {
    // SAFETY: base came from sodium_malloc, and has one owner: this, who keeps it, or nobody after it is freed.
    unsafe sodium_memzero(base, Field.total)
    if unsafe cs_keep_memory(base) == 0 { unsafe sodium_free(base) }
  }

  /// How many bytes of the field count.
  public func count(_ field: Field) -> Int {
    switch field {
    case .code: codeCount
    case .other: otherCount
    case .old: oldCount
    case .line: lineCount
    case .key, .credential, .digest: field.capacity
    }
  }

  private mutating func setCount(_ field: Field, _ count: Int) {
    switch field {
    case .code: codeCount = count
    case .other: otherCount = count
    case .old: oldCount = count
    case .line: lineCount = count
    case .key, .credential, .digest: break
    }
  }

  mutating func setLineCount(_ count: Int) {
    lineCount = count
  }

  // SAFETY (of all below): the fields lie apart within the arena, and no count exceeds its capacity.
  func start(_ field: Field) -> UnsafeMutablePointer<UInt8> {
    unsafe (base + field.offset).assumingMemoryBound(to: UInt8.self)
  }

  /// Lends the field's bytes for reading.
  public func read<Result>(_ field: Field, _ body: (Span<UInt8>) -> Result) -> Result {
    unsafe body(Span(_unsafeStart: start(field), count: count(field)))
  }

  /// Lends the whole field for writing; the body says how many bytes count now.
  public mutating func write(_ field: Field, _ body: (inout MutableSpan<UInt8>) -> Int) {
    var span = unsafe MutableSpan(_unsafeStart: start(field), count: field.capacity)
    let count = body(&span)
    setCount(field, min(max(0, count), field.capacity))
  }

  /// Lends two fields for reading.
  public func read<Result>(_ one: Field, _ two: Field, _ body: (Span<UInt8>, Span<UInt8>) -> Result) -> Result
  {
    unsafe body(
      Span(_unsafeStart: start(one), count: count(one)), Span(_unsafeStart: start(two), count: count(two)))
  }

  /// Copies one field over another of at least its count.
  public mutating func copy(_ source: Field, to target: Field) {
    let length = min(count(source), target.capacity)
    unsafe cs_copy(start(target), start(source), length)
    setCount(target, length)
  }

  /// Copies a field of other secrets over one of at least its count.
  public mutating func copy(_ source: Field, of other: borrowing Secrets, to target: Field) {
    let length = min(other.count(source), target.capacity)
    unsafe cs_copy(start(target), other.start(source), length)
    setCount(target, length)
  }

  /// Whether two passcodes are the same, in constant time. The corresponding C function is `sodium_memcmp`.
  public func areEqual(_ one: Field, _ two: Field) -> Bool {
    guard count(one) == count(two) else { return false }
    return unsafe sodium_memcmp(start(one), start(two), count(one)) == 0
  }

  /// Takes a typed answer into `line`; what is longer than it fits is cut (it can't be a passcode).
  ///
  /// - Precondition: NUL-terminated.
  public mutating func takeLine(_ text: UnsafePointer<CChar>) {
    let length = unsafe cs_length(text, Field.line.capacity)
    // SAFETY: length is at most the field's capacity.
    unsafe cs_copy(start(.line), text, length)
    lineCount = length
  }

  /// Lends `line` as a C string; not where it filled the field (it may have been cut).
  public mutating func lendLine(_ body: (UnsafePointer<CChar>) -> CInt) {
    guard lineCount < Field.line.capacity else { return }
    // SAFETY: the NUL goes behind the line, within the field.
    unsafe start(.line)[lineCount] = 0
    _ = unsafe start(.line).withMemoryRebound(to: CChar.self, capacity: lineCount + 1) { unsafe body($0) }
  }

  /// Wipes the field. The corresponding C function is `sodium_memzero`.
  public mutating func wipe(_ field: Field) {
    unsafe sodium_memzero(start(field), field.capacity)
    setCount(field, 0)
  }
}
