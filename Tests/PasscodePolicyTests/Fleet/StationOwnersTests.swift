import Testing

@testable import PasscodeFleetPolicy
@testable import PasscodePolicy

struct StationOwnersTests {
  private func mark(_ number: Int) -> Bytes { littleEndian(UInt64(number), StationOwners.markLength) }

  private func owners(_ people: [(Int, UInt64)]) throws -> StationOwners {
    var owners = StationOwners()
    for (number, day) in people { owners = try #require(owners.adding(mark(number), today: day)) }
    return owners
  }

  @Test func `a list is read again, and nothing else is`() throws {
    #expect(StationOwners([]) == StationOwners())
    let owners = try owners([(1, 20_000), (2, 20_001), (3, 20_001)])
    #expect(StationOwners(owners.encoded) == owners)
    let value = owners.encoded
    let line = value.prefix { $0 != 10 }.count + 1
    for length in value.indices where length % line != 0 {
      #expect(StationOwners(Bytes(value[..<length])) == nil, "\(length)")
    }
    for wrong in [
      "0123456789abcdef\n", "0123456789abcde 1\n", "0123456789ABCDEF 1\n", "0123456789abcdef 01\n", "\n",
    ] {
      #expect(StationOwners(Bytes(text: wrong)) == nil, "\(wrong)")
    }
  }

  @Test func `somebody is noted once a day, and stays for 30 days`() throws {
    let one = try owners([(1, 20_000)])
    #expect(one.adding(mark(1), today: 20_000) == nil)
    #expect(one.contains(mark(1), today: 20_030) && !one.contains(mark(1), today: 20_031))
    #expect(
      one.contains(mark(1), today: 19_999) && one.adding(mark(1), today: 19_999) == nil, "before midnight")
    #expect(!one.contains(mark(2), today: 20_000))
    let later = try #require(one.adding(mark(1), today: 20_001))
    #expect(later.contains(mark(1), today: 20_031))
  }

  @Test func `a clock that is wrong leaves nobody out, and lets nobody stay`() throws {
    let day = try owners([(1, 20_000), (2, 20_000)])
    let ahead = try #require(day.adding(mark(3), today: 20_040))
    for number in 1...2 { #expect(ahead.contains(mark(number), today: 20_000)) }
    #expect(!ahead.contains(mark(3), today: 20_000))
    let again = try #require(ahead.adding(mark(3), today: 20_000))
    #expect(again.contains(mark(3), today: 20_000) && !again.contains(mark(3), today: 20_040))
    let behind = try #require(again.adding(mark(1), today: 0))
    #expect(behind.contains(mark(2), today: 20_000) && !behind.contains(mark(1), today: 20_000))
    #expect(try #require(behind.adding(mark(1), today: 20_000)).contains(mark(1), today: 20_000))
  }

  @Test func `there are 64 at most, and the one who came first goes`() throws {
    let full = try owners((0..<64).map { ($0, 20_000) })
    let more = try #require(full.adding(mark(64), today: 20_000))
    #expect(!more.contains(mark(0), today: 20_000))
    for number in 1...64 { #expect(more.contains(mark(number), today: 20_000)) }
    #expect(StationOwners(more.encoded) == more)
    #expect(StationOwners(full.encoded + more.encoded.suffix(23)) == nil)
  }
}
