import Testing

@testable import PasscodePolicy

struct HelperOperationTests {
  @Test(arguments: HelperOperation.allCases)
  func `nobody may ask about somebody else, but root about what changes nothing by itself`(
    operation: HelperOperation
  ) {
    #expect(operation.permits(caller: 1_000, account: 1_000))
    #expect(!operation.permits(caller: 1_000, account: 1_001))
    #expect(!operation.permits(caller: 1_000, account: 0))
    let isForRoot = [.look, .verify, .status].contains(operation)
    #expect(operation.permits(caller: 0, account: 1_000) == isForRoot)
  }

  @Test(arguments: HelperOperation.allCases)
  func `what loosens anything is proven by a secret, and closed to whoever is disabled`(
    operation: HelperOperation
  ) {
    let isQuestion = [.look, .verify, .status].contains(operation)
    #expect(operation.row.isForDisabled == isQuestion)
    #expect((operation.row.proof == .none) == [.look, .status, .pause].contains(operation))
  }

  @Test func `the first passcode is proven by the password, and so is forgiveness`() {
    #expect(HelperOperation.enroll.row.proof == .password)
    #expect(HelperOperation.unlock.row.proof == .password)
    #expect(HelperOperation.resume.row.proof == .password)
    #expect(HelperOperation.change.row.proof == .passcode)
    #expect(HelperOperation.remove.row.proof == .passcodeOrPassword)
    #expect(HelperOperation.allCases.filter { $0.row.setsPasscode } == [.change, .enroll, .enrollByCode])
    #expect(HelperOperation.enrollByCode.row.proof == .code)
  }
}
