import Testing

@testable import PasscodePolicy

struct BatchLineTests {
  private func line(_ text: String, _ form: BatchLine.Form = .userAndPasscode) -> BatchLine {
    let bytes = Bytes(text: text)
    return BatchLine(bytes.span, form)
  }

  @Test(arguments: ["alice", "_apt", "first.last@EXAMPLE.ORG", "machine$", "müller", "ALICE-2"])
  func `a name, with a passcode or without`(name: String) {
    #expect(line("\(name):0471") == .user(Bytes(text: name)))
    #expect(line("\(name):260417") == .user(Bytes(text: name)))
    #expect(line(name, .user) == .user(Bytes(text: name)))
  }

  @Test(arguments: ["", "#", "# alice:0471"], [BatchLine.Form.user, .userAndPasscode])
  func `empty lines and comments are nothing`(text: String, form: BatchLine.Form) {
    #expect(line(text, form) == .nothing)
  }

  @Test(arguments: [
    ("alice", BatchLine.Problem.noPasscode), ("alice:", .notDigits), ("alice:04711", .notDigits),
    ("alice:0471:", .notDigits), ("alice: 0471", .notDigits), ("alice:0471 ", .notDigits),
    ("alice:٠٤٧١", .notDigits), (":0471", .noUser), (":", .noUser), (" alice:0471", .noUser),
    ("alice\t:0471", .noUser), ("al\u{0}ice:0471", .noUser), ("alice\u{7f}:0471", .noUser),
    ("alice:0471\r", .carriageReturn), ("\r", .carriageReturn),
  ])
  func `what is wrong is named`(text: String, problem: BatchLine.Problem) {
    #expect(line(text) == .bad(problem))
  }

  @Test(arguments: [
    ("alice:0471", BatchLine.Problem.surplusPasscode), ("alice:", .surplusPasscode), ("a b", .noUser),
    ("alice\r", .carriageReturn),
  ])
  func `where a name is enough`(text: String, problem: BatchLine.Problem) {
    #expect(line(text, .user) == .bad(problem))
  }

  @Test func `names have at most 255 bytes`() {
    let name = String(repeating: "a", count: 255)
    #expect(line("\(name):0471") == .user(Bytes(text: name)))
    #expect(line("\(name)a:0471") == .bad(.noUser))
  }
}
