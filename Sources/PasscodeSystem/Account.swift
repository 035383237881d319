internal import CSystem

/// An account of the system's user database.
public struct Account: Equatable, Sendable {
  public let uid: UInt32
  public let gid: UInt32
  public let name: [UInt8]

  public init(uid: UInt32, gid: UInt32, name: [UInt8]) {
    self.uid = uid
    self.gid = gid
    self.name = name
  }
}

/// What came of looking an account up.
public enum AccountLookup: Equatable, Sendable {
  case found(Account)
  case unknown
  case failed(Errno)
}

extension Account {
  /// By name. The corresponding C function is `getpwnam_r`.
  @inline(never)
  public static func named(_ name: [UInt8]) -> AccountLookup {
    unsafe lookUp { entry, buffer, size, result in
      unsafe withCString(name) { unsafe getpwnam_r($0, entry, buffer, size, result) }
    }
  }

  /// By uid; where several names share it, the database's first. The corresponding C function is `getpwuid_r`.
  @inline(never)
  public static func numbered(_ uid: UInt32) -> AccountLookup {
    unsafe lookUp { entry, buffer, size, result in unsafe getpwuid_r(uid, entry, buffer, size, result) }
  }

  private typealias Call = (
    UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
    UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
  ) -> Int32

  /// Grows the buffer until the entry fits, up to 1 MiB.
  private static func lookUp(_ call: Call) -> AccountLookup {
    var size = 1_024
    while true {
      let lookup = unsafe tryLookUp(call, size)
      guard lookup == .failed(Errno(ERANGE)), size < 1 << 20 else { return lookup }
      size *= 4
    }
  }

  private static func tryLookUp(_ call: Call, _ size: Int) -> AccountLookup {
    var buffer = [CChar](repeating: 0, count: size)
    var entry = unsafe passwd()
    var found: UnsafeMutablePointer<passwd>?
    // SAFETY: the entry's strings point into the buffer, which lives until they have been copied.
    return unsafe buffer.withUnsafeMutableBufferPointer { memory in
      guard let start = memory.baseAddress else { return .failed(Errno(ENOMEM)) }
      var error = unsafe call(&entry, start, size, &found)
      while error == EINTR { error = unsafe call(&entry, start, size, &found) }
      guard error == 0 else { return isUnknown(error) ? .unknown : .failed(Errno(error)) }
      guard unsafe found != nil, let name = unsafe entry.pw_name else { return .unknown }
      return unsafe .found(Account(uid: entry.pw_uid, gid: entry.pw_gid, name: bytes(name)))
    }
  }

  /// Some sources of accounts say "no such one" by an error (getpwnam(3), "ERRORS").
  private static func isUnknown(_ error: Int32) -> Bool {
    error == ENOENT || error == ESRCH
  }
}

/// The bytes of a C string, without its NUL.
///
/// - Precondition: NUL-terminated.
@inline(never)
public func bytes(_ text: UnsafePointer<CChar>) -> [UInt8] {
  // SAFETY: strnlen stays within a NUL-terminated string.
  unsafe UnsafeRawBufferPointer(start: text, count: cs_length(text, Int.max)).map { $0 }
}
