/// The one table of options: what the parser accepts, what the manual pages and the sample file list.
public struct OptionRow: Sendable {
  public enum Class: Equatable, Sendable {
    /// Policy, in the file only: the same for every service and for the helper.
    case policy
    /// In the file or, overriding it, in a module line.
    case door
  }

  /// Sets the option; false where the value is not one of its values.
  typealias Setter = @Sendable (inout Options, ArraySlice<UInt8>) -> Bool

  /// Whether the option is policy, or may be set for one service.
  public let kind: Class
  /// Whether the option's name alone means yes.
  let isFlag: Bool
  public let name: String
  /// The default as one would write it: `Options` holds the one in force, and OptionTests compares them.
  public let standard: String
  /// Which values there are, in a few words.
  public let values: Pattern
  let set: Setter

  public static func all() -> [OptionRow] {
    [
      policy("store", "/var/lib/passcode", "an absolute path") { setPath(&$0.policy.store, $1) },
      policy("key_file", "/etc/passcode/key", "an absolute path") { setPath(&$0.policy.keyFile, $1) },
      policy("lengths", "4,6", "4, 6 or 4,6") { $0.policy.setLengths($1) },
      policy(
        "lockout", "3:1m,5:5m,7:15m,9:1h,10:reset", "FAILURES:DELAY,... rising; the last may be reset"
      ) { $0.policy.setLockout($1) },
      policy("weak", "refuse", "refuse, warn or allow") { $0.policy.setWeak($1) },
      policy("weak_list", "none", "an absolute path, or none") { $0.policy.setWeakList($1) },
      policy("opslimit", "3", "1 to 64") { $0.policy.setOperations($1) },
      policy("memlimit", "64M", "8K to 1G") { $0.policy.setMemory($1) },
      policy("max_parallel", "auto", "auto, or 1 to 64") { $0.policy.setMaxParallel($1) },
      policy("self_enroll", "password", "password or no") { $0.policy.setSelfEnroll($1) },
      flag(.policy, "second_factor") { setFlag(&$0.policy.secondFactor, $1) },
      policy("verifier", "none", "an absolute path of at most 107 bytes, or none") {
        $0.policy.setVerifier($1)
      },
      policy("verifier_uids", "1000-", "1 to 16 ranges of uids, such as 1000-59999,70000; never 0") {
        $0.policy.setVerifierUIDs($1)
      },
      door("remote", "deny", "deny or allow") { $0.door.setRemote($1) },
      door("first_login", "allow", "allow or deny") { $0.door.setFirstLogin($1) },
      door("fail_delay", "2s", "0 to 60 seconds") { $0.door.setFailDelay($1) },
      door("prompt", "Passcode:", "1 to 80 bytes of text") { $0.door.setPrompt($1) },
      flag(.door, "either") { setFlag(&$0.door.either, $1) },
      flag(.door, "finger") { setFlag(&$0.door.finger, $1) },
      flag(.door, "try_first_pass") { setFlag(&$0.door.tryFirstPass, $1) },
      flag(.door, "use_first_pass") { setFlag(&$0.door.useFirstPass, $1) },
      flag(.door, "nullok") { setFlag(&$0.door.nullok, $1) },
      flag(.door, "quiet") { setFlag(&$0.door.quiet, $1) },
      flag(.door, "debug") { setFlag(&$0.door.debug, $1) },
    ]
  }

  /// The index of an option's row.
  @inline(never)
  static func index(of name: ArraySlice<UInt8>, in rows: [OptionRow]) -> Int? {
    for index in rows.indices where name.spells(rows[index].name) { return index }
    return nil
  }

  private static func policy(
    _ name: String, _ standard: String, _ values: Pattern, set: @escaping Setter
  ) -> OptionRow {
    OptionRow(kind: .policy, isFlag: false, name: name, standard: standard, values: values, set: set)
  }

  private static func door(
    _ name: String, _ standard: String, _ values: Pattern, set: @escaping Setter
  ) -> OptionRow {
    OptionRow(kind: .door, isFlag: false, name: name, standard: standard, values: values, set: set)
  }

  private static func flag(_ kind: Class, _ name: String, set: @escaping Setter) -> OptionRow {
    OptionRow(
      kind: kind, isFlag: true, name: name, standard: "no", values: "yes or no; the name alone means yes",
      set: set)
  }
}

// MARK: - What each option sets

extension Options.Policy {
  fileprivate mutating func setLengths(_ value: ArraySlice<UInt8>) -> Bool {
    guard let index = number(of: value, among: "4,6 4 6") else { return false }
    lengths = Options.Lengths(four: index != 2, six: index != 1)
    return true
  }

  fileprivate mutating func setLockout(_ value: ArraySlice<UInt8>) -> Bool {
    guard let schedule = Schedule(value) else { return false }
    lockout = schedule
    return true
  }

  fileprivate mutating func setWeak(_ value: ArraySlice<UInt8>) -> Bool {
    guard let index = number(of: value, among: "refuse warn allow") else { return false }
    weak = index == 0 ? .refuse : index == 1 ? .warn : .allow
    return true
  }

  fileprivate mutating func setWeakList(_ value: ArraySlice<UInt8>) -> Bool {
    guard value.spells("none") else { return setPath(&weakList, value) }
    weakList = []
    return true
  }

  fileprivate mutating func setVerifier(_ value: ArraySlice<UInt8>) -> Bool {
    if value.spells("none") {
      verifier = []
      return true
    }
    return value.count <= Options.Policy.longestSocketPath && setPath(&verifier, value)
  }

  fileprivate mutating func setVerifierUIDs(_ value: ArraySlice<UInt8>) -> Bool {
    guard let ranges = UserRanges(value) else { return false }
    verifierUIDs = ranges
    return true
  }

  fileprivate mutating func setOperations(_ value: ArraySlice<UInt8>) -> Bool {
    guard let passes = number(value, in: Options.Cost.operationsRange) else { return false }
    cost = Options.Cost(operations: passes, memory: cost.memory)
    return true
  }

  fileprivate mutating func setMemory(_ value: ArraySlice<UInt8>) -> Bool {
    guard let memory = size(value), Options.Cost.memoryRange.contains(memory) else { return false }
    cost = Options.Cost(operations: cost.operations, memory: memory)
    return true
  }

  fileprivate mutating func setMaxParallel(_ value: ArraySlice<UInt8>) -> Bool {
    guard let slots = value.spells("auto") ? 0 : number(value, in: 1...UInt64(Options.Policy.mostParallel))
    else {
      return false
    }
    maxParallel = slots
    return true
  }

  fileprivate mutating func setSelfEnroll(_ value: ArraySlice<UInt8>) -> Bool {
    guard let index = number(of: value, among: "password no") else { return false }
    selfEnroll = index == 0 ? .password : .no
    return true
  }
}

extension Options.Door {
  fileprivate mutating func setRemote(_ value: ArraySlice<UInt8>) -> Bool {
    guard let index = number(of: value, among: "deny allow") else { return false }
    remote = index == 0 ? .deny : .allow
    return true
  }

  fileprivate mutating func setFirstLogin(_ value: ArraySlice<UInt8>) -> Bool {
    guard let index = number(of: value, among: "allow deny") else { return false }
    firstLogin = index == 0 ? .allow : .deny
    return true
  }

  fileprivate mutating func setFailDelay(_ value: ArraySlice<UInt8>) -> Bool {
    guard let seconds = duration(value), seconds <= 60 else { return false }
    failDelay = seconds
    return true
  }

  fileprivate mutating func setPrompt(_ value: ArraySlice<UInt8>) -> Bool {
    guard (1...80).contains(value.count) else { return false }
    prompt = Bytes(value)
    return true
  }
}

// MARK: - Values

private func number(_ text: ArraySlice<UInt8>, in range: ClosedRange<UInt64>) -> UInt64? {
  guard let value = decimal(text), range.contains(value) else { return nil }
  return value
}

/// Bytes in a text like `65536`, `64K`, `64M` or `1G`; nil for anything else and beyond 2^40.
private func size(_ text: ArraySlice<UInt8>) -> UInt64? {
  guard let last = text.last else { return nil }
  let shift: UInt64
  switch last {
  case UInt8(ascii: "K"): shift = 10
  case UInt8(ascii: "M"): shift = 20
  case UInt8(ascii: "G"): shift = 30
  default: shift = 0
  }
  guard let value = decimal(shift == 0 ? text : text.withoutLast()), value <= (1 << 40) >> shift else {
    return nil
  }
  return value << shift
}

/// An absolute path without `.`, `..` or empty components, of at most 1,023 bytes.
@inline(never)
private func setPath(_ place: inout Bytes, _ text: ArraySlice<UInt8>) -> Bool {
  guard isPlainPath(text) else { return false }
  place = Bytes(text)
  return true
}

/// An absolute path without `.`, `..` or empty components, of at most 1,023 bytes: the kind whose every
/// directory can be named and checked.
@inline(never)
public func isPlainPath(_ text: ArraySlice<UInt8>) -> Bool {
  guard text.first == UInt8(ascii: "/"), (2...1_023).contains(text.count) else { return false }
  return text[(text.startIndex + 1)...].allParts(between: UInt8(ascii: "/")) {
    !$0.isEmpty && !$0.spells(".") && !$0.spells("..")
  }
}

@inline(never)
private func setFlag(_ place: inout Bool, _ value: ArraySlice<UInt8>) -> Bool {
  guard let index = number(of: value, among: "yes no") else { return false }
  place = index == 0
  return true
}
