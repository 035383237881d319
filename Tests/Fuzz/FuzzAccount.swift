// Any text as /etc/passwd, read by glibc: whatever it makes of that is an account or none, and digits that everyone can
// read in an entry make a weak passcode.

import CFuzz
@testable import PasscodePolicy
@testable import PasscodeSystem

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzAccount(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  fuzz_accounts(data, size)
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  for line in input[...].parts(between: UInt8(ascii: "\n")).prefix(8) {
    let fields = line.parts(between: UInt8(ascii: ":"))
    look(Account.named(Bytes(fields[0].prefix { $0 != 0 })))
    if fields.count > 2, let uid = decimal(fields[2]), uid < UInt64(UInt32.max) {
      look(Account.numbered(UInt32(uid)))
    }
  }
  return 0
}

private func look(_ lookup: AccountLookup) {
  guard case .found(let account) = lookup else { return }
  precondition(account.name.count <= 255 && !account.name.contains(0))
  let (gecos, home) = account.details()
  precondition(gecos.count < 1_024 && home.count < 1_024)
  let person = PersonalData(userName: account.name, gecos: gecos, uid: account.uid, home: home)
  let surroundings = Surroundings(now: 1_767_225_600, person: person)
  for text in [gecos, home, account.name] {
    for start in text.indices {
      for length in [4, 6] where start + length <= text.count {
        let code = Bytes(text[start..<start + length])
        guard Answer(code.span) == .passcode else { continue }
        precondition(Weakness.of(code.span, in: surroundings) != nil, "digits of the entry")
      }
    }
  }
}
