internal import PasscodeFleet
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

extension Failure {
  /// One line for standard error: what, where, what to do.
  var text: Phrase {
    switch self {
    case .fault(let fault): Failure.told(fault)
    case .unknownOption(let text):
      "unknown option, or one without its value: \(printable(text)); see passcode server --help"
    case .unknownCommand(let word): "no command \"\(printable(word))\": see passcode server --help"
    case .operands(let command):
      "usage: \(Words.command(command, command.takesUser ? "USER" : "")); see passcode server --help"
    case .notItsOption(let command, let option):
      "\(command.name) has no option --\(option.entry.text): see passcode server --help"
    case .lengthValue: "--length needs 4 or 6"
    case .expiresValue: "--expires needs a time like 90m, 12h, 7d or 2w: a minute to 90 days"
    case .needsBatch: "--output, --show, --skip-enrolled and --json need --batch"
    case .notWithBatch: "--batch can't be used with USER or --stdin: the users are in the list"
    case .outputNeedsSecrets: "--output, --show and --length need --generate"
    case .jsonNeedsOutput: "--json needs --output FILE here: passcodes and codes are in no JSON"
    case .withdrawOnly: "--withdraw can't be used with --expires"
    case .workstationOnly: "--workstation can't be used with USER, --batch or --json"
    case .root: "root's passcode is never a fleet's: set it on each machine, with passcode enroll"
    case .needsRoot: "only root can do that: run it with sudo"
    case .noServiceAccount:
      "there is no account \(Installed.account): install the package libpam-passcode again"
    case .noLibrary: "libsodium could not be initialised"
    case .notEnrolled(let name):
      "no passcode is set for \(printable(name)); to set one: \(Words.command(.enroll, Text(printable(name))))"
    case .noCode(let name): "no one-time code is valid for \(printable(name)): there is nothing to withdraw"
    case .notListed(let name):
      "\(printable(name)) is not in \(FleetServer.workstationsPath): give the full name, as it is there"
    case .codeUsed(let name):
      "a passcode was set for \(printable(name)) in the meantime, so the one-time code is no longer valid; if somebody else may have set it, run: \(Words.command(.disable, Text(printable(name))))"
    case .notDigits: "a passcode is 4 or 6 digits"
    case .mismatch: "The passcodes do not match. Start again."
    case .lengthNotAllowed(let length):
      "the passcode must have \(UInt64(length)) digits, and the configuration (lengths) must allow that"
    case .refused(.length): "the configuration (lengths) doesn't allow that length; see passcode.conf(5)"
    case .refused(.weak(let weakness)): "too easy to guess: \(Phrase(weakness.sentence))"
    case .noTerminal: "there is no terminal to ask on: use --stdin"
    case .cancelled: "cancelled; nothing was changed"
    case .noRandomPasscode:
      "could not generate a passcode that passes the weakness rules: is weak_list too long?"
    case .unwritable: "can't write to standard output"
    case .unwritableSecret:
      "it was set, but could not be written to standard output: run the command again"
    case .list(let path, let error), .output(let path, let error):
      Phrase("\(printable(path)): \(error.localText)" as Text)
    case .typed: "passcodes typed here could be seen: --batch needs a file or a pipe"
    case .shown:
      "passcodes and codes are printed only into a pipe: for a file use --output FILE, for a terminal --show"
    case .openOutput(let path): "\(printable(path)): needs owner root and mode 0600, or must not exist"
    case .inUse(let path): "\(printable(path)): another run is writing to it"
    }
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
