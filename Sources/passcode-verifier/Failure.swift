internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool

// Why a command fails, and its exit status. PasscodeTool has what the tool says, too.

extension Failure {
  /// One line for standard error.
  var text: Phrase { fault.map { Failure.told($0) } ?? phrase }

  static func unknownOption(_ text: Bytes) -> Failure {
    Failure(
      .usage,
      "unknown option, or one without its value: \(printable(text)); see passcode server --help")
  }

  static func unknownCommand(_ word: Bytes) -> Failure {
    Failure(.usage, "no command \"\(printable(word))\": see passcode server --help")
  }

  static func operands(_ command: Command) -> Failure {
    Failure(
      .usage,
      "usage: \(Words.command(command, command.takesUser ? "USER" : "")); see passcode server --help")
  }

  static func notItsOption(_ command: Command, _ option: Order.Option) -> Failure {
    Failure(.usage, "\(command.name) has no option --\(option.entry.text): see passcode server --help")
  }

  static var expiresValue: Failure {
    Failure(.usage, "--expires needs a time like 90m, 12h, 7d or 2w: a minute to 90 days")
  }

  static var leastValue: Failure {
    Failure(
      .usage, "--at-least needs CLUSTER:REVISION:TERM, three decimal numbers that another server has seen")
  }

  static var needsBatch: Failure {
    Failure(.usage, "--output, --show, --skip-enrolled and --json need --batch")
  }

  static var notWithBatch: Failure {
    Failure(.usage, "--batch can't be used with USER or --stdin: the users are in the list")
  }

  static var outputNeedsSecrets: Failure { Failure(.usage, "--output, --show and --length need --generate") }

  static var jsonNeedsOutput: Failure {
    Failure(.usage, "--json needs --output FILE here: passcodes and codes are in no JSON")
  }

  static var withdrawOnly: Failure { Failure(.usage, "--withdraw can't be used with --expires") }

  static var workstationOnly: Failure {
    Failure(.usage, "--workstation can't be used with USER, --batch or --json")
  }

  static var root: Failure {
    Failure(.notPermitted, "root's passcode is never a fleet's: set it on each machine, with passcode enroll")
  }

  static var noServiceAccount: Failure {
    Failure(.unusable, "there is no account \(Installed.account): install the package libpam-passcode again")
  }

  static func notEnrolled(_ name: Bytes) -> Failure {
    Failure(
      .notEnrolled,
      "no passcode is set for \(printable(name)); to set one: \(Words.command(.enroll, Text(printable(name))))"
    )
  }

  static func noCode(_ name: Bytes) -> Failure {
    Failure(.notEnrolled, "no one-time code is valid for \(printable(name)): there is nothing to withdraw")
  }

  static func notListed(_ name: Bytes) -> Failure {
    Failure(
      .notEnrolled,
      "\(printable(name)) is not in \(FleetServer.workstationsPath): give the full name, as it is there")
  }

  static func codeUsed(_ name: Bytes) -> Failure {
    Failure(
      .unusable,
      "a passcode was set for \(printable(name)) in the meantime, so the one-time code is no longer valid; if somebody else may have set it, run: \(Words.command(.disable, Text(printable(name))))"
    )
  }

  /// What was told to nobody works all the same.
  static var unwritableSecret: Failure {
    Failure(.unusable, "it was set, but could not be written to standard output: run the command again")
  }

  /// A fault in words, with the command of this program that helps.
  static func told(_ fault: Fault) -> Phrase {
    let words = fault.advice.phrase
    return switch fault.reason {
    case .missing where fault.path == FleetServer.optionsPath:
      "\(words); write it, with a line fleet=NAME: see passcode-verifier(8)"
    case .missing where fault.path == SeenFile.usualPath:
      "\(words); this server has seen nothing of etcd yet: run \(Words.command(.seen))"
    case .fleetRestored where (try? FileStatus.of(SeenFile.usualPath))?.size == 0:
      "\(words); only if this server is new and etcd wasn't restored, run: \(Words.command(.seen, "--first"))"
    case .missing where fault.path == FleetKey.usualPath:
      "\(words); on the fleet's first server, run: \(Words.command(.initialize)); on any other, copy it from a server that has it, keeping its owner and mode"
    case .missing where fault.path == FleetServer.workstationsPath:
      "\(words); create it, with a line for each workstation, such as CN=ws1"
    case .missing where fault.path == FleetServer.passwordPath:
      "\(words); copy it from another server, keeping its owner and mode"
    case .keyNeeded:
      "no key was made: etcd already has records of this fleet, which need its key; copy \(printable(fault.path)) from another server, or from the offline copy (fleet.tar), keeping its owner and mode"
    case .noEtcd: "\(words); on each server, run: \("systemctl status etcd" as Text)"
    case .busyRecord: "another attempt on this passcode is under way: try again"
    default: words
    }
  }
}

/// One line on standard error.
func complain(_ text: Text) {
  Stream.error.write(Text("passcode server: \(text)\n").bytes)
}

func complain(_ phrase: Phrase) { complain(phrase.text) }
