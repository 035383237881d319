internal import PasscodePolicy
internal import PasscodeSystem

/// One command of the tool: what `--help` says of it, what it accepts, and what it does.
struct Command {
  enum Operand: Equatable {
    case none
    /// `[USER]`: oneself where it is left out.
    case user
    /// `USER`
    case otherUser
    /// `init|status`
    case keyAction

    var text: Text {
      switch self {
      case .none: ""
      case .user: " [USER]"
      case .otherUser: " USER"
      case .keyAction: " init|status"
      }
    }
  }

  let name: Text
  let operand: Operand
  let options: [Option]
  let summary: Text
  let run: (Session) throws(Failure) -> ExitStatus
  /// For oneself without root: by the helper. nil: nobody has it for themselves.
  var runOwn: ((SelfService) -> () throws(Failure) -> ExitStatus)?
  /// What `--batch` does to each user of a list.
  var batch: Act?

  /// All of them, in the order of `--help`.
  static func table() -> [Command] {
    [
      Command(
        name: "enroll", operand: .user,
        options: [.length, .stdin, .generate, .batch, .output, .show, .skipEnrolled],
        summary: "set a passcode (asked twice), or replace the old one", run: runEnroll,
        runOwn: SelfService.enroll, batch: .enrolled),
      Command(
        name: "change", operand: .user, options: [.length, .stdin, .force],
        summary: "ask for the old passcode, then set a new one; the length may change", run: runChange,
        runOwn: SelfService.change),
      Command(
        name: "remove", operand: .user, options: [.stdin, .batch], summary: "remove the passcode",
        run: runRemove,
        runOwn: SelfService.remove, batch: .removed),
      Command(
        name: "unlock", operand: .user, options: [.stdin, .batch],
        summary: "end a lock after too many failures",
        run: runUnlock, runOwn: SelfService.unlock, batch: .unlocked),
      Command(
        name: "disable", operand: .otherUser, options: [.batch],
        summary: "disable a passcode without removing it",
        run: runDisable, batch: .disabled),
      Command(
        name: "enable", operand: .otherUser, options: [.batch], summary: "enable a disabled passcode again",
        run: runEnable, batch: .enabled),
      Command(
        name: "status", operand: .user, options: [],
        summary: "say whether a passcode is set, and its state",
        run: runStatus, runOwn: SelfService.showStatus),
      Command(
        name: "list", operand: .none, options: [.state, .since], summary: "the state of every enrolled user",
        run: runList),
      Command(
        name: "verify", operand: .user, options: [.stdin], summary: "one attempt, counted like any other",
        run: runVerify, runOwn: SelfService.verify),
      Command(
        name: "key", operand: .keyAction, options: [], summary: "make the machine key, or check it",
        run: runKey),
      Command(
        name: "check-weak", operand: .none, options: [],
        summary: "read codes, one per line, and say which are weak and why", run: runCheckWeak),
      Command(
        name: "calibrate", operand: .none, options: [.target, .write],
        summary: "measure which cost of hashing suits this machine", run: runCalibrate),
      Command(
        name: "try", operand: .none, options: [.demo],
        summary: "try everything in a temporary store; nothing on the system changes", run: runTry),
    ]
  }

  /// An option of the tool.
  enum Option: CaseIterable {
    case conf, quiet, help, version, json, stdin, length, generate, force, demo, batch, output, show,
      skipEnrolled, target, write, state, since

    static let everywhere: [Option] = [.conf, .json, .quiet, .help, .version]

    var entry: Arguments.Option {
      switch self {
      case .conf: Arguments.Option("conf", takesValue: true)
      case .quiet: Arguments.Option("quiet")
      case .help: Arguments.Option("help")
      case .version: Arguments.Option("version")
      case .json: Arguments.Option("json")
      case .stdin: Arguments.Option("stdin")
      case .length: Arguments.Option("length", takesValue: true)
      case .generate: Arguments.Option("generate")
      case .force: Arguments.Option("force")
      case .demo: Arguments.Option("demo")
      case .batch: Arguments.Option("batch", takesValue: true)
      case .output: Arguments.Option("output", takesValue: true)
      case .show: Arguments.Option("show")
      case .skipEnrolled: Arguments.Option("skip-enrolled")
      case .target: Arguments.Option("target", takesValue: true)
      case .write: Arguments.Option("write")
      case .state: Arguments.Option("state", takesValue: true)
      case .since: Arguments.Option("since", takesValue: true)
      }
    }

    /// As `--help` shows it, 16 columns wide.
    var text: Text {
      switch self {
      case .conf: "--conf FILE     "
      case .quiet: "--quiet         "
      case .help: "--help, -h      "
      case .version: "--version       "
      case .json: "--json          "
      case .stdin: "--stdin         "
      case .length: "--length 4|6    "
      case .generate: "--generate      "
      case .force: "--force         "
      case .demo: "--demo          "
      case .batch: "--batch FILE|-  "
      case .output: "--output FILE   "
      case .show: "--show          "
      case .skipEnrolled: "--skip-enrolled "
      case .target: "--target TIME   "
      case .write: "--write         "
      case .state: "--state STATE   "
      case .since: "--since TIME    "
      }
    }

    var summary: Text {
      switch self {
      case .conf: "use this file instead of /etc/security/passcode.conf"
      case .quiet: "print nothing on success"
      case .help: "this text"
      case .version: "the version"
      case .json: "status, list, check-weak, --batch: one JSON object per line, for programs"
      case .stdin: "read passcodes from standard input, one per line, without asking twice"
      case .length: "how many digits the new passcode must have"
      case .generate: "choose a random passcode and print it once"
      case .force: "root: set a new passcode without the old one"
      case .demo: "run a scripted session, and check every step"
      case .batch: "root: for each line of a list, USER or USER:PASSCODE"
      case .output: "with --batch and --generate: append USER:PASSCODE to this file"
      case .show: "with --batch and --generate: show passcodes on a terminal"
      case .skipEnrolled: "with --batch: leave out who has a passcode already"
      case .target: "how long a hash may take: 10ms to 10s, by default 250ms"
      case .write: "root: put the result into the configuration file"
      case .state: "only these: ok, locked, exhausted, disabled or corrupt"
      case .since: "only if set, used or mistyped in this time: 90s, 30m, 12h, 7d"
      }
    }
  }
}

// MARK: - Help

extension Command {
  static func overview() -> Text {
    var text: Text = "Usage: passcode COMMAND [USER] [OPTIONS]\n\n"
    for command in table() {
      text += "  \(padded("\(command.name)\(command.operand.text)", 18))\(command.summary)\n"
    }
    text += "\nOptions (\"passcode COMMAND --help\" shows those of one command):\n"
    for option in Option.allCases { text += option.line }
    return text
  }

  func help() -> Text {
    var text: Text = "Usage: passcode \(name)\(operand.text) [OPTIONS]\n\n  \(summary)\n\nOptions:\n"
    for option in options + Option.everywhere { text += option.line }
    return text
  }
}

extension Command.Option {
  fileprivate var line: Text { "  \(text)\(summary)\n" }
}

/// The text, and blanks up to so many columns; at least one. For ASCII.
func padded(_ text: Text, _ width: Int) -> Text {
  text + Text(Bytes(repeating: UInt8(ascii: " "), count: max(1, width - text.bytes.count)))
}
