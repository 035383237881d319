import PasscodePolicy
import Testing

@testable import PasscodeFleetPolicy

struct ServerCountsTests {
  @Test func `what was added is there, and nothing else`() {
    var counts = ServerCounts()
    counts.add(.verify, .granted, milliseconds: 110)
    counts.add(.verify, .wrongAndLocked, milliseconds: 90)
    counts.add(.look, .openWaiting, milliseconds: 10)
    counts.add(.noEtcd)
    var all = counts
    all.add(counts)
    for (counts, times) in [(counts, UInt64(1)), (all, 2), (ServerCounts(all.encoded), 2)] {
      #expect(counts.replies(.login, .granted) == times && counts.replies(.login, .wrong) == times)
      #expect(counts.replies(.look, .open) == times && counts.unavailable(.etcd) == times)
      #expect(counts.milliseconds(.login) == 200 * times && counts.milliseconds(.look) == 10 * times)
      #expect(sum(counts) == 3 * times)
    }
  }

  private func sum(_ counts: ServerCounts) -> UInt64 {
    var (replies, durations): (UInt64, UInt64) = (0, 0)
    for operation in ServerCounts.Operation.allCases {
      for verdict in ServerCounts.Verdict.allCases { replies += counts.replies(operation, verdict) }
      for place in 0...ServerCounts.limits.count { durations += counts.duration(operation, place) }
    }
    #expect(replies == durations)
    return replies
  }

  @Test(arguments: [
    (UInt64(0), 0), (10, 0), (11, 1), (100, 3), (30_000, 10), (30_001, 11), (UInt64(UInt32.max), 11),
  ])
  func `a duration is counted under the first limit that it keeps`(milliseconds: UInt64, place: Int) {
    var counts = ServerCounts()
    counts.add(.prove, .granted, milliseconds: milliseconds)
    #expect(counts.duration(.proof, place) == 1 && sum(counts) == 1)
  }

  @Test func `whatever is counted, it takes as much room`() {
    var counts = ServerCounts()
    for operation in HelperOperation.allCases {
      for kind in HelperReply.Kind.allCases { counts.add(operation, kind, milliseconds: 1) }
    }
    for reason in Fault.Reason.allCases { counts.add(reason) }
    #expect(counts.encoded.count == ServerCounts.length && ServerCounts.length <= 4_096)
    #expect(ServerCounts(counts.encoded) == counts)
  }

  @Test func `a file that is shorter has counted nothing of the rest`() {
    var counts = ServerCounts()
    counts.add(.look, .openEnding, milliseconds: 1)
    #expect(ServerCounts([]) == ServerCounts())
    #expect(ServerCounts(Bytes(counts.encoded.prefix(15))).replies(.look, .open) == 1)
    #expect(ServerCounts(counts.encoded + [1]) == counts)
  }

  @Test func `numbers that are full begin again, and end no process`() {
    var counts = ServerCounts(Bytes(repeating: 255, count: ServerCounts.length))
    counts.add(ServerCounts(Bytes(repeating: 255, count: ServerCounts.length)))
    #expect(counts.unavailable(.etcd) == UInt64.max - 1)
  }
}
