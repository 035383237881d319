/// The one table of options: what the parser accepts, what the manual page and the sample file list.
public struct OptionRow: Sendable {
  public enum Class: Equatable, Sendable {
    /// In the file only.
    case policy
    /// In the file or in a module line.
    case door
  }

  public let name: String
  public let kind: Class
  /// The default as one would write it; empty for a flag that is off.
  public let standard: String
  /// Which values there are, in a few words.
  public let values: String
  let isFlag: Bool
  /// Sets the option; false where the value is not one of `values`.
  let apply: @Sendable (inout Options, ArraySlice<UInt8>) -> Bool
}

extension OptionRow {
  /// A function and not a constant: it is walked once a call, and needs no initialiser at load.
  public static func table() -> [OptionRow] {
    policyRows() + doorRows()
  }

  private static func policyRows() -> [OptionRow] {
    [
      // The directory of the records.
      OptionRow(.policy, "store", "/var/lib/passcode", "an absolute path") { setPath(&$0.policy.store, $1) },
      // The machine key.
      OptionRow(.policy, "key_file", "/etc/passcode/key", "an absolute path") {
        setPath(&$0.policy.keyFile, $1)
      },
      // Digits that a new passcode may have.
      OptionRow(.policy, "lengths", "4,6", "4, 6 or 4,6") { assign(&$0.policy.lengths, Options.Lengths($1)) },
      // The delay that follows so many failures in a row.
      OptionRow(
        .policy, "lockout", "3:1m,5:5m,7:15m,9:1h,10:reset",
        "FAILURES:DELAY,... rising; the last may be reset"
      ) { assign(&$0.policy.lockout, Schedule($1)) },
      // What happens to a weak choice.
      OptionRow(.policy, "weak", "refuse", "refuse, warn or allow") {
        assign(&$0.policy.weak, Options.Weak($1))
      },
      // The administrator's own list of weak codes.
      OptionRow(.policy, "weak_list", "none", "an absolute path, or none") {
        if $1.spells("none") {
          $0.policy.weakList = []
          return true
        }
        return setPath(&$0.policy.weakList, $1)
      },
      // Argon2id passes for a new passcode.
      OptionRow(.policy, "opslimit", "3", "1 to 64") { options, text in
        guard let passes = number(text, in: Options.Cost.operationsRange) else { return false }
        options.policy.cost = Options.Cost(operations: passes, memory: options.policy.cost.memory)
        return true
      },
      // Argon2id memory for a new passcode.
      OptionRow(.policy, "memlimit", "64M", "8K to 1G") { options, text in
        guard let memory = size(text), Options.Cost.memoryRange.contains(memory) else { return false }
        options.policy.cost = Options.Cost(operations: options.policy.cost.operations, memory: memory)
        return true
      },
      // How many passcodes are hashed at once on this machine.
      OptionRow(.policy, "max_parallel", "auto", "auto, or 1 to 64") {
        assign(&$0.policy.maxParallel, $1.spells("auto") ? 0 : number($1, in: 1...64))
      },
      // Whether people set, remove and unlock their own by their password.
      OptionRow(.policy, "self_enroll", "password", "password or no") {
        assign(&$0.policy.selfEnroll, isSecond($1, "password", "no").map { $0 ? .no : .password })
      },
    ]
  }

  private static func doorRows() -> [OptionRow] {
    [
      // Whether a login from another machine may use the passcode.
      OptionRow(.door, "remote", "deny", "deny or allow") {
        assign(&$0.door.remote, isSecond($1, "deny", "allow").map { $0 ? .allow : .deny })
      },
      // Whether the passcode works before another login since the machine started.
      OptionRow(.door, "first_login", "allow", "allow or deny") {
        assign(&$0.door.firstLogin, isSecond($1, "allow", "deny").map { $0 ? .deny : .allow })
      },
      // How long PAM waits after a wrong passcode.
      OptionRow(.door, "fail_delay", "2s", "0 to 60 seconds") { options, text in
        guard let seconds = duration(text), seconds <= 60 else { return false }
        options.door.failDelay = seconds
        return true
      },
      // What is asked; a space follows it.
      OptionRow(.door, "prompt", "Passcode:", "1 to 80 bytes of text") { options, text in
        guard (1...80).contains(text.count) else { return false }
        options.door.prompt = Bytes(text)
        return true
      },
      // One field for both: what is no passcode is left to the next module as the password.
      OptionRow(flag: "either") { assign(&$0.door.either, flag($1)) },
      // Takes what an earlier module asked for, if it is a passcode; else asks.
      OptionRow(flag: "try_first_pass") { assign(&$0.door.tryFirstPass, flag($1)) },
      // Takes what an earlier module asked for; never asks.
      OptionRow(flag: "use_first_pass") { assign(&$0.door.useFirstPass, flag($1)) },
      // Somebody without a passcode: ignore the module.
      OptionRow(flag: "nullok") {
        assign(&$0.door.nullok, flag($1))
      },
      // No messages besides the prompt.
      OptionRow(flag: "quiet") { assign(&$0.door.quiet, flag($1)) },
      // Log each step.
      OptionRow(flag: "debug") { assign(&$0.door.debug, flag($1)) },
    ]
  }

  private init(
    _ kind: Class, _ name: String, _ standard: String, _ values: String,
    _ apply: @escaping @Sendable (inout Options, ArraySlice<UInt8>) -> Bool
  ) {
    self.name = name
    self.kind = kind
    self.standard = standard
    self.values = values
    self.isFlag = false
    self.apply = apply
  }

  private init(
    flag name: String,
    _ apply: @escaping @Sendable (inout Options, ArraySlice<UInt8>) -> Bool
  ) {
    self.name = name
    self.kind = .door
    self.standard = "no"
    self.values = "yes or no; alone: yes"
    self.isFlag = true
    self.apply = apply
  }
}

// MARK: - Values

private func assign<Value>(_ place: inout Value, _ value: Value?) -> Bool {
  guard let value else { return false }
  place = value
  return true
}

private func flag(_ text: ArraySlice<UInt8>) -> Bool? {
  if text.spells("yes") { return true }
  return text.spells("no") ? false : nil
}

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
  guard let value = decimal(shift == 0 ? text : text.dropLast()), value <= (1 << 40) >> shift else {
    return nil
  }
  return value << shift
}

/// An absolute path without `.`, `..` or empty components, of at most 1,023 bytes.
private func setPath(_ place: inout Bytes, _ text: ArraySlice<UInt8>) -> Bool {
  guard isPlainPath(text) else { return false }
  place = Bytes(text)
  return true
}

/// An absolute path without `.`, `..` or empty components, of at most 1,023 bytes: the kind whose every
/// directory can be named and checked.
public func isPlainPath(_ text: ArraySlice<UInt8>) -> Bool {
  guard text.first == UInt8(ascii: "/"), (2...1_023).contains(text.count) else { return false }
  let parts = text.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
  return parts.allSatisfy { !$0.isEmpty && !$0.spells(".") && !$0.spells("..") }
}

extension Options.Lengths {
  fileprivate init?(_ text: ArraySlice<UInt8>) {
    if text.spells("4,6") {
      self.init(four: true, six: true)
    } else if text.spells("4") {
      self.init(four: true, six: false)
    } else if text.spells("6") {
      self.init(four: false, six: true)
    } else {
      return nil
    }
  }
}

extension Options.Weak {
  fileprivate init?(_ text: ArraySlice<UInt8>) {
    if text.spells("refuse") {
      self = .refuse
    } else if text.spells("warn") {
      self = .warn
    } else if text.spells("allow") {
      self = .allow
    } else {
      return nil
    }
  }
}

/// Whether the text is the second of two words; nil where it is neither.
@inline(never)
private func isSecond(_ text: ArraySlice<UInt8>, _ first: String, _ second: String) -> Bool? {
  if text.spells(second) { return true }
  return text.spells(first) ? false : nil
}
