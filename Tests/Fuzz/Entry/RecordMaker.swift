import CFuzz
@testable import PasscodePolicy
@testable import PasscodeSystem
@testable import PasscodeVault

/// The record's file that an input wants.
struct RecordMaker {
  static let boot: BootID = {
    guard let text = try? SystemClock.bootID(), let boot = BootID(kernelText: text[...]) else {
      fatalError("this needs /proc")
    }
    return boot
  }()
  static let start = Instant(boot: boot, milliseconds: UInt64(fuzz_boot_start))
  static let wall = UInt64(fuzz_wall_start)

  let head: Head
  let lines: [Bytes]
  let uid: UInt32

  init(_ head: Head, _ lines: [Bytes], _ uid: UInt32) {
    self.head = head
    self.lines = lines
    self.uid = uid
  }

  var file: Bytes {
    lazy var newer = recordCodec.encode(record(generation: 13))
    lazy var old = {
      var older = record(generation: 12)
      older.ledger = .clear
      return recordCodec.encode(older)
    }()
    let nothing = Bytes(repeating: 0, count: RecordCodec.copyLength)
    switch head.record % 10 {
    case 1: return old + newer
    case 2: return newer + nothing
    case 3: return copy(15) + copy(16)
    case 4: return newer + copy(16)
    case 5: return old + flipped(newer)
    case 6: return newer
    case 7: return recordCodec.encode(record(generation: 9)) + newer
    case 8: return newer + old
    case 9: return copy(15) + old
    default: return []
    }
  }

  private func record(generation: UInt64) -> Record {
    var record = Record(
      uid: head.names & 32 == 0 ? uid : 1_001, name: head.names & 4 == 0 ? name(uid) : Bytes(text: "carol"),
      generation: generation)
    record.disabled = head.state & 1 != 0
    if head.state & 32 == 0 { record.state = .enrolled(sealed: sealed) }
    record.terms = terms
    record.ledger = ledger
    record.enrolledBy = [.unknown, .root, .password, .passcode][Int(head.enrolled & 3)]
    record.unlockedBy = [.nobody, .root, .password, .unknown][Int(head.enrolled >> 2 & 3)]
    return record
  }

  private var terms: Terms {
    let change = Terms.Change.allCases[Int(head.state >> 1 & 3) % 3]
    guard head.state & 8 != 0 else { return Terms(change: change, expiry: 0, seenTime: 0, seenAt: .never) }
    let wall = RecordMaker.wall
    return Terms(
      change: change, expiry: head.state & 16 == 0 ? wall + 3_600 : wall - 10, seenTime: wall - 100,
      seenAt: Instant(boot: RecordMaker.boot, milliseconds: RecordMaker.start.milliseconds - 100_000))
  }

  private var ledger: Ledger {
    guard head.failures > 0 else { return .clear }
    let now = RecordMaker.start
    let last: Instant
    switch head.age {
    case 62: last = Instant(boot: BootID(high: 1, low: 2), milliseconds: 5)
    case 63: last = Instant(boot: now.boot, milliseconds: now.milliseconds + 1_000)
    default: last = Instant(boot: now.boot, milliseconds: now.milliseconds - UInt64(head.age) * 10_000)
    }
    return Ledger(failures: UInt32(head.failures), lastFailure: last, served: head.names & 16 != 0)
  }

  private var sealed: Bytes {
    let content = Sealer.Content(
      code: Scene.codes[Int(head.credential & 1)], uid: head.names & 8 == 0 ? uid : 1_001,
      name: head.names & 8 == 0 ? name(uid) : Bytes(text: "bob"),
      isUnderOtherKey: head.credential & 2 != 0, hasOtherCost: head.credential & 4 != 0)
    let sealed = Sealer.shared.seal(content)
    return head.credential & 8 == 0 ? sealed : flipped(sealed)
  }

  private func name(_ uid: UInt32) -> Bytes {
    Bytes(text: uid == 0 ? "root" : uid == 1_000 ? "alice" : uid == 1_001 ? "bob" : "_passcode")
  }

  private func flipped(_ bytes: Bytes) -> Bytes {
    var changed = bytes
    changed[Int(head[15]) % bytes.count] ^= 1
    return changed
  }

  /// A copy from the input's text: "@" is the sealed credential, "%" this boot; the checksum follows.
  private func copy(_ number: Int) -> Bytes {
    var text = Bytes()
    for byte in unfolded(number <= lines.count ? lines[number - 1] : []) {
      switch byte {
      case UInt8(ascii: "@"): text += hexadecimal(sealed)
      case UInt8(ascii: "%"): text += RecordMaker.boot.hexadecimalText
      default: text.append(byte)
      }
    }
    text += Bytes(text: "checksum=") + hexadecimal(blake2b(text[...])) + [10]
    let padding = Bytes(repeating: 0, count: max(0, RecordCodec.copyLength - text.count))
    return Bytes((text + padding).prefix(RecordCodec.copyLength))
  }
}
