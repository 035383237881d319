// Says for each candidate on stdin why it is weak, as `passcode check-weak --json` does: one JSON object a
// line. For the scripts in this directory, which need the rules before they can make the table:
//
//   swiftc -O -parse-as-library Sources/PasscodePolicy/*.swift Tests/weak/CheckWeak.swift -o check-weak

@main struct CheckWeak {
  static func main() {
    let surroundings = Surroundings(now: 1_735_689_600)  // 2025, whenever it runs
    while let line = readLine() {
      let code = Bytes(text: line)
      let weakness = Weakness.of(code.span, in: surroundings)
      let reason = weakness.map { ",\"reason\":\"\($0.description)\"" } ?? ""
      print("{\"passcode\":\"\(line)\",\"weak\":\(weakness != nil)\(reason)}")
    }
  }
}
