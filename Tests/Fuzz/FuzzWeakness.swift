// Any account and any list: no trap, and nothing but passcodes called weak.

@testable import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWeakness(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  // The parts are separated by newlines: new code, old code, user name, GECOS, home, then the list.
  let input = Bytes(UnsafeBufferPointer(start: start, count: count))
  let parts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 5, omittingEmptySubsequences: false)
  guard parts.count == 6 else { return 0 }
  let person = PersonalData(
    userName: Bytes(parts[2]), gecos: Bytes(parts[3]), uid: UInt32(count), home: Bytes(parts[4]))
  let site = try? WeakList(parts[5], path: [])
  let surroundings = Surroundings(now: UInt64(count) << 24, person: person, site: site ?? WeakList())

  let code = Bytes(parts[0])
  let old = Bytes(parts[1])
  let isPasscode = Answer(code.span) == .passcode
  let weakness = Weakness.of(code.span, in: surroundings)
  precondition(isPasscode || weakness == nil)
  precondition(weakness.map { !$0.sentence.english.bytes.isEmpty } ?? true)
  precondition(Weakness.variation(code.span, of: code.span) == (isPasscode ? .sameAsOld : nil))
  _ = Weakness.variation(code.span, of: old.span)
  return 0
}
