internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeTool

// What `--help` says. Each line has at most 80 columns, in every language.

/// The texts of `--help`: a line for each command, and what stands around them.
enum CommandHelp {
  static var enroll: Phrase { "set a passcode (asked twice), or replace the old one" }
  static var change: Phrase { "change it: asks for the old one; the length may change" }
  static var remove: Phrase { "remove the passcode" }
  static var unlock: Phrase { "clear a lockout and reset the failure count" }
  static var pause: Phrase { "refuse passcode and fingerprint until the password is used" }
  static var resume: Phrase { "end a pause: asks for the password" }
  static var disable: Phrase { "disable a passcode without removing it" }
  static var enable: Phrase { "enable a disabled passcode again" }
  static var rename: Phrase { "move a passcode to its account's new name" }
  static var status: Phrase { "show whether a passcode is set, and its state" }
  static var list: Phrase { "show the state of every enrolled user" }
  static var verify: Phrase { "test a passcode (a wrong one counts as a failed attempt)" }
  static var key: Phrase { "root: the machine key, under which passcodes are sealed" }
  static var server: Phrase { "root: on a fleet's server; see passcode-verifier(8)" }
  static var check: Phrase { "show what is wrong with the installation and what to do" }
  static var checkWeak: Phrase { "say which codes on standard input are weak, and why" }
  static var calibrate: Phrase { "find the hashing cost that suits this machine" }
  static var configure: Phrase { "put options that go together into the configuration file" }
  static var tryOut: Phrase { "try everything in a temporary store; changes nothing else" }

  static var usage: Phrase {
    """
    Usage: passcode [COMMAND] [USER] [OPTIONS]
    A passcode of 4 or 6 digits for logins. Without a command: your own, as a menu.


    """
  }

  static var actions: Phrase { "Actions:" }
  static var options: Phrase { "Options:" }

  static var exampleTitle: Phrase { "Examples:" }
  static var ownExample: Phrase { "set your own passcode" }
  static var unlockExample: Phrase { "alice is locked out: let her try again" }
  static var checkExample: Phrase { "does everything work here?" }
  static var more: Phrase {
    "\("passcode COMMAND --help" as Text) explains a command, \("man passcode" as Text) everything."
  }

  static var examples: Text {
    """
    \(exampleTitle)
      passcode enroll              \(ownExample)
      sudo passcode unlock alice   \(unlockExample)
      sudo passcode check          \(checkExample)

    \(more)

    """
  }

  static func usage(_ command: Command) -> Phrase {
    "Usage: passcode \(command.name)\(command.operand.text) [OPTIONS]\n\n  \(command.summary)\n\n"
  }
}

extension Command.Group {
  var title: Phrase {
    switch self {
    case .yourself: "Your own passcode (root: anybody's, with USER):"
    case .others: "Other people's passcodes (only root):"
    case .machine: "The machine:"
    case .fleet: "A fleet of workstations:"
    }
  }
}

extension Command.Operand {
  var text: Text {
    switch self {
    case .none: ""
    case .user: " [USER]"
    case .otherUser: " USER"
    case .keyAction, .serverAction: " ACTION"
    case .names: " OLD NEW"
    }
  }
}

extension KeyAction {
  var summary: Phrase {
    switch self {
    case .initialise: "create the key and the store, if there are none"
    case .status: "show whether the key is there and fits the passcodes"
    case .seal: "seal the key with the TPM and print a recovery copy once"
    case .mount: "prepare memory for the unsealed key (done at each boot)"
    case .load: "unseal the key until the next boot (done at each boot)"
    case .unseal: "go back to a key file that is not sealed"
    case .recover: "type in the recovery copy when the TPM fails"
    case .rotate: "make a new key; nobody has to enrol again"
    }
  }

}

extension Command.Option {
  var column: Text { padded(Text(entry.usage), 16) }

  /// The option in one line of a command's `--help`.
  var summary: Phrase {
    switch self {
    case .conf: "use this file instead of /etc/security/passcode.conf"
    case .quiet: "print nothing on success"
    case .help: "show this help"
    case .version: "show the version"
    case .json: "for programs: a JSON object per line; errors in English"
    case .stdin: "read the passcode from standard input"
    case .length: "how many digits the new passcode must have"
    case .generate: "choose a random passcode and print it once"
    case .force: "root: don't ask for the old passcode"
    case .check: "recover: only say whether the recovery copy fits"
    case .forgetSealed: "init: give up a sealed key that nothing can unseal"
    case .pcrs: "seal, recover: bind the key to these PCRs, such as 7"
    case .expires: "root: until when it is valid: 12h, 7d, 2w, or a date"
    case .mustChange: "root: good for one login; after that it must be changed"
    case .demo: "run a scripted session and check every step"
    case .batch: "root: for each user of this list, one name per line"
    case .all: "root: for everybody who has a passcode on this machine"
    case .evenLockedOut: "root: also those who have no password to end the pause"
    case .output: "with --batch and --generate: append USER:PASSCODE there"
    case .show: "--batch --generate: print even on a terminal"
    case .skipEnrolled: "with --batch: skip users who already have a passcode"
    case .target: "how long a hash may take: 10ms to 10s (default: 250ms)"
    case .write: "root: put the result into the configuration file"
    case .preset: "which options: desktop"
    case .dryRun: "only show what would be changed"
    case .state: "ok, locked, exhausted, disabled, expired, must_change, paused…"
    case .since: "those set, used or mistyped within the past 90s, 12h, 2w…"
    }
  }
}

extension Command {
  /// What an option means here.
  func summary(of option: Option) -> Phrase {
    switch option {
    case .stdin: CommandHelp.input(name)
    case .force where name.bytes.spells("key"): "seal, rotate: print the recovery copy into a file or pipe"
    case .mustChange where name.bytes.spells("key"):
      "rotate: each passcode must be changed after one more login"
    case .evenLockedOut where batch == nil: "even if somebody has a passcode and no password"
    case .force where batch == .enrolled: "root: even if the password is itself 4 or 6 digits"
    case .batch where batch == .enrolled: "root: for each line of this list: USER or USER:PASSCODE"
    case .conf, .quiet, .help, .version, .json, .length, .generate, .force, .pcrs, .expires, .mustChange,
      .demo,
      .batch, .all, .evenLockedOut, .output, .show, .skipEnrolled, .target, .write, .preset, .dryRun,
      .state, .since, .check,
      .forgetSealed:
      option.summary
    }
  }
}

extension CommandHelp {
  /// What a command reads with `--stdin`, one secret per line.
  fileprivate static func input(_ command: Text) -> Phrase {
    let name = command.bytes
    if name.spells("enroll") { return "read password (root: none) and passcode, a line each" }
    if name.spells("change") { return "read the old and the new passcode, a line each" }
    if name.spells("remove") { return "read the passcode or the password from standard input" }
    if name.spells("unlock") || name.spells("resume") { return "read the password from standard input" }
    if name.spells("configure") { return "read the answer from standard input: yes" }
    if name.spells("key") { return "recover: read the recovery copy from standard input" }
    return Command.Option.stdin.summary
  }
}
