/// Something that must be fixed before passcodes work, or a note of something that works all the same: a reason and its
/// parameters. No words: `Words.fault` has them. Never changed once it is made: shared, not copied.
public final class Fault: Error, Sendable {
  public let reason: Reason
  /// The configuration or the module line is at fault, and not the machine.
  public let isConfiguration: Bool
  /// The file or directory; empty: none.
  public let path: Bytes
  /// The account, or what was written in an option's place; empty: none. Never what was typed.
  public let name: Bytes
  /// What it counts or numbers, see `Reason`; else 0.
  public let number: UInt64
  /// errno of the system call that failed; 0: none did.
  public let error: UInt16

  /// - Parameter inConfiguration: a file that may be the configuration, and is.
  @inline(never)
  public init(
    _ reason: Reason, inConfiguration: Bool = false, path: Bytes = [], name: Bytes = [], number: UInt64 = 0,
    error: Int32 = 0
  ) {
    self.reason = reason
    isConfiguration = inConfiguration || reason.isConfiguration
    self.path = path
    self.name = name
    self.number = number
    self.error = UInt16(clamping: error)
  }

  @inline(never)
  public convenience init(_ reason: Reason, path: Bytes = [], error: Int32 = 0) {
    self.init(reason, inConfiguration: false, path: path, error: error)
  }

  /// What went wrong, and in brackets the parameters that tell more. The numbers go to and from the helper: one is
  /// never given another meaning, and new ones go to the end.
  public enum Reason: UInt8, CaseIterable, Sendable {
    // A file or directory (path).
    /// A system call failed (error).
    case failed = 0
    case missing = 1
    case notDirectory = 2
    case notRegularFile = 3
    case symbolicLink = 4
    /// The file has a wrong owner. (name: who must own the file)
    case wrongOwner = 5
    case writableByOthers = 6
    case readableByAll = 7
    case deniedToRoot = 8
    case deniedToService = 9

    // The configuration. (path; number: its line, 0: a module line; name)
    case unknownOption = 10
    case policyInModuleLine = 11
    case optionTwice = 12
    case badLine = 13
    case fileTooLarge = 14
    /// `OptionRow.values` of the name says what it needs.
    case badValue = 15
    case badCode = 16
    /// A program with raised privileges named another configuration file than the default one.
    case privilegedConfiguration = 17
    /// A module line says second_factor, and the configuration (path) doesn't.
    case secondFactorOff = 18
    /// The module is in the service file that proves passwords (path).
    case inPasswordService = 19
    /// The service file that proves passwords (path) isn't there.
    case noPasswordService = 20
    /// The list (path) isn't there.
    case noWeakList = 21

    // Key, store and records (path).
    case noKey = 22
    case keyLength = 23
    case noStore = 24
    /// (name: the account)
    case damagedRecord = 25
    /// (name: the account)
    case sealedOtherwise = 26
    /// (number: the format's version)
    case laterVersion = 27
    // 28 was a record that expires or must be changed, in versions that knew neither. Don't use it again.
    /// (error)
    case unwritableRecord = 29
    case busyRecord = 30
    case notPlainRecord = 31

    // Accounts.
    /// (error)
    case accountLookup = 32
    /// (number: uid)
    case lostAccount = 33
    /// (number: uid; error)
    case numberLookup = 34
    /// (number: uid)
    case noAccount = 35

    // The machine.
    case noHashingSlot = 36
    /// (number: KiB; error)
    case noMemoryToVerify = 37
    case hashingFailed = 38
    case noMemory = 39
    case noBootID = 40
    case noBootClock = 41

    // The helper (path).
    case noReply = 42
    case invalidReply = 43
    case helperMode = 44
    case noServiceAccount = 45
    case helperPrivilege = 46
    case helperForRoot = 47
    /// (number: as many as one caller may have at a time; no path)
    case tooManyRequests = 48

    // What only setting a passcode, or the key, can come to, but for `changedMeanwhile` in a fleet.
    /// (name)
    case nameTooLong = 49
    case vanishedRecord = 50
    case changedMeanwhile = 51
    /// (number: KiB)
    case noMemoryToHash = 52
    /// (path)
    case keyExists = 53
    /// (path; number: passcodes)
    case keyNeeded = 54
    /// (path; number: passcodes)
    case keyOpensNone = 55
    /// (path)
    case keyNotReadable = 56

    // Notes: for the log only. (name and number: the account and its uid)
    /// One copy of the record can't be read.
    case damagedCopy = 57
    /// The record was made for an account of another name.
    case otherName = 58
    /// A correct passcode, whose attempt still counts. (error)
    case notReset = 59
    /// The file of the hashing slots can't be used. (path; error)
    case noSlots = 60
    /// Nobody who holds a hashing slot moves.
    case stuckSlots = 61

    // Records (path) that somebody else may have written.
    /// (name: who must own it)
    case foreignRecord = 62
    case openRecord = 63

    /// What only a change can come to: the old passcode was right, and has expired since.
    case expiredMeanwhile = 64

    /// What only `passcode key` can come to. (error: a `KeyProblem`)
    case keyCommand = 65

    // What only a fleet's verifier can come to; a workstation is told path and error (`failed`), but for `notListed`.
    /// etcd on the verifier doesn't answer, or not in a way that makes sense.
    case noEtcd = 66
    /// etcd is behind what was seen (path), or is another one.
    case fleetRestored = 67
    /// What is in etcd is of a later epoch than the fleet key. (path)
    case fleetEpoch = 68
    /// The workstation isn't in the server's list (path).
    case notListed = 69

    /// What only root's `disable`, `remove` and `pause` can come to: an attempt that was under way holds the record (path).
    case revokedAndHeld = 70
    /// A note: a process that held a record was ended for that. (number: the process; name: its program)
    case endedHolder = 71

    /// `finger=both` in the configuration (path), with `second_factor` or `verifier`.
    case bothNeedsPassword = 72

    /// What only the helper can come to: a caller's passwords were wrong three times within a minute.
    case tooManyPasswords = 73
  }
}

extension Fault.Reason {
  /// Whether it lies in the configuration, whatever file it names.
  var isConfiguration: Bool {
    (Fault.Reason.unknownOption.rawValue...Fault.Reason.noWeakList.rawValue).contains(rawValue)
  }

  /// Whether what it lacks is the machine key that the account's passcode is sealed under: so the account has one.
  public var isOfKey: Bool { self == .noKey || self == .keyLength || self == .sealedOtherwise }

  /// Whether the fault is in a line of a configuration, whose number it has.
  public var isOption: Bool {
    (Fault.Reason.unknownOption.rawValue...Fault.Reason.badCode.rawValue).contains(rawValue)
  }

  /// Whether its sentence names the service account, which a distribution chooses.
  public var namesServiceAccount: Bool {
    switch self {
    case .deniedToService, .helperMode, .noServiceAccount, .helperPrivilege, .keyNotReadable: true
    default: false
    }
  }

  /// Whether everything works all the same.
  public var isNote: Bool {
    (Fault.Reason.damagedCopy.rawValue...Fault.Reason.stuckSlots.rawValue).contains(rawValue)
      || self == .endedHolder
  }
}
