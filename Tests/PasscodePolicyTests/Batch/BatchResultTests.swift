import PasscodePolicy
import Testing

struct BatchResultTests {
  @Test func `a line fails unless it was done, changed nothing or was to be skipped`() {
    let outcomes = (0...UInt8.max).compactMap { BatchOutcome(rawValue: $0) }
    let names = outcomes.filter { !$0.isFailure }.map { text($0.name) }
    #expect(outcomes.count == 11 && names == ["done", "unchanged", "skipped"])
    for outcome in outcomes {
      var counts = BatchCounts()
      counts.add(outcome)
      #expect(counts.failed == (outcome.isFailure ? 1 : 0) && counts.all == 1)
    }
  }

  @Test func `names and reasons are escaped in JSON`() {
    let result = BatchResult(7, Bytes(text: "a\"b"), .failed, "\"no\\such\nfile\"")
    let line = #"{"version":1,"line":7,"user":"a\"b","result":"failed","reason":"\"no\\such\u000afile\""}"#
    #expect(text(result.json) == line + "\n")
  }
}
