internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeTool

/// One command of the tool: what `--help` says of it, what it accepts, and what it does.
struct Command {
  enum Operand: Equatable {
    case none
    /// `[USER]`: one's own account where the name is left out.
    case user
    /// `USER`
    case otherUser
    /// `ACTION`: one of `KeyAction`
    case keyAction
    /// `ACTION …`: passcode-verifier's
    case serverAction
    /// `OLD NEW`
    case names
  }

  /// The title under which `--help` lists the command.
  enum Group: CaseIterable {
    case yourself, others, machine, fleet
  }

  let name: Text
  var operand = Operand.none
  var group = Group.yourself
  var options: [Option] = []
  /// Called only where it is shown: every run makes the table.
  let words: () -> Phrase
  let run: (Session) throws(Failure) -> ExitStatus
  /// How a person without root's privileges runs the command, by the helper; nil where only root can.
  var runOwn: ((SelfService) -> () throws(Failure) -> ExitStatus)?
  /// What `--batch` does for each user in a list.
  var batch: Act?

  var summary: Phrase { words() }

  /// All commands, in the order of `--help`.
  static func table() -> [Command] { forEveryone() + forAdministrators() }

  private static func forEveryone() -> [Command] {
    [
      Command(
        name: "enroll", operand: .user,
        options: [.length, .stdin, .generate, .force, .expires, .mustChange, .batch]
          + [.output, .show, .skipEnrolled],
        words: { CommandHelp.enroll }, run: runEnroll, runOwn: SelfService.enroll, batch: .enrolled),
      Command(
        name: "change", operand: .user, options: [.length, .stdin, .force], words: { CommandHelp.change },
        run: runChange, runOwn: SelfService.change),
      Command(
        name: "remove", operand: .user, options: [.stdin, .batch], words: { CommandHelp.remove },
        run: runRemove, runOwn: SelfService.remove, batch: .removed),
      Command(
        name: "unlock", operand: .user, options: [.stdin, .batch], words: { CommandHelp.unlock },
        run: runUnlock, runOwn: SelfService.unlock, batch: .unlocked),
      Command(
        name: "pause", operand: .user, options: [.batch, .all, .evenLockedOut], words: { CommandHelp.pause },
        run: runPause, runOwn: SelfService.pause, batch: .paused),
      Command(
        name: "resume", operand: .user, options: [.stdin, .batch, .all], words: { CommandHelp.resume },
        run: runResume, runOwn: SelfService.resume, batch: .resumed),
      Command(
        name: "status", operand: .user, words: { CommandHelp.status },
        run: runStatus, runOwn: SelfService.showStatus),
      Command(
        name: "verify", operand: .user, options: [.stdin], words: { CommandHelp.verify }, run: runVerify,
        runOwn: SelfService.verify),
    ]
  }

  private static func forAdministrators() -> [Command] {
    [
      Command(
        name: "list", group: .others, options: [.state, .since], words: { CommandHelp.list }, run: runList),
      Command(
        name: "disable", operand: .otherUser, group: .others, options: [.batch],
        words: { CommandHelp.disable }, run: runDisable, batch: .disabled),
      Command(
        name: "enable", operand: .otherUser, group: .others, options: [.batch],
        words: { CommandHelp.enable }, run: runEnable, batch: .enabled),
      Command(name: "rename", operand: .names, group: .others, words: { CommandHelp.rename }, run: runRename),
      Command(name: "check", group: .machine, words: { CommandHelp.check }, run: runCheck),
      Command(
        name: "key", operand: .keyAction, group: .machine,
        options: [.stdin, .pcrs, .force, .mustChange, .check, .forgetSealed], words: { CommandHelp.key },
        run: runKey),
      Command(
        name: "calibrate", group: .machine, options: [.target, .write], words: { CommandHelp.calibrate },
        run: runCalibrate),
      Command(
        name: "configure", group: .machine, options: [.preset, .dryRun, .stdin, .evenLockedOut],
        words: { CommandHelp.configure }, run: runConfigure),
      Command(name: "check-weak", group: .machine, words: { CommandHelp.checkWeak }, run: runCheckWeak),
      Command(name: "try", group: .machine, options: [.demo], words: { CommandHelp.tryOut }, run: runTry),
      Command(
        name: "server", operand: .serverAction, group: .fleet, words: { CommandHelp.server }, run: runServer),
    ]
  }

  /// An option of the tool.
  enum Option: CaseIterable {
    case conf, quiet, help, version, json, stdin, length, generate, force, expires, mustChange, demo, batch,
      all, evenLockedOut, output, show, skipEnrolled, target, write, preset, dryRun, state, since, pcrs,
      check, forgetSealed

    static let everywhere: [Option] = [.conf, .json, .quiet, .help, .version]

    var entry: Arguments.Option {
      switch self {
      case .conf: Arguments.Option("conf", "FILE")
      case .quiet: Arguments.Option("quiet")
      case .help: Arguments.Option("help")
      case .version: Arguments.Option("version")
      case .json: Arguments.Option("json")
      case .stdin: Arguments.Option("stdin")
      case .length: Arguments.Option("length", "4|6")
      case .generate: Arguments.Option("generate")
      case .force: Arguments.Option("force")
      case .expires: Arguments.Option("expires", "TIME")
      case .mustChange: Arguments.Option("must-change")
      case .demo: Arguments.Option("demo")
      case .check: Arguments.Option("check")
      case .forgetSealed: Arguments.Option("forget-sealed")
      case .pcrs: Arguments.Option("pcrs", "LIST")
      case .batch: Arguments.Option("batch", "FILE|-")
      case .all: Arguments.Option("all")
      case .evenLockedOut: Arguments.Option("even-locked-out")
      case .output: Arguments.Option("output", "FILE")
      case .show: Arguments.Option("show")
      case .skipEnrolled: Arguments.Option("skip-enrolled")
      case .target: Arguments.Option("target", "TIME")
      case .write: Arguments.Option("write")
      case .preset: Arguments.Option("preset", "NAME")
      case .dryRun: Arguments.Option("dry-run")
      case .state: Arguments.Option("state", "STATE")
      case .since: Arguments.Option("since", "TIME")
      }
    }
  }
}

// MARK: - Help

extension Command {
  static func overview() -> Text {
    var text = CommandHelp.usage.text
    for group in Group.allCases {
      text += "\(group.title)\n"
      for command in table() where command.group == group {
        text += "  \(padded("\(command.name)\(command.operand.text)", 16))\(command.summary)\n"
      }
      text += "\n"
    }
    text += "\(CommandHelp.options)\n"
    for option in Option.everywhere { text += "  \(option.column)\(option.summary)\n" }
    return text + "\n\(CommandHelp.examples)"
  }

  func help() -> Text {
    var text = CommandHelp.usage(self).text
    if operand == .keyAction {
      text += "\(CommandHelp.actions)\n"
      for action in KeyAction.allCases { text += "  \(padded(action.name, 16))\(action.summary)\n" }
      text += "\n"
    }
    text += "\(CommandHelp.options)\n"
    for option in options + Option.everywhere { text += "  \(option.column)\(summary(of: option))\n" }
    return text
  }
}
