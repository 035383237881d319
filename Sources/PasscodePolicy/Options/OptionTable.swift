/// The one table of options: what the parser accepts, what the manual pages and the sample file list.
public struct OptionRow: Sendable {
  /// Sets the option; false where the value is not one of its values.
  typealias Setter = @Sendable (inout Options, ArraySlice<UInt8>) -> Bool

  /// Policy is in the file only: the same for every service and for the helper. Other options may also be set in a module line,
  /// which overrides the file.
  public let isPolicy: Bool
  /// Whether the option's name alone means yes.
  let isFlag: Bool
  public let name: Literal
  /// Which values there are, in a few words.
  public let values: Pattern
  let set: Setter

  public static func all() -> [OptionRow] {
    [
      policy("store", "/var/lib/passcode", "an absolute path") { setPath(&$0.policy.store, $1) },
      policy("key_file", "/etc/passcode/key", "an absolute path") { setPath(&$0.policy.keyFile, $1) },
      policy("lengths", "4,6", "4, 6 or 4,6") { assign(&$0.policy.lengths, lengths($1)) },
      policy(
        "lockout", "3:1m,5:5m,7:15m,9:1h,10:reset", "FAILURES:DELAY,... rising; the last may be reset"
      ) { assign(&$0.policy.lockout, Schedule($1)) },
      policy("weak", "refuse", "refuse, warn or allow") { choose(&$0.policy.weak, $1, "refuse warn allow") },
      policy("weak_list", "none", "an absolute path, or none") { setPathOrNone(&$0.policy.weakList, $1) },
      policy("opslimit", "3", "1 to 64") {
        assign(&$0.policy.cost.operations, bounded(decimal($1), Options.Cost.operationsRange))
      },
      policy("memlimit", "64M", "8K to 1G") {
        assign(&$0.policy.cost.memory, bounded(size($1), Options.Cost.memoryRange))
      },
      policy("max_parallel", "auto", "auto, or 1 to 64") { assign(&$0.policy.maxParallel, slots($1)) },
      policy("self_enroll", "password", "password or no") {
        setFlag(&$0.policy.allowsSelfEnroll, $1, "password no")
      },
      flag(isPolicy: true, "second_factor") { setFlag(&$0.policy.secondFactor, $1) },
      policy("password_every", "never", "1h to 30d, or never", set: setPasswordEvery),
      policy("verifier", "none", "an absolute path of at most 107 bytes, or none", set: setVerifier),
      policy("verifier_uids", "1000-", "1 to 16 ranges of uids, such as 1000-59999,70000; never 0") {
        assign(&$0.policy.verifierUIDs, UserRanges($1))
      },
      door("remote", "deny", "deny or allow") { setFlag(&$0.door.allowsRemote, $1, "allow deny") },
      door("first_login", "allow", "allow or deny") { setFlag(&$0.door.allowsFirstLogin, $1, "allow deny") },
      door("fail_delay", "2s", "0 to 60 seconds") {
        assign(&$0.door.failDelay, bounded(duration($1), 0...60))
      },
      door("prompt", "Passcode:", "1 to 80 bytes of text") {
        assign(&$0.door.prompt, 1...80 ~= $1.count ? Bytes($1) : nil)
      },
      flag("either") { setFlag(&$0.door.either, $1) },
      flag("finger", yesNoOrBoth, set: setFinger),
      door("finger_for", "always", "1h to 30d, or always") { assign(&$0.door.fingerFor, days($1, "always")) },
      flag("try_first_pass") { setFlag(&$0.door.tryFirstPass, $1) },
      flag("use_first_pass") { setFlag(&$0.door.useFirstPass, $1) },
      flag("nullok") { setFlag(&$0.door.nullok, $1) },
      flag("quiet") { setFlag(&$0.door.quiet, $1) },
      flag("debug") { setFlag(&$0.door.debug, $1) },
    ]
  }

  /// The index of an option's row.
  @inline(never)
  static func index(of name: ArraySlice<UInt8>, in rows: [OptionRow]) -> Int? {
    for index in rows.indices where name.spells(rows[index].name) { return index }
    return nil
  }

  /// - Parameter standard: the default as one would write it, for readers of the table: `Options` holds the one in force.
  ///   The sample file has the same text (test_documents.py), and is parsed to compare them (OptionTests).
  private static func policy(
    _ name: Literal, _ standard: Literal, _ values: Pattern, set: @escaping Setter
  ) -> OptionRow {
    OptionRow(isPolicy: true, isFlag: false, name: name, values: values, set: set)
  }

  private static func door(
    _ name: Literal, _ standard: Literal, _ values: Pattern, set: @escaping Setter
  ) -> OptionRow {
    OptionRow(isPolicy: false, isFlag: false, name: name, values: values, set: set)
  }

  private static var yesOrNo: Pattern { "yes or no; the name alone means yes" }
  private static var yesNoOrBoth: Pattern { "yes, no or both" }

  private static func flag(
    isPolicy: Bool = false, _ name: Literal, _ values: Pattern = yesOrNo,
    set: @escaping Setter
  ) -> OptionRow {
    OptionRow(isPolicy: isPolicy, isFlag: true, name: name, values: values, set: set)
  }
}

// MARK: - Values; nil: the text is none

/// Sets an option to a value, if there is one.
private func assign<Value>(_ place: inout Value, _ value: Value?) -> Bool {
  guard let value else { return false }
  place = value
  return true
}

/// Sets an option to the case whose raw value is the word's index.
private func choose<Choice: RawRepresentable<Int>>(
  _ place: inout Choice, _ word: ArraySlice<UInt8>, _ words: Literal
) -> Bool {
  assign(&place, number(of: word, among: words).flatMap { Choice(rawValue: $0) })
}

/// - Parameter words: for true and for false.
@inline(never)
private func setFlag(_ place: inout Bool, _ word: ArraySlice<UInt8>, _ words: Literal = "yes no") -> Bool {
  assign(&place, number(of: word, among: words).map { $0 == 0 })
}

/// `both` is policy: no module line has it, and none takes it back (`OptionParser.take`).
@Sendable private func setFinger(_ options: inout Options, _ word: ArraySlice<UInt8>) -> Bool {
  guard let number = number(of: word, among: "yes no both") else { return false }
  options.door.finger = number != 1
  if number == 2 { options.policy.needsFinger = true }
  return true
}

private func lengths(_ text: ArraySlice<UInt8>) -> Options.Lengths? {
  number(of: text, among: "4,6 4 6").map { Options.Lengths(four: $0 != 2, six: $0 != 1) }
}

private func bounded(_ number: UInt64?, _ range: ClosedRange<UInt64>) -> UInt64? {
  guard let number, range.contains(number) else { return nil }
  return number
}

@Sendable private func setPasswordEvery(_ options: inout Options, _ text: ArraySlice<UInt8>) -> Bool {
  assign(&options.policy.passwordEvery, days(text, "never"))
}

/// Seconds, an hour to 30 days; 0 where the word is this one.
@inline(never)
private func days(_ text: ArraySlice<UInt8>, _ word: Literal) -> UInt64? {
  text.spells(word) ? 0 : bounded(duration(text), Options.Policy.passwordEveryRange)
}

@Sendable private func setVerifier(_ options: inout Options, _ text: ArraySlice<UInt8>) -> Bool {
  text.count <= Options.Policy.longestSocketPath && setPathOrNone(&options.policy.verifier, text)
}

private func slots(_ text: ArraySlice<UInt8>) -> UInt64? {
  text.spells("auto") ? 0 : bounded(decimal(text), 1...UInt64(Options.Policy.mostParallel))
}

/// Bytes in a text like `65536`, `64K`, `64M` or `1G`; nil for anything else and beyond 2^40.
private func size(_ text: ArraySlice<UInt8>) -> UInt64? {
  guard let (value, unit) = quantity(text, "K M G") else { return nil }
  let shift = UInt64(unit.map { ($0 + 1) * 10 } ?? 0)
  return value <= (1 << 40) >> shift ? value << shift : nil
}

@inline(never)
private func setPath(_ place: inout Bytes, _ text: ArraySlice<UInt8>) -> Bool {
  assign(&place, isPlainPath(text) ? Bytes(text) : nil)
}

@inline(never)
private func setPathOrNone(_ place: inout Bytes, _ text: ArraySlice<UInt8>) -> Bool {
  text.spells("none") ? assign(&place, []) : setPath(&place, text)
}

/// An absolute path of at most 1,023 bytes whose every directory can be checked: no `.`, `..` or empty components.
@inline(never)
public func isPlainPath(_ text: ArraySlice<UInt8>) -> Bool {
  guard text.first == UInt8(ascii: "/"), (2...1_023).contains(text.count) else { return false }
  return text[(text.startIndex + 1)...].allParts(between: UInt8(ascii: "/")) {
    !$0.isEmpty && !$0.spells(".") && !$0.spells("..")
  }
}
