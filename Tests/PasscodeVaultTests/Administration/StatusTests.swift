import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeAdmin
@testable import PasscodeVault

struct StatusTests {
  private let account = Account(uid: 1_000, gid: 1_000, name: Array("alice".utf8))

  @Test(arguments: [0, 1, 90_001] as [UInt64])
  func `what the helper tells is what it found`(milliseconds: UInt64) throws {
    for (length, time) in [(4, 0), (6, 1_700_000_000), (nil, 1)] as [(Int?, UInt64)] {
      var found = HelperStatus(milliseconds > 0 ? .locked : .ok, isEnrolled: length != nil)
      found.length = length
      found.failures = 7
      found.milliseconds = milliseconds
      found.enrolledAt = time
      found.lastSuccess = time
      found.expiresAt = time
      let told = Status(account, try #require(HelperStatus(found.reply)))
      #expect(told.told == found && told.account == account)
      #expect((told.lockedUntil != nil) == (milliseconds > 0))
      for moment in [told.enrolledAt, told.lastSuccess, told.expiresAt] {
        #expect(moment == (time == 0 ? nil : time))
      }
    }
  }
}
