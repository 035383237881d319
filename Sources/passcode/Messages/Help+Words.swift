internal import PasscodePolicy

// What `--help` says.

/// Of each command in one line, and around them.
enum CommandHelp {
  static var enroll: Phrase { "set a passcode (asked twice), or replace the old one" }
  static var change: Phrase { "ask for the old passcode, then set a new one; the length may change" }
  static var remove: Phrase { "remove the passcode" }
  static var unlock: Phrase { "end a lock after too many failures" }
  static var disable: Phrase { "disable a passcode without removing it" }
  static var enable: Phrase { "enable a disabled passcode again" }
  static var rename: Phrase { "keep the passcode of an account that was renamed" }
  static var status: Phrase { "say whether a passcode is set, and its state" }
  static var list: Phrase { "show the state of every enrolled user" }
  static var verify: Phrase { "say whether a passcode is right: an attempt that counts like any other" }
  static var key: Phrase { "machine key: \(KeyAction.names)" }
  static var verifier: Phrase {
    "on a fleet's server: enroll, invite, unlock, status and more; see passcode-verifier(8)"
  }
  static var check: Phrase { "say what is wrong with the installation, and what to do" }
  static var checkWeak: Phrase { "read codes, one per line, and say which are weak and why" }
  static var calibrate: Phrase { "measure which cost of hashing suits this machine" }
  static var tryOut: Phrase { "try everything in a temporary store; nothing on the system changes" }

  static var usage: Phrase { "Usage: passcode COMMAND [USER] [OPTIONS]\n\n" }

  static var options: Phrase { "\nOptions (\"passcode COMMAND --help\" shows those of one command):\n" }

  static func usage(_ command: Command) -> Phrase {
    "Usage: passcode \(command.name)\(command.operand.text) [OPTIONS]\n\n  \(command.summary)\n\nOptions:\n"
  }
}

extension Command.Operand {
  var text: Text {
    switch self {
    case .none: ""
    case .user: " [USER]"
    case .otherUser: " USER"
    case .keyAction, .verifierAction: " ACTION"
    case .names: " OLD NEW"
    }
  }
}

extension Command.Option {
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
    case .expires: "--expires TIME  "
    case .mustChange: "--must-change   "
    case .demo: "--demo          "
    case .pcrs: "--pcrs LIST     "
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

  var summary: Phrase {
    switch self {
    case .conf: "use this file instead of /etc/security/passcode.conf"
    case .quiet: "print nothing on success"
    case .help: "this text"
    case .version: "the version"
    case .json: "status, list, check, check-weak, --batch: one JSON object per line, for programs"
    case .stdin: "read secrets from standard input, one per line; nothing is asked twice"
    case .length: "how many digits the new passcode must have"
    case .generate: "choose a random passcode and print it once"
    case .force: "root: don't ask for the old passcode; enrol even if the password is 4 or 6 digits"
    case .pcrs: "seal, recover: bind the key to these PCRs of the TPM, such as 7"
    case .expires: "root: the passcode expires after this time, such as 12h or 7d, or at a date"
    case .mustChange: "root: the passcode opens one login, then works only for \"passcode change\""
    case .demo: "run a scripted session, and check every step"
    case .batch: "root: do this for each user in a list; its lines are USER or USER:PASSCODE"
    case .output: "with --batch and --generate: append USER:PASSCODE to this file"
    case .show: "with --batch and --generate: show passcodes on a terminal"
    case .skipEnrolled: "with --batch: skip users who already have a passcode"
    case .target: "how long a hash may take: 10ms to 10s, by default 250ms"
    case .write: "root: put the result into the configuration file"
    case .state:
      "only passcodes in this state: ok, locked, exhausted, disabled, expired, must_change, corrupt"
    case .since: "only passcodes set, used or mistyped within the past TIME, such as 90s, 30m, 12h or 7d"
    }
  }
}
