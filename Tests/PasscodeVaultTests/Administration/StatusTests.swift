import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeVault

struct StatusTests {
  private let account = Account(uid: 1_000, gid: 1_000, name: Array("alice".utf8))

  @Test(
    arguments: [
      .ok, .locked(milliseconds: 1), .locked(milliseconds: 90_001), .exhausted, .disabled, .corrupt,
      .expired, .mustChange,
    ]
      as [Status.State])
  func `what the helper tells is what it found`(state: Status.State) throws {
    for (length, time) in [(4, nil), (6, 1_700_000_000), (nil, 1)] as [(Int?, UInt64?)] {
      let found = Status(
        account: account, isEnrolled: length != nil, length: length, state: state, failures: 7,
        lockedUntil: nil,
        enrolledAt: time, lastSuccess: time.map { $0 + 1 }, lastFailure: time.map { $0 + 2 },
        failureService: Bytes(text: time == nil ? "" : "sudo"), mustChange: length == 4, expiresAt: time)
      let told = Status(account, try #require(HelperStatus(HelperStatus(found).reply)))
      #expect(told.state == state && told.account == account)
      #expect(told.isEnrolled == found.isEnrolled && told.length == length && told.failures == 7)
      #expect(told.enrolledAt == time && told.lastSuccess == found.lastSuccess)
      #expect(told.lastFailure == found.lastFailure && told.failureService == found.failureService)
      #expect(told.mustChange == (length == 4) && told.expiresAt == time)
      if case .locked = state { #expect(told.lockedUntil != nil) } else { #expect(told.lockedUntil == nil) }
    }
  }
}
