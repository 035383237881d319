import PasscodePolicy
import Testing

@testable import PasscodePrograms
@testable import PasscodeSystem

/// Rows as Linux 6.1 prints them, with etcd's port 2379 (094B) and the client's 54258 (D3F2).
struct ConnectionRowTests {
  private static let heading =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

  private func row(
    _ state: String, user: String, inode: String, ends: String = "0100007F:094B 0100007F:D3F2"
  ) -> String {
    "   7: \(ends) \(state) 00000000:00000000 00:00000000 00000000 \(user)        0 \(inode) 1 0000000000000000 20\n"
  }

  private func find(_ table: String) -> ConnectionRow? {
    ConnectionRow.find(in: Bytes(text: table)[...], local: 2379, remote: 54258)
  }

  @Test func `a connection that nobody has accepted shows root, and is nobody's yet`() throws {
    let found = try #require(find(ConnectionRowTests.heading + row("01", user: "    0", inode: "0")))
    #expect(found.isEstablished && !found.isAccepted)
  }

  @Test func `one that was accepted belongs to the user in its row`() throws {
    let found = try #require(find(row("01", user: "  107", inode: "51234")))
    #expect(found.isEstablished && found.isAccepted && found.user == 107)
  }

  @Test(arguments: ["02", "03", "04", "05", "06", "08", "0A"])
  func `in any other state it is nobody's`(state: String) throws {
    let found = try #require(find(row(state, user: "    0", inode: "51234")))
    #expect(!found.isEstablished && !found.isAccepted && found.isOpening == (state == "03"))
  }

  @Test(arguments: [
    "0100007F:D3F2 0100007F:094B", "0100007F:094B 0100007F:D3F3", "0200007F:094B 0100007F:D3F2",
    "0100007F:094C 0100007F:D3F2", "00000000:094B 00000000:0000",
  ])
  func `no other row is taken for it`(ends: String) {
    #expect(find(row("01", user: "    0", inode: "51234", ends: ends)) == nil)
  }

  @Test func `it is found after any number of others, and only in a whole row`() throws {
    let others = String(
      repeating: row("01", user: " 1000", inode: "9", ends: "0100007F:094B 0100007F:0001"), count: 4_000)
    let own = row("01", user: "  107", inode: "51234")
    #expect(find(others + own)?.user == 107)
    #expect(find(others + own.dropLast()) == nil)
    #expect(find("12345" + own.dropFirst(4))?.user == 107, "the number of a row may be wide")
  }

  @Test(arguments: ["4294967296", "-1", "x", "0107", "99999999999999999999"])
  func `a number that makes no sense is no row`(number: String) {
    #expect(find(row("01", user: number, inode: "51234")) == nil)
  }
}
