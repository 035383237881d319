// The real pam_sm_authenticate, between a libpam and a system of the input's: nothing but the right passcode of a record
// that is open opens anything, and that always does.
//
// An input is lines, in this order, and missing ones are empty; in the files, ";" stands for a newline.
//
//     1    how the machine is: a character for each field of `Head`, counted from "0"
//     2-6  PAM_SERVICE, PAM_TTY, PAM_XDISPLAY, PAM_RHOST, PAM_RUSER
//     7-8  PAM_USER, and PAM_USER after the prompt
//     9-10 PAM_AUTHTOK, and what is typed
//     11   the arguments of the module line, with blanks between them
//     12   /etc/security/passcode.conf, and /etc/other.conf
//     13-14 the helper's replies to the look and to the attempt (`reply`)
//     15-16 the copies of the record where `Head.record` wants them as text, without checksum (`copy`)

import CFuzz
@testable import PasscodePolicy
@testable import PasscodeSystem
@testable import PasscodeVault

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzEntry(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  // A C string ends at its NUL.
  let lines = input[...].parts(between: UInt8(ascii: "\n")).map { Bytes($0.prefix { $0 != 0 }) }
  let scene = Scene(lines)
  scene.prepare()
  let result = fuzz_authenticate()
  scene.noteLeftovers()
  scene.check(result, after: scene.content())
  return 0
}

/// What the first line says.
struct Head {
  private let line: Bytes

  init(_ line: Bytes) {
    self.line = line
  }

  subscript(_ place: Int) -> UInt8 {
    place < line.count ? line[place] &- UInt8(ascii: "0") : 0
  }

  var conversation: UInt8 { self[0] % 6 }
  /// Real and effective uid, in base 4 of `uids`; 32: AT_SECURE.
  var identity: UInt8 { self[1] }
  var record: UInt8 { self[2] }
  /// Bit 0: disabled; 1-2: must_change; 3: expires; 4: has expired; 5: removed.
  var state: UInt8 { self[3] }
  var failures: UInt8 { self[4] }
  /// Of the last failure, in 10 s; 62: in another boot; 63: in the future.
  var age: UInt8 { self[5] }
  /// Bits 0-1: the record's uid; 2: another name; 3: sealed for another one; 4: served.
  var names: UInt8 { self[6] }
  /// 0: the right key; 1: another one; 2: none; 3: a short one; 4: readable by all.
  var key: UInt8 { self[7] % 5 }
  /// Bit 0: six digits; 1: sealed under another key; 2: another cost; 3: spoilt.
  var credential: UInt8 { self[8] }
  /// Bit 0: has logged in; 1: PAM_SILENT; 2: no _passcode; 3: forgets; 4: no slots; 5: something moves.
  var extras: UInt8 { self[9] }
  var enrolled: UInt8 { self[14] }
}

struct Scene {
  static let uids: [UInt32] = [0, 1_000, 1_001, 990]
  static let codes = [Bytes(text: "4711"), Bytes(text: "081594")]
  static let conf = "etc/security/passcode.conf"

  let lines: [Bytes]
  let head: Head
  let file: Bytes
  let uid: UInt32
  let sealer = Sealer.shared

  init(_ lines: [Bytes]) {
    self.lines = lines
    head = Head(lines.first ?? [])
    uid = Scene.uids[[1, 0, 2, 3][Int(head.names & 3)]]
    file = RecordMaker(head, lines, uid).file
  }

  func line(_ number: Int) -> Bytes { number <= lines.count ? lines[number - 1] : [] }

  var arguments: [Bytes] { line(11)[...].words().prefix(16).map(Bytes.init) }
  var configuration: Bytes { unfolded(line(12)) }
  var path: String { "var/lib/passcode/\(uid)" }

  // MARK: Before

  func prepare() {
    fuzz_begin()
    let texts = [
      (2, fuzz_service), (3, fuzz_terminal), (4, fuzz_display), (5, fuzz_remote_host), (6, fuzz_requester),
      (7, fuzz_user), (8, fuzz_later_user), (9, fuzz_token), (10, fuzz_answer),
    ]
    for (number, text) in texts where !line(number).isEmpty { set(text, line(number)) }
    for (index, argument) in arguments.enumerated() {
      set(fuzz_text(fuzz_first_argument.rawValue + UInt32(index)), argument)
    }
    set(fuzz_reply_to_look, reply(line(13)))
    set(fuzz_reply_to_attempt, reply(line(14)))
    plan.arguments = CInt(arguments.count)
    preparePlan()
    prepareFiles()
  }

  private func set(_ text: fuzz_text, _ bytes: Bytes) { fuzz_set(text, bytes, bytes.count) }

  private func preparePlan() {
    let (real, effective) = (head.identity & 3, head.identity >> 2 & 3)
    plan.real = Scene.uids[Int(real)]
    plan.effective = Scene.uids[Int(effective)]
    plan.saved = head.identity & 16 == 0 ? plan.effective : 0
    plan.peer = Scene.uids[Int(head[15] & 3)]
    plan.is_secure = head.identity & 32 == 0 ? 0 : 1
    plan.conversation = CInt(head.conversation)
    plan.flags = head.extras & 2 == 0 ? 0 : 0x8000
    plan.lacks_service = CInt(head.extras & 4)
    plan.forgets = CInt(head.extras & 8)
    plan.moves = CInt(head.extras & 32)
    (plan.record_held, plan.slots_held) = (head[10], head[11])
    (plan.clock_step, plan.failing_hash) = (head[12], head[13])
    plan.record = uid
    withUnsafeMutableBytes(of: &plan.faults) { faults in
      for index in faults.indices { faults[index] = head[16 + index] }
    }
  }

  private func prepareFiles() {
    putConstant(Scene.conf, line(12).isEmpty ? nil : configuration)
    putConstant("etc/other.conf", configuration)
    let key = head.key == 1 ? Sealer.otherKey : head.key == 3 ? Bytes(Sealer.key.prefix(20)) : Sealer.key
    putConstant("etc/passcode/key", head.key == 2 ? nil : key, head.key == 4 ? 0o444 : 0o440)
    for uid in Scene.uids {
      // Of others there is never a record, and nothing makes one.
      if uid != self.uid { putConstant("var/lib/passcode/\(uid)", nil) }
      if Scene.hasLeftovers { put("run/passcode/\(uid)", nil) }
      putConstant("run/passcode/\(uid).login", head.extras & 1 == 0 ? nil : [])
    }
    put(path, file.isEmpty ? nil : file)
    Scene.constant[path] = nil
    let places = Bytes(repeating: 0, count: 128)
    putConstant("var/lib/passcode/places", head.extras & 16 == 0 ? places : nil, 0o600)
  }

  /// After a call that may have made files.
  func noteLeftovers() {
    Scene.hasLeftovers = seen.made > 0
    guard Scene.hasLeftovers else { return }
    for uid in Scene.uids { Scene.constant["run/passcode/\(uid).login"] = nil }
    Scene.constant["var/lib/passcode/places"] = nil
  }

  nonisolated(unsafe) private static var hasLeftovers = true

  /// What is there for sure; nil: no file. The module changes neither configuration nor key.
  nonisolated(unsafe) private static var constant: [String: Bytes?] = [:]

  private func putConstant(_ path: String, _ content: Bytes?, _ mode: mode_t = 0o644) {
    let state = content.map { $0 + [UInt8(truncatingIfNeeded: mode)] }
    if let known = Scene.constant[path], known == state { return }
    put(path, content, mode)
    Scene.constant[path] = .some(state)
  }

  private func put(_ path: String, _ content: Bytes?, _ mode: mode_t = 0o600) {
    guard let content else { return fuzz_file(path, nil, 0, 0) }
    // An array without elements may be no pointer.
    fuzz_file(path, content + [0], content.count, mode)
  }

  /// "R" and the bytes themselves; or the kind and two numbers, counted from "0", and the text.
  func reply(_ line: Bytes) -> Bytes {
    guard let first = line.first else { return [] }
    if first == UInt8(ascii: "R") { return Bytes(line.dropFirst()) }
    func number(_ place: Int) -> UInt8 { place < line.count ? line[place] &- UInt8(ascii: "0") : 0 }
    guard let kind = HelperReply.Kind(rawValue: number(0)) else { return line }
    return HelperReply(kind, [UInt64(number(1)), UInt64(number(2))], text: Bytes(line.dropFirst(3))).bytes
  }

  func content() -> Bytes {
    var bytes = Bytes(repeating: 0, count: RecordCodec.fileLength + 1)
    let count = fuzz_content(path, &bytes, bytes.count)
    return Bytes(bytes.prefix(count))
  }
}

/// Newlines where they are folded.
func unfolded(_ line: Bytes) -> Bytes { line.map { $0 == UInt8(ascii: ";") ? 10 : $0 } }
