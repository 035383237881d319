/// The one table of options: what the parser accepts, what the manual pages and the sample file list.
///
/// A line is an option: its class (policy: in the file only; door: in the file or in a module line), its name and
/// default (to be told: `Options` holds those in force, and OptionTests compares them), and after a bar which values
/// there are. `Options.set`, below, says what each one sets.
private let table = """
  policy store=/var/lib/passcode|an absolute path
  policy key_file=/etc/passcode/key|an absolute path
  policy lengths=4,6|4, 6 or 4,6
  policy lockout=3:1m,5:5m,7:15m,9:1h,10:reset|FAILURES:DELAY,... rising; the last may be reset
  policy weak=refuse|refuse, warn or allow
  policy weak_list=none|an absolute path, or none
  policy opslimit=3|1 to 64
  policy memlimit=64M|8K to 1G
  policy max_parallel=auto|auto, or 1 to 64
  policy self_enroll=password|password or no
  policy second_factor=no|yes or no; alone: yes
  door remote=deny|deny or allow
  door first_login=allow|allow or deny
  door fail_delay=2s|0 to 60 seconds
  door prompt=Passcode:|1 to 80 bytes of text
  door either=no|yes or no; alone: yes
  door try_first_pass=no|yes or no; alone: yes
  door use_first_pass=no|yes or no; alone: yes
  door nullok=no|yes or no; alone: yes
  door quiet=no|yes or no; alone: yes
  door debug=no|yes or no; alone: yes
  """

/// A line of the table.
public struct OptionRow: Sendable {
  public enum Class: Equatable, Sendable {
    /// In the file only: the same for every door and for the helper.
    case policy
    /// In the file or, overriding it, in a module line.
    case door
  }

  /// Where it may be set.
  public let kind: Class
  public let name: Bytes
  /// The default as one would write it.
  public let standard: Bytes
  /// Which values there are, in a few words.
  public let values: Bytes
  /// Its name alone means yes.
  let isFlag: Bool

  /// Its line in the table, from 0.
  let number: UInt64

  /// The whole table, for those who describe it.
  public static func all() -> [OptionRow] {
    var rows: [OptionRow] = []
    while let row = OptionRow(number: UInt64(rows.count)) { rows.append(row) }
    return rows
  }

  /// The option of that name; nil: there is none.
  static func find(_ name: ArraySlice<UInt8>) -> OptionRow? {
    var number: UInt64 = 0
    while let row = OptionRow(number: number) {
      if name.elementsEqual(row.name) { return row }
      number += 1
    }
    return nil
  }

  @inline(never)
  private init?(number: UInt64) {
    var rest = Bytes(text: table)[...]
    for _ in 0..<number {
      guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
      rest = rest[(end + 1)...]
    }
    let line = rest.prefix { $0 != UInt8(ascii: "\n") }
    guard let blank = line.firstIndex(of: UInt8(ascii: " ")),
      let equals = line.firstIndex(of: UInt8(ascii: "=")),
      let bar = line.firstIndex(of: UInt8(ascii: "|"))
    else { return nil }
    self.number = number
    kind = line[..<blank].spells("policy") ? .policy : .door
    name = Bytes(line[(blank + 1)..<equals])
    standard = Bytes(line[(equals + 1)..<bar])
    values = Bytes(line[(bar + 1)...])
    isFlag = values.spells("yes or no; alone: yes")
  }
}

// MARK: - What each option sets

extension Options {
  /// Sets the option of that name; false where the value is not one of its values.
  mutating func set(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Bool {
    policy.set(name, value) ?? door.set(name, value) ?? false
  }
}

extension Options.Policy {
  /// nil: no such option here.
  fileprivate mutating func set(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Bool? {
    if name.spells("store") { return setPath(&store, value) }
    if name.spells("key_file") { return setPath(&keyFile, value) }
    if name.spells("lengths") { return setLengths(value) }
    if name.spells("lockout") { return setLockout(value) }
    if name.spells("weak") { return setWeak(value) }
    if name.spells("weak_list") { return setWeakList(value) }
    if name.spells("opslimit") { return setOperations(value) }
    if name.spells("memlimit") { return setMemory(value) }
    if name.spells("max_parallel") { return setMaxParallel(value) }
    if name.spells("self_enroll") { return setSelfEnroll(value) }
    if name.spells("second_factor") { return setFlag(&secondFactor, value) }
    return nil
  }

  private mutating func setLengths(_ value: ArraySlice<UInt8>) -> Bool {
    guard let index = choice(value, "4,6", "4", "6") else { return false }
    lengths = Options.Lengths(four: index != 2, six: index != 1)
    return true
  }

  private mutating func setLockout(_ value: ArraySlice<UInt8>) -> Bool {
    guard let schedule = Schedule(value) else { return false }
    lockout = schedule
    return true
  }

  private mutating func setWeak(_ value: ArraySlice<UInt8>) -> Bool {
    guard let index = choice(value, "refuse", "warn", "allow") else { return false }
    weak = index == 0 ? .refuse : index == 1 ? .warn : .allow
    return true
  }

  private mutating func setWeakList(_ value: ArraySlice<UInt8>) -> Bool {
    guard value.spells("none") else { return setPath(&weakList, value) }
    weakList = []
    return true
  }

  private mutating func setOperations(_ value: ArraySlice<UInt8>) -> Bool {
    guard let passes = number(value, in: Options.Cost.operationsRange) else { return false }
    cost = Options.Cost(operations: passes, memory: cost.memory)
    return true
  }

  private mutating func setMemory(_ value: ArraySlice<UInt8>) -> Bool {
    guard let memory = size(value), Options.Cost.memoryRange.contains(memory) else { return false }
    cost = Options.Cost(operations: cost.operations, memory: memory)
    return true
  }

  private mutating func setMaxParallel(_ value: ArraySlice<UInt8>) -> Bool {
    guard let slots = value.spells("auto") ? 0 : number(value, in: 1...UInt64(Options.Policy.mostParallel))
    else {
      return false
    }
    maxParallel = slots
    return true
  }

  private mutating func setSelfEnroll(_ value: ArraySlice<UInt8>) -> Bool {
    guard let index = choice(value, "password", "no") else { return false }
    selfEnroll = index == 0 ? .password : .no
    return true
  }
}

extension Options.Door {
  /// nil: no such option here.
  fileprivate mutating func set(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Bool? {
    if name.spells("remote") { return setRemote(value) }
    if name.spells("first_login") { return setFirstLogin(value) }
    if name.spells("fail_delay") { return setFailDelay(value) }
    if name.spells("prompt") { return setPrompt(value) }
    if name.spells("either") { return setFlag(&either, value) }
    if name.spells("try_first_pass") { return setFlag(&tryFirstPass, value) }
    if name.spells("use_first_pass") { return setFlag(&useFirstPass, value) }
    if name.spells("nullok") { return setFlag(&nullok, value) }
    if name.spells("quiet") { return setFlag(&quiet, value) }
    if name.spells("debug") { return setFlag(&debug, value) }
    return nil
  }

  private mutating func setRemote(_ value: ArraySlice<UInt8>) -> Bool {
    guard let index = choice(value, "deny", "allow") else { return false }
    remote = index == 0 ? .deny : .allow
    return true
  }

  private mutating func setFirstLogin(_ value: ArraySlice<UInt8>) -> Bool {
    guard let index = choice(value, "allow", "deny") else { return false }
    firstLogin = index == 0 ? .allow : .deny
    return true
  }

  private mutating func setFailDelay(_ value: ArraySlice<UInt8>) -> Bool {
    guard let seconds = duration(value), seconds <= 60 else { return false }
    failDelay = seconds
    return true
  }

  private mutating func setPrompt(_ value: ArraySlice<UInt8>) -> Bool {
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
  guard let value = decimal(shift == 0 ? text : text.dropLast()), value <= (1 << 40) >> shift else {
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
public func isPlainPath(_ text: ArraySlice<UInt8>) -> Bool {
  guard text.first == UInt8(ascii: "/"), (2...1_023).contains(text.count) else { return false }
  let parts = text.dropFirst().parts(between: UInt8(ascii: "/"))
  return parts.allSatisfy { !$0.isEmpty && !$0.spells(".") && !$0.spells("..") }
}

/// Which of the words it is; nil: none.
@inline(never)
private func choice(_ value: ArraySlice<UInt8>, _ first: String, _ second: String, _ third: String = "")
  -> Int?
{
  if value.isEmpty { return nil }
  if value.spells(first) { return 0 }
  if value.spells(second) { return 1 }
  return value.spells(third) ? 2 : nil
}

@inline(never)
private func setFlag(_ place: inout Bool, _ value: ArraySlice<UInt8>) -> Bool {
  guard let index = choice(value, "yes", "no") else { return false }
  place = index == 0
  return true
}
