internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool

/// The tool: reads its arguments, runs one command, and says how it ended by its exit status.
@main
struct Main {
  static func main() {
    Catalogue.useLanguageOfEnvironment()
    exitProcess(run().rawValue)
  }

  private static func run() -> ExitStatus {
    do throws(Failure) {
      if let status = try ProofRequest.answered() { return status }
      try VerifierProgram.takeOver()
      return try Invocation.parse().run()
    } catch {
      complain(error.text)
      return error.status
    }
  }
}

/// One line on stderr.
func complain(_ phrase: Phrase) {
  Stream.error.write("passcode: \(phrase)\n")
}

func printLine(_ phrase: Phrase) {
  Stream.output.write("\(phrase)\n")
}

extension Stream {
  @discardableResult
  func write(_ text: Text) -> Bool {
    write(text.bytes)
  }

  @_disfavoredOverload @discardableResult
  func write(_ phrase: Phrase) -> Bool {
    write(phrase.text)
  }
}
