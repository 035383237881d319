import Foundation
import PasscodeSystem
import Testing

@testable import PasscodeAdmin
@testable import PasscodePolicy
@testable import PasscodeVault

/// A vault in a folder of its own, with clocks that the test moves, and one account with the passcode 0471.
final class TestBed {
  static let right = "0471"
  static let wrong = ["1593", "2604", "3715", "4826", "5937", "6048", "7159", "8260", "9371", "0482"]

  let folder: URL
  let account: Account
  var boot = BootID(high: 1, low: 2)
  /// Milliseconds since that boot.
  var now: UInt64 = 1_000_000
  /// Seconds since 1970.
  var wall: UInt64 = 1_767_225_600
  /// Where people type.
  var service = "sudo"
  /// Asks for a second factor.
  var isSecondFactor = false
  var weak = Options.Weak.refuse
  var lengths = Options.Lengths(four: true, six: true)
  /// 0: `auto`.
  var maxParallel: UInt64 = 0
  var cost = Options.Cost(operations: 1, memory: 8_192)
  /// The kernel tells no time.
  var clockFails = false
  /// What others do while this one sleeps.
  var meanwhile: () -> Void = {}
  private(set) var logged: [String] = []

  private let sodium: Sodium
  private let access: Access
  private let lockout: Schedule

  init(lockout: String = "3:1m,5:5m,7:15m,9:1h,10:reset", enrolled: Bool = true) throws {
    var template = Array("/tmp/passcode-unit-XXXXXX".utf8CString)
    try #require(unsafe mkdtemp(&template) != nil)
    folder = URL(
      fileURLWithPath: String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
    let process = ProcessIdentity.current()
    access = try Access.of(process, ownConfiguration: true)
    // Root has no passcode here that could be meant; another person only reaches the own one.
    account =
      process.real == 0
      ? Account(uid: 4_000_000_000, gid: 4_000_000_000, name: Bytes(text: "tester"))
      : try TestBed.own(process.real)
    sodium = try #require(Sodium())
    self.lockout = try #require(Schedule(Bytes(text: lockout)[...]))
    try vault.createKey()
    if enrolled { try enroll(TestBed.right) }
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
  }

  private static func own(_ uid: UInt32) throws -> Account {
    guard case .found(let account) = Account.numbered(uid) else { throw POSIXError(.ENOENT) }
    return account
  }

  var vault: Vault {
    var options = Options()
    options.policy.store = Bytes(text: folder.path + "/store")
    options.policy.keyFile = Bytes(text: folder.path + "/key")
    options.policy.cost = cost
    options.policy.maxParallel = maxParallel
    options.policy.lockout = lockout
    options.policy.weak = weak
    options.policy.lengths = lengths
    let clock = ClosureClock(
      now: { [unowned self] () throws(Fault) in
        if clockFails { throw Fault(.noBootClock) }
        return Instant(boot: boot, milliseconds: now)
      },
      wall: { [unowned self] in wall },
      milliseconds: { [unowned self] in clockFails ? nil : now },
      sleep: { [unowned self] in
        now += UInt64($0)
        meanwhile()
      })
    let configuration = Configuration(options: options, access: access, isSecondFactor: isSecondFactor)
    return Vault(configuration, sodium, clock: clock) { [unowned self] in
      logged.append(String(decoding: $0.logLine, as: UTF8.self))
    }
  }

  // MARK: What people do

  /// - Parameter old: what it replaces, if that was typed.
  func enroll(
    _ code: String, old: String = "", by authority: Authority = .direct, on terms: NewTerms = NewTerms()
  ) throws {
    var secrets = try secrets()
    if secrets.line.take(Bytes(text: old)) { _ = secrets.change.old.passcode.take(secrets.line) }
    try enroll(code, by: authority, on: terms, &secrets)
  }

  // Of a variable Swift 6.2 lends no two parts at once.
  private func enroll(
    _ code: String, by authority: Authority, on terms: NewTerms, _ secrets: inout Secrets
  ) throws {
    let isTaken = secrets.line.take(Bytes(text: code))
    let answer = secrets.change.new.passcode.take(secrets.line)
    #expect(isTaken && answer == .passcode)
    try vault.enroll(account, secrets.change, &secrets.unsealed, by: authority, on: terms)
  }

  /// Comes to the passcode in the way that the words say; root is whoever reaches the store directly.
  func come(_ way: String) throws {
    let proof = try #require(vault.proof(.direct))
    let isRemoved = way.hasPrefix("removed")
    if isRemoved { try enroll("8264") }
    if isRemoved { _ = try vault.remove(account, by: .password) }
    try enroll(TestBed.right, by: way.hasPrefix("password") || isRemoved ? .password : .direct)
    if way.contains("unlocked by") {
      try fail(1)
      _ = try vault.unlock(account, by: way.contains("by password") ? .password : .direct)
    }
    if way.contains("changed") { try enroll(TestBed.right, by: .passcode(try mark())) }
    if way.contains("then enrolled") { try enroll(TestBed.right) }
    if way == "before" { try change { ($0.enrolledBy, $0.unlockedBy) = (.unknown, .unknown) } }
    // A person's own store has no root: what is direct there stands for it here.
    if proof != .root {
      try change { record in
        if record.enrolledBy == proof && way != "before" { record.enrolledBy = .root }
        if record.unlockedBy == proof && way != "before" { record.unlockedBy = .root }
      }
    }
  }

  /// Rewrites the record, as nobody's act.
  func change(_ change: (inout Record) -> Void) throws {
    let store = try Store.open(vault.configuration)
    guard case .locked(var record) = try LockedRecord.acquire(store, account.uid, .none) else {
      throw POSIXError(.EBUSY)
    }
    var changed = record.current
    change(&changed)
    try record.write(changed)
  }

  /// The record's lock, as another process holds it; it goes with this handle.
  func hold() throws -> FileHandle {
    let handle = try FileHandle(forUpdating: recordFile)
    #expect(flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
    return handle
  }

  func attempt(_ code: String, _ purpose: Purpose = .login) throws -> Verdict {
    var secrets = try secrets()
    return try attempt(code, purpose, &secrets)
  }

  private func attempt(_ code: String, _ purpose: Purpose, _ secrets: inout Secrets) throws -> Verdict {
    let isTaken = secrets.line.take(Bytes(text: code))
    let answer = secrets.passcode.take(secrets.line)
    #expect(isTaken && answer == .passcode)
    do {
      var login = try DirectLogin.open(vault, try permit(), service: Bytes(text: service), purpose)
      let verdict = login.attempt(secrets.passcode, &secrets.unsealed)
      expectWiped(secrets.unsealed)
      return verdict
    } catch let fault as Fault {
      return .unavailable(fault)
    }
  }

  func accept(_ transcript: FingerTranscript) throws -> Verdict {
    let none = try self.secrets()
    var secrets = try secrets()
    var login = try DirectLogin.open(vault, try permit(), service: Bytes(text: service))
    let verdict = login.accept(transcript, none.passcode, &secrets.unsealed)
    expectWiped(secrets.unsealed)
    return verdict
  }

  /// What the look says of it.
  func takesFinger() throws -> Bool {
    var secrets = try secrets()
    var login = try DirectLogin.open(vault, try permit(), service: Bytes(text: service))
    #expect(login.look(&secrets.unsealed) == nil)
    return login.looked.takesFinger
  }

  func look(_ purpose: Purpose = .login) throws -> Verdict? {
    var secrets = try secrets()
    var login = try DirectLogin.open(vault, try permit(), service: Bytes(text: service), purpose)
    let verdict = login.look(&secrets.unsealed)
    expectWiped(secrets.unsealed)
    return verdict
  }

  /// So many wrong passcodes, each another one.
  @discardableResult
  func fail(_ times: Int) throws -> Verdict? {
    var verdict: Verdict?
    for index in 0..<times { verdict = try attempt(TestBed.wrong[index]) }
    return verdict
  }

  func status() throws -> Status {
    try vault.status(account)
  }

  func reboot() {
    boot = BootID(high: boot.high + 1, low: boot.low)
  }

  private func permit() throws -> Permit {
    let origin = LoginOrigin(.current(), service: Bytes(text: service))
    guard case .admitted(let permit) = Gate.admit(account, origin, access) else {
      throw POSIXError(.EPERM)
    }
    return permit
  }

  private func secrets() throws -> Secrets {
    guard let secrets = Secrets(sodium) else { throw POSIXError(.ENOMEM) }
    return secrets
  }

  // MARK: What lies on the disk

  /// Tells one credential from the next.
  func mark() throws -> Bytes {
    vault.mark(try #require(try contents()).record)
  }

  private var recordFile: URL { folder.appendingPathComponent("store/\(account.uid)") }

  func record() throws -> Data {
    try Data(contentsOf: recordFile)
  }

  /// Overwrites the file in place.
  func overwrite(_ content: Data) throws {
    let file = try FileHandle(forWritingTo: recordFile)
    try file.write(contentsOf: content)
    try file.close()
  }

  /// Another machine's key in place of this one's.
  func replaceKey() throws {
    let key = folder.appendingPathComponent("key")
    try FileManager.default.removeItem(at: key)
    let made = FileManager.default.createFile(
      atPath: key.path, contents: Data(repeating: 0x55, count: 32), attributes: [.posixPermissions: 0o600])
    #expect(made)
  }

  /// One byte of these copies changed.
  func damage(_ copies: Int...) throws {
    var content = try record()
    for copy in copies { content[copy * RecordCodec.copyLength + 40] ^= 1 }
    try overwrite(content)
  }

  func contents() throws -> RecordCodec.Contents? {
    recordCodec.read(Bytes(try record()))
  }
}

/// Of key, subkey and credential nothing is left; the digest can't be read.
private func expectWiped(_ unsealed: borrowing Unsealed) {
  func isZero(_ bytes: Span<UInt8>) -> Bool { bytes.indices.allSatisfy { bytes[$0] == 0 } }
  let isWiped = unsealed.key.read(isZero) && unsealed.subkey.read(isZero) && unsealed.credential.read(isZero)
  #expect(isWiped)
}

/// The reason of the fault that it ends with. nil: none, or another error.
func reason<Value: ~Copyable>(_ body: () throws -> Value) -> Fault.Reason? {
  do { _ = try body() } catch {
    if let fault = error as? Fault { return fault.reason }
    if case .fault(let fault)? = error as? EnrolmentError { return fault.reason }
  }
  return nil
}

/// Why a passcode is refused as too easy. nil: it isn't, or something else ended it.
func weakness<Value: ~Copyable>(_ body: () throws -> Value) -> Weakness? {
  do { _ = try body() } catch {
    if case .refused(.weak(let weakness))? = error as? EnrolmentError { return weakness }
  }
  return nil
}

extension [UInt8] {
  /// The UTF-8 of a text that a test puts together; the sources have literals only.
  init(text: String) {
    self = Array(text.utf8)
  }
}
