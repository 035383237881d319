import Testing

@testable import PasscodePolicy

struct KeyProblemTests {
  /// As they are declared.
  private let all = (0...UInt16.max).compactMap { KeyProblem(rawValue: $0) }

  @Test func `what works all the same is a warning, and nothing else`() {
    #expect(
      all.filter(\.isWarning) == [
        .warnTwoKeys, .warnKeyClosed, .warnOldKey, .warnOtherKey, .warnSwappable, .warnKeyLocked,
        .warnLeftKey,
        .warnPassingPCR,
      ])
    #expect(all.last == .warnPassingPCR)
  }

  @Test func `a fault tells which problem it is, and any other fault tells none`() {
    for problem in all { #expect(Fault(problem).keyProblem == problem) }
    #expect(Fault(.failed, error: 5).keyProblem == nil)
  }
}
