internal import PasscodePolicy
internal import PasscodeSystem

/// The tool: reads its arguments, runs one command, and says how it ended by its exit status.
@main
struct Main {
  static func main() {
    exitProcess(run().rawValue)
  }

  private static func run() -> ExitStatus {
    do throws(Failure) {
      return try Invocation.parse().run()
    } catch {
      Stream.error.write(Bytes(text: "passcode: ") + error.text + Bytes(text: "\n"))
      return error.status
    }
  }
}
