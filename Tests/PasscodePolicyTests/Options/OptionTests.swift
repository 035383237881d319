import Foundation
import Testing

@testable import PasscodePolicy

/// One line that moves one option from its default, and the options it must make.
struct Flip: Sendable, CustomTestStringConvertible {
  let line: String
  let expected: Options

  init(_ line: String, _ change: (inout Options) -> Void) {
    self.line = line
    var options = Options()
    change(&options)
    expected = options
  }

  var name: String { String(line.prefix { $0 != "=" }) }
  var testDescription: String { line }

  static let all = [
    Flip("store=/srv/records") { $0.policy.store = Bytes(text: "/srv/records") },
    Flip("key_file=/run/key") { $0.policy.keyFile = Bytes(text: "/run/key") },
    Flip("lengths=4") { $0.policy.lengths = .init(four: true, six: false) },
    Flip("lengths=6") { $0.policy.lengths = .init(four: false, six: true) },
    Flip("lockout=3:1m") { $0.policy.lockout = Schedule(slice("3:1m")) ?? .standard },
    Flip("opslimit=1") { $0.policy.cost = .init(operations: 1, memory: 64 << 20) },
    Flip("opslimit=64") { $0.policy.cost = .init(operations: 64, memory: 64 << 20) },
    Flip("memlimit=8K") { $0.policy.cost = .init(operations: 3, memory: 8_192) },
    Flip("memlimit=8192") { $0.policy.cost = .init(operations: 3, memory: 8_192) },
    Flip("memlimit=1G") { $0.policy.cost = .init(operations: 3, memory: 1 << 30) },
    Flip("weak=warn") { $0.policy.weak = .warn },
    Flip("weak=allow") { $0.policy.weak = .allow },
    Flip("weak_list=/etc/weak") { $0.policy.weakList = Bytes(text: "/etc/weak") },
    Flip("max_parallel=1") { $0.policy.maxParallel = 1 },
    Flip("max_parallel=64") { $0.policy.maxParallel = 64 },
    Flip("either") { $0.door.either = true },
    Flip("finger") { $0.door.finger = true },
    Flip("finger=both") {
      $0.door.finger = true
      $0.policy.needsFinger = true
    },
    Flip("finger_for=1h") { $0.door.fingerFor = 3_600 },
    Flip("finger_for=30d") { $0.door.fingerFor = 30 * 86_400 },
    Flip("try_first_pass") { $0.door.tryFirstPass = true },
    Flip("use_first_pass") { $0.door.useFirstPass = true },
    Flip("second_factor") { $0.policy.secondFactor = true },
    Flip("password_every=1h") { $0.policy.passwordEvery = 3_600 },
    Flip("password_every=30d") { $0.policy.passwordEvery = 30 * 86_400 },
    Flip("verifier=/run/v.sock") { $0.policy.verifier = Bytes(text: "/run/v.sock") },
    Flip("verifier_uids=1-") { $0.policy.verifierUIDs = UserRanges(slice("1-")) ?? .people },
    Flip("self_enroll=no") { $0.policy.allowsSelfEnroll = false },
    Flip("first_login=deny") { $0.door.allowsFirstLogin = false },
    Flip("remote=allow") { $0.door.allowsRemote = true },
    Flip("fail_delay=0") { $0.door.failDelay = 0 },
    Flip("fail_delay=1m") { $0.door.failDelay = 60 },
    Flip("prompt=PIN, please:") { $0.door.prompt = Bytes(text: "PIN, please:") },
    Flip("prompt=a=b") { $0.door.prompt = Bytes(text: "a=b") },
    Flip("nullok") { $0.door.nullok = true },
    Flip("quiet") { $0.door.quiet = true },
    Flip("debug") { $0.door.debug = true },
    Flip("debug=yes") { $0.door.debug = true },
  ]
}

struct OptionTests {
  private func parsed(_ file: String) throws(Fault) -> Options {
    var parser = OptionParser()
    try parser.take(file: slice(file), path: Bytes(text: "/etc/passcode.conf"))
    return parser.options
  }

  private func parsed(arguments: [String]) throws(Fault) -> Options {
    var parser = OptionParser()
    try parser.take(arguments: arguments.map { Bytes(text: $0) })
    return parser.options
  }

  private func complaint(_ file: String) -> String? {
    do {
      _ = try parsed(file)
      return nil
    } catch {
      return sentence(error)
    }
  }

  private func complaint(arguments: [String]) -> String? {
    do {
      _ = try parsed(arguments: arguments)
      return nil
    } catch {
      return sentence(error)
    }
  }

  @Test(arguments: Flip.all)
  func `each option is flipped from its default by one line`(flip: Flip) throws {
    #expect(flip.expected != Options())
    #expect(try parsed(flip.line) == flip.expected)
  }

  @Test(arguments: Flip.all)
  func `a module line takes door options and refuses policy`(flip: Flip) throws {
    let row = try #require(OptionRow.all().first { text($0.name) == flip.name })
    if !row.isPolicy, !flip.expected.policy.needsFinger {
      #expect(try parsed(arguments: [flip.line]) == flip.expected)
    } else {
      #expect(
        complaint(arguments: [flip.line])
          == "module line: \"\(flip.line)\" belongs in the configuration file")
    }
  }

  @Test func `every option of the table is flipped here`() {
    #expect(Set(Flip.all.map(\.name)) == Set(OptionRow.all().map { text($0.name) }))
    #expect(OptionRow.all().count == Set(OptionRow.all().map { text($0.name) }).count)
  }

  @Test func `the sample file's defaults are the defaults`() throws {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "../../../Sources/system/passcode.conf")
    let options = try String(contentsOf: path, encoding: .utf8)
      .matches(of: /(?m)^#(\w+=.*)$/).map { String($0.1) }
    #expect(Set(options.map { $0.prefix { $0 != "=" } }).count == OptionRow.all().count)
    #expect(try parsed(options.joined(separator: "\n")) == Options())
  }

  @Test(arguments: [
    "store=", "store", "store=records", "store=/", "store=/a/", "store=/a//b", "store=/a/../b",
    "store=/a/./b",
    "key_file=", "key_file=key", "key_file=/..",
    "lengths=", "lengths=5", "lengths=6,4", "lengths=4,", "lengths=4,4", "lengths=four",
    "lockout=", "lockout=no", "lockout=0:1m", "lockout=3:1m,2:5m",
    "opslimit=", "opslimit=0", "opslimit=65", "opslimit=3x", "opslimit=-1", "opslimit=03",
    "memlimit=", "memlimit=8191", "memlimit=7K", "memlimit=2G", "memlimit=1073741825", "memlimit=64MB",
    "memlimit=64m", "memlimit=M", "memlimit=9999999999999999999G", "memlimit=18446744073709551615",
    "remote=", "remote", "remote=yes", "remote=Allow", "remote=allow deny",
    "password_every=", "password_every=59m", "password_every=31d", "password_every=always",
    "finger_for=", "finger_for=59m", "finger_for=31d", "finger_for=never",
    "fail_delay=", "fail_delay=61", "fail_delay=2m", "fail_delay=-1", "fail_delay=soon",
    "prompt=", "prompt",
    "verifier=", "verifier=1000", "verifier=None", "verifier=run/v.sock", "verifier=/run/../v.sock",
    "verifier=/run/",
    "verifier_uids=", "verifier_uids=0", "verifier_uids=0-5", "verifier_uids=0-", "verifier_uids=-",
    "verifier_uids=-5", "verifier_uids=5-4", "verifier_uids=5--6", "verifier_uids=5-6-7", "verifier_uids=5,",
    "verifier_uids=,5", "verifier_uids=5,0", "verifier_uids=05", "verifier_uids=4294967295",
    "verifier_uids=1-4294967295", "verifier_uids=none", "verifier_uids=1000 2000",
    "nullok=", "nullok=1", "nullok=true", "nullok=Yes", "quiet=on", "debug=2",
  ])
  func `a bad value says what is wanted, with file and line`(line: String) throws {
    let name = String(line.prefix { $0 != "=" })
    let row = try #require(OptionRow.all().first { text($0.name) == name })
    #expect(
      complaint("# a comment\n\n\(line)\n") == "/etc/passcode.conf:3: \"\(name)\" needs \(text(row.values))")
  }

  @Test(arguments: Flip.all.filter { $0.name != "prompt" })
  func `a bad value leaves the option as it was`(flip: Flip) {
    var parser = OptionParser(flip.expected)
    #expect(throws: Fault.self) { try parser.take(file: slice("\(flip.name)=¤"), path: []) }
    #expect(parser.options == flip.expected)
  }

  @Test(arguments: [
    "colour=red", "Store=/a", "stor=/a", "stores=/a", "conf=/a", "nullOK", "no", "use_first_pas", "=x", "=",
  ])
  func `an unknown option is an error in both places`(line: String) {
    let name = String(line.prefix { $0 != "=" })
    #expect(complaint(line) == "/etc/passcode.conf:1: unknown option \"\(name)\"")
    #expect(complaint(arguments: [line]) == "module line: unknown option \"\(line)\"")
  }

  @Test func `an option given twice in one place is an error`() {
    #expect(complaint("debug\nquiet\ndebug=no") == "/etc/passcode.conf:3: \"debug\" is given twice")
    #expect(complaint(arguments: ["debug", "debug"]) == "module line: \"debug\" is given twice")
  }

  @Test func `a module line overrides the file`() throws {
    var parser = OptionParser()
    try parser.take(file: slice("debug\nfail_delay=5\nlengths=4"), path: [])
    try parser.take(arguments: [Bytes(text: "debug=no"), Bytes(text: "fail_delay=0")])
    var expected = Options()
    expected.door.failDelay = 0
    expected.policy.lengths = .init(four: true, six: false)
    #expect(parser.options == expected)
  }

  @Test func `passcode and finger together stay wanted whatever a module line says`() throws {
    for line in ["finger", "finger=yes", "finger=no"] {
      var parser = OptionParser()
      try parser.take(file: slice("finger=both"), path: [])
      try parser.take(arguments: [Bytes(text: line)])
      #expect(parser.options.policy.needsFinger && parser.options.door.finger == (line != "finger=no"))
    }
    for other in ["second_factor", "verifier=/run/v.sock"] {
      #expect(complaint("finger=both\n\(other)")?.contains("finger=both works neither with") == true)
      #expect(complaint("\(other)\nfinger=both") == complaint("finger=both\n\(other)"))
    }
  }

  @Test(arguments: [
    "", "\n\n\n", "# debug", "  \t\n\t# quiet\n#\u{1}\u{7f}", "#" + String(repeating: "x", count: 5_000),
  ])
  func `blank lines and comments say nothing`(file: String) throws {
    #expect(try parsed(file) == Options())
  }

  @Test(arguments: ["debug\n", "debug", " debug ", "\tdebug=yes\t", "debug = yes", "#\ndebug\n\n"])
  func `blanks around a line and its first equals sign don't count`(file: String) throws {
    #expect(try parsed(file).door.debug)
  }

  @Test(arguments: [
    "debug\r\n", "debug\u{0}", "prompt=a\u{1b}[2J", "prompt=a\u{7f}b", "de\u{1}bug", "debug\u{b}",
  ])
  func `a control character is an error`(file: String) {
    #expect(
      complaint(file)?.hasPrefix("/etc/passcode.conf:1: too long, or with control characters: \"")
        == true)
    #expect(complaint(file)?.utf8.allSatisfy { (0x20...0x7e).contains($0) } == true)
  }

  @Test func `the longest line is taken and a longer one refused`() throws {
    // 1,200 bytes of one line: fifty thousand blanks around it change nothing.
    let longest = "prompt=" + String(repeating: " ", count: 1_113) + String(repeating: "x", count: 80)
    #expect(longest.utf8.count == OptionParser.longestLine)
    let blanks = String(repeating: " ", count: 25_000)
    #expect(try parsed(blanks + longest + blanks).door.prompt.count == 80)
    #expect(
      complaint(longest + "x")
        == "/etc/passcode.conf:1: too long, or with control characters: \"prompt\"")
    #expect(complaint("prompt=" + String(repeating: "x", count: 81)) != nil)
  }

  @Test func `the longest path and the longest schedule fit a line`() throws {
    let path = "/" + String(repeating: "x", count: 1_022)
    #expect(try parsed("key_file=\(path)").policy.keyFile.count == 1_023)
    #expect(complaint("store=\(path)x") == "/etc/passcode.conf:1: \"store\" needs an absolute path")
    let steps = (985...1_000).map { "\($0):\(2_591_000 + $0)" }.joined(separator: ",")
    #expect(try parsed("lockout=\(steps)").policy.lockout.steps.count == 16)
  }

  @Test func `a file of 64 KiB is read and a larger one refused`() throws {
    let full = String(repeating: "#", count: OptionParser.largestFile)
    #expect(try parsed(full) == Options())
    #expect(complaint(full + "#") == "/etc/passcode.conf:1: the file is larger than 64 KiB")
  }

  @Test(arguments: [
    ("first-login=deny", "first-login"), ("use-first-pass", "use-first-pass"), ("sha512=yes", "sha512"),
    ("a-name-of-20-letters=x", "a-name-of-20-letters"), ("a-name-of-more-letters=x", "a"), ("-x=1", ""),
    ("a\"b\\c=1", "a"), ("é", ""), ("root:$y$j9T$abc:20000::::::", "root"), ("no_such option", "no_such"),
    ("www-data:*:20000::::::", "www"), ("9f2e51a0", ""), ("f9e251a0", "f"), ("hunter22", "hunter"),
    ("aB3dEfGh1jKlMnOpQrStUvWxYz0123456789abcdefg=", "aB"), ("{\u{7f}a", ""), ("@`[", ""),
  ])
  func `an error tells the first word and no more`(line: String, word: String) {
    #expect(complaint(line)?.hasPrefix("/etc/passcode.conf:1: ") == true)
    #expect(complaint(line)?.hasSuffix("\"\(word)\"") == true)
  }
}

struct ModuleLineTests {
  private func line(_ arguments: String...) throws(Fault) -> ModuleLine {
    try ModuleLine(arguments.map { Bytes(text: $0) })
  }

  @Test func `conf= names the file and the rest are options`() throws {
    let line = try line("nullok", "conf=/etc/other.conf", "prompt=PIN:")
    #expect(line.configuration == Bytes(text: "/etc/other.conf"))
    #expect(line.options == [Bytes(text: "nullok"), Bytes(text: "prompt=PIN:")])
  }

  @Test func `without conf= there is none`() throws {
    #expect(try line("nullok").configuration == nil)
    #expect(try line() == ModuleLine([]))
  }

  @Test(arguments: [
    "conf=", "conf=passcode.conf", "conf=/", "conf=/etc/../passcode.conf", "conf=/etc//x", "conf=/etc/",
  ])
  func `conf= needs an absolute path`(argument: String) {
    let error = #expect(throws: Fault.self) { try line(argument) }
    #expect(error.map { sentence($0) } == "module line: \"\(argument)\" needs an absolute path")
  }

  @Test func `conf= is given once`() {
    let error = #expect(throws: Fault.self) { try line("conf=/a", "conf=/a") }
    #expect(error.map { sentence($0) } == "module line: \"conf\" is given twice")
  }

  @Test func `every fault of a file is named, and the first one is thrown`() {
    let file = Bytes(text: "frob=1\nweak=warn\n# x=\nopslimit=0\nweak=allow\nprompt\n")
    let faults = OptionParser.faults(file[...], path: Bytes(text: "/c"))
    #expect(faults.map(\.number) == [1, 4, 5, 6])
    #expect(faults.map(\.reason) == [.unknownOption, .badValue, .optionTwice, .badValue])
    var parser = OptionParser()
    #expect(throws: faults[0]) { try parser.take(file: file[...], path: Bytes(text: "/c")) }
    #expect(OptionParser.faults(Bytes(text: "weak=warn\n")[...], path: []) == [])
    let large = Bytes(repeating: 0x23, count: OptionParser.largestFile + 1)
    #expect(OptionParser.faults(large[...], path: []).map(\.reason) == [.fileTooLarge])
  }
}
