// Any text as /etc/passwd, read by glibc: whatever it makes of that is an account or none, and digits that everyone can
// read in an entry make a weak passcode. That last one is the expensive part: with --runs, one input in four, as its
// bytes decide (`fuzz_is_judged`).

import CFuzz
@testable import PasscodePolicy
@testable import PasscodeSystem

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzAccount(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  fuzz_accounts(data, size)
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  let isJudged = fuzz_is_judged(data, size, 4) != 0
  // The entries don't change meanwhile, so one look at each account is enough.
  var seen: [Account] = []
  func look(_ lookup: AccountLookup) {
    guard case .found(let account) = lookup, !seen.contains(account) else { return }
    seen.append(account)
    check(account, isJudged)
  }
  for line in input[...].parts(between: UInt8(ascii: "\n")).prefix(8) {
    let fields = line.parts(between: UInt8(ascii: ":"))
    look(Account.named(Bytes(fields[0].prefix { $0 != 0 })))
    if fields.count > 2, let uid = decimal(fields[2]), uid < UInt64(UInt32.max) {
      look(Account.numbered(UInt32(uid)))
    }
  }
  return 0
}

private func check(_ account: Account, _ isJudged: Bool) {
  precondition(account.name.count <= 255 && !account.name.contains(0))
  let (gecos, home) = account.details()
  precondition(gecos.count < 1_024 && home.count < 1_024)
  let person = PersonalData(userName: account.name, gecos: gecos, uid: account.uid, home: home)
  let surroundings = Surroundings(now: 1_767_225_600, person: person)
  guard isJudged else { return }
  for text in [gecos, home, account.name] { check(text.span, surroundings) }
}

private func check(_ text: Span<UInt8>, _ surroundings: Surroundings) {
  for start in text.indices {
    for length in [4, 6] where start + length <= text.count {
      let code = text.extracting(start..<start + length)
      guard Answer(code) == .passcode else { continue }
      precondition(Weakness.of(code, in: surroundings) != nil, "digits of the entry")
    }
  }
}
