import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeVault

struct PermitTests {
  /// Accounts of every system: whose passcode it is, and somebody else's.
  private static let own = "daemon"
  private static let other = "nobody"

  private enum Process {
    case root, own, other
  }

  private static let cases: [(Process, requester: String?, isPermitted: Bool)] = [
    (.root, nil, true), (.root, "", true), (.root, "root", true), (.root, own, true),
    (.root, other, false), (.root, "nosuchuser", false), (.root, own + " ", false),
    (.own, nil, true), (.own, "", true), (.own, "root", true), (.own, own, true),
    (.own, other, false), (.own, "nosuchuser", false),
    (.other, nil, false), (.other, "", false), (.other, "root", false), (.other, own, false),
    (.other, other, false),
  ]

  private static func account(_ name: String) throws -> Account {
    guard case .found(let account) = Account.named(Bytes(text: name)) else { throw Missing() }
    return account
  }

  private struct Missing: Error {}

  @Test(arguments: cases)
  private func `attempts are made for one's own account or by real root`(
    process: Process, requester: String?, isPermitted: Bool
  ) throws {
    let account = try Self.account(Self.own)
    let real =
      switch process {
      case .root: UInt32(0)
      case .own: account.uid
      case .other: try Self.account(Self.other).uid
      }
    // The real uid counts, whatever else the process is.
    for effective in [real, 0, account.uid] {
      let identity = ProcessIdentity(
        real: real, effective: effective, saved: effective, isSecure: real != effective)
      let permit = Permit.check(account, identity, requester: requester.map { Bytes(text: $0) })
      #expect((permit != nil) == isPermitted)
      #expect(permit == nil || permit?.account == account)
    }
  }
}
