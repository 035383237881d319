internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeTool

// What `passcode server --help` says. Each line has at most 80 columns, in every language.

extension Words {
  static var usage: Text {
    var text: Text = "\(head)"
    for command in Command.allCases { text += "  \(command.column)\(command.summary)\n" }
    text += "\n\(scriptsTitle)\n"
    for script in ServerScript.allCases {
      text += "  \(padded(script.name, 20))\(summary(of: script))\n"
    }
    text += "\n\(optionsTitle)\n"
    for option in Order.Option.allCases { text += "  \(option.column)\(option.summary)\n" }
    return text
  }

  private static var head: Phrase {
    """
    Usage: passcode server COMMAND [USER] [OPTIONS]

    On a server of a fleet, for root; see passcode-verifier(8).


    """
  }

  private static var optionsTitle: Phrase { "Options:" }

  private static var scriptsTitle: Phrase {
    "These commands have options of their own, and their own --help:"
  }

  private static func summary(of script: ServerScript) -> Phrase {
    switch script {
    case .create: "create a fleet of three or five fresh servers, over ssh"
    case .add: "add fresh servers to the fleet, over ssh"
    case .replace: "put a fresh server in place of a lost one, over ssh"
    case .inviteWorkstation: "print a token with which a workstation joins the fleet"
    }
  }
}

extension Command {
  fileprivate var column: Text { padded(takesUser ? "\(name) USER" : name, 17) }

  fileprivate var summary: Phrase {
    switch self {
    case .initialize: "create the fleet key and this server's directory"
    case .enroll: "set a passcode (asked twice), or replace the old one"
    case .invite: "make a one-time code, with which USER sets a passcode"
    case .remove: "remove the passcode and a one-time code"
    case .unlock: "clear a lockout and reset the failure count"
    case .disable: "disable a passcode without removing it"
    case .enable: "enable a disabled passcode again"
    case .status: "show whether a passcode is set, and its state"
    case .list: "show everybody who has a passcode or a one-time code"
    case .check: "show what is wrong on this server and what to do"
    case .metrics: "print metrics for Prometheus"
    case .seen: "record etcd's revision; say why this server doesn't answer"
    case .restored: "etcd was restored from a snapshot (run it on each server)"
    }
  }
}

extension Order.Option {
  fileprivate var column: Text { padded(Text(entry.usage), 20) }

  fileprivate var summary: Phrase {
    switch self {
    case .stdin: "enroll: read the passcode from standard input"
    case .generate: "enroll: choose a random passcode and print it once"
    case .length: "enroll: how many digits the new passcode must have"
    case .expires: "invite: how long the code is valid (default: 7d)"
    case .withdraw: "invite: withdraw the code instead"
    case .first: "seen: this server is new, and etcd was not restored"
    case .atLeast: "seen: other servers have seen etcd come this far"
    case .workstation: "unlock, status: a workstation instead, such as CN=ws1"
    case .since: "list: those set, used or mistyped within the past 12h, 2w…"
    case .batch: "for each line of this list: USER or USER:PASSCODE"
    case .output: "with --batch: append USER:PASSCODE or USER:CODE there"
    case .show: "--batch: print even on a terminal"
    case .skipEnrolled: "with --batch: skip users who have a passcode"
    case .json: "one JSON object per line; errors in English"
    case .quiet: "print nothing on success"
    case .help: "show this help"
    case .version: "show the version"
    }
  }
}
