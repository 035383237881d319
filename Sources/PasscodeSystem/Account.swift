internal import CSystem
internal import PasscodeBytes

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
  /// Looks an account up by its name. The corresponding C function is `getpwnam_r`.
  @inline(never)
  public static func named(_ name: [UInt8]) -> AccountLookup {
    lookUp(withNUL(name), .max)
  }

  /// By uid; where several names share it, the database's first. The corresponding C function is `getpwuid_r`.
  public static func numbered(_ uid: UInt32) -> AccountLookup {
    lookUp([], uid)
  }

  @inline(never)
  private static func lookUp(_ name: [UInt8], _ uid: UInt32) -> AccountLookup {
    var (number, group) = (uid, UInt32.max)
    var found = [UInt8](repeating: 0, count: 256)
    // SAFETY: the name ends in NUL or is none; a name of at most 255 bytes and a NUL are written.
    let error = unsafe cs_find_account(name.isEmpty ? nil : name, &number, &group, &found, found.count)
    switch error {
    case 0: return .found(Account(uid: number, gid: group, name: [UInt8](found.prefix { $0 != 0 })))
    // Some sources of accounts say "no such one" by an error (getpwnam(3), "ERRORS").
    case -1, ENOENT, ESRCH: return .unknown
    default: return .failed(Errno(error))
    }
  }

  /// The account's GECOS field and home directory, for programs with one thread (`getpwuid`).
  public func details() -> (gecos: [UInt8], home: [UInt8]) {
    var gecos = [UInt8](repeating: 0, count: 1_024)
    var home = gecos
    // SAFETY: both have so many bytes, and get a NUL.
    unsafe cs_account_details(uid, &gecos, &home, gecos.count)
    return ([UInt8](gecos.prefix { $0 != 0 }), [UInt8](home.prefix { $0 != 0 }))
  }
}

/// The unprivileged account that owns the store and that the helper becomes; nil where the package made none.
@inline(never)
public func serviceAccount() -> Account? {
  guard case .found(let account) = Account.named(Installed.account) else { return nil }
  return account
}

/// Whether the uid is the service account's. Where it is, the database is asked once a process: it owns what is opened for
/// every attempt.
public func isServiceAccount(_ uid: UInt32) -> Bool {
  if uid != .max, uid == cs_kept_service() { return true }
  guard uid == serviceAccount()?.uid else { return false }
  cs_keep_service(uid)
  return true
}

/// The user ids of a process, and whether it was started with more privilege than its caller has.
public struct ProcessIdentity: Equatable, Sendable {
  public let real: UInt32
  public let effective: UInt32
  public let saved: UInt32
  /// Whether the process was started with more privilege than its caller has (AT_SECURE).
  public let isSecure: Bool

  /// Whom a program of root's asks for.
  public enum Asker: Sendable {
    /// The person who runs the program asks.
    case itself
    /// Who connected to the program's standard input asks. The corresponding C function is `getsockopt`, with SO_PEERCRED.
    case peer
    /// Whose session it belongs to, by what the program has loaded of libsystemd. The corresponding C functions are
    /// `sd_pid_get_session` and `sd_session_get_uid`.
    case session
  }

  /// The corresponding C functions are `getresuid` and `getauxval`.
  ///
  /// - Parameter asker: where the real uid is root's, theirs counts as the real one; it is nobody's (2^32 - 1) if that is
  ///   root, too, as it is for a setuid program.
  public static func current(for asker: Asker = .itself) -> ProcessIdentity {
    let ids =
      switch asker {
      case .itself: cs_user_ids()
      case .peer: cs_peer_ids()
      case .session: cs_session_ids()
      }
    return ProcessIdentity(
      real: ids.real, effective: ids.effective, saved: ids.saved, isSecure: cs_is_secure() != 0)
  }

  /// This process is a person's own and nothing more: no part of it is root, none came by a setuid bit.
  public var isOnlyOnePersons: Bool {
    real == effective && effective == saved && real != 0 && !isSecure
  }

  /// The uid that this session was opened for, which sudo and su leave as it is; nil where the kernel keeps none.
  /// The corresponding file is /proc/self/loginuid.
  public static func loginUID() -> [UInt8]? {
    guard let file = try? Descriptor.open(Bytes(text: "/proc/self/loginuid"), .read),
      let text = try? file.read(16, at: 0), !text.elementsEqual(Bytes(text: "4294967295"))
    else { return nil }
    return text
  }
}

/// Ends the program. The corresponding C function is `exit`.
public func exitProcess(_ status: Int32) -> Never {
  exit(status)
}

/// The name of this program's file as it was started; empty where its caller could choose that (`getauxval`).
public func programName() -> [UInt8] {
  // SAFETY: a NUL-terminated string that lives as long as the process.
  unsafe bytes(cs_program_name())
}

/// Whether standard input is this terminal, named with or without /dev (`isatty`, `fstatat`).
public func inputIsTerminal(_ name: [UInt8]) -> Bool {
  // SAFETY: the name ends in NUL.
  unsafe cs_input_is_terminal(withNUL(name)) != 0
}

/// While one exists, no signal that can be blocked reaches this thread.
public struct SignalsBlocked: ~Copyable {
  private let before: UInt64

  public init() {
    before = cs_block_signals()
  }

  deinit {
    cs_restore_signals(before)
  }
}

/// Tests that so much memory can be had now.
///
/// Address space and overcommit are always asked. Where the machine itself is short (less than four times
/// as much is free), the kernel must also find every page: better killed here than after the charge.
public func reserveMemory(_ bytes: UInt64) throws(Errno) {
  let isScarce = cs_machine_memory().free < bytes.multipliedReportingOverflow(by: 4).partialValue
  let error = cs_reserve_memory(Int(clamping: bytes), isScarce ? 1 : 0)
  if error != 0 { throw Errno(error) }
}

/// The system log, facility authpriv, for a program (the module has libpam's).
public enum SystemLog {
  /// The corresponding C function is `syslog`.
  @inline(never)
  public static func notice(_ line: [UInt8]) {
    unsafe withCString(line) { unsafe cs_log(LOG_NOTICE, $0) }
  }
}

/// The machine's processors, memory and boot id.
public enum Machine {
  /// Processors that this process might use when it first asked, at least 1 (`sched_getaffinity`).
  public static var processors: Int { max(1, Int(cs_processors())) }

  /// Bytes of memory, asked for once. The corresponding C function is `sysinfo`.
  public static var memory: UInt64 { cs_all_memory() }
}

/// Where the build was told that things are: settings of Package.swift, and nothing at run time names others.
public enum Installed {
  /// A program that answers in place of the process that starts it: one question, or a look and its attempt. It gets no
  /// environment; only the tool gets an argument. All have the same requests and replies.
  public enum Program: Sendable {
    /// For a process that isn't root; runs as `_passcode`.
    case helper
    /// passcode-fleet, for root and for the helper: asks a fleet's verifier.
    case fleet
    /// The tool, for root: takes a proof of the password.
    case tool
  }

  @inline(never)
  public static func path(of program: Program) -> [UInt8] {
    // SAFETY: constant, NUL-terminated strings.
    switch program {
    case .helper: unsafe bytes(cs_helper_path())
    case .fleet: unsafe bytes(cs_fleet_path())
    case .tool: unsafe bytes(cs_tool_path())
    }
  }

  /// The account that owns the store, and that the helper becomes.
  @inline(never)
  public static var account: [UInt8] {
    // SAFETY: a constant, NUL-terminated string.
    unsafe bytes(cs_service_account())
  }
}
