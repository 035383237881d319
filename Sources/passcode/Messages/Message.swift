internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool

// What the tool says besides failures and reports: that something worked, or could be better.

extension Phrase {
  static var right: Phrase { "Correct passcode." }
  /// Where a pause holds, if a fleet's servers keep the passcode.
  static var onlyHere: Phrase {
    "On this workstation only: the fleet's servers and its other workstations know nothing of it."
  }

  static func keyCreated(_ path: Bytes) -> Phrase {
    "\(printable(path)): created. Back it up separately from the store: without it no passcode works."
  }

  static func storeCreated(_ path: Bytes) -> Phrase { "\(printable(path)): created. The machine key works." }

  static func keySealed(_ path: Bytes) -> Phrase {
    "\(printable(path)): sealed by this machine's TPM, and loaded. The plain key has been removed."
  }

  static var keyLoaded: Phrase { "The machine key is loaded." }

  static var nothingSealed: Phrase { "No machine key is sealed: there is nothing to load." }

  static func keyUnsealed(_ path: Bytes) -> Phrase {
    "\(printable(path)): plain again. The sealed key has been removed."
  }

  static var keyRecovered: Phrase { "The machine key works and is sealed again." }

  static var rotationGoesOn: Phrase {
    "The machine key is loaded. To finish its rotation, run: passcode key rotate"
  }

  static func keyRotated(_ count: UInt64) -> Phrase {
    Phrase(
      count, one: "\(count) passcode is under the new machine key. The old key has been removed.",
      other: "\(count) passcodes are under the new machine key. The old key has been removed.")
  }

  static var oldKeyOverwritten: Phrase {
    "The old key's file was overwritten. Snapshots and backups of the disk may still have it."
  }

  static var oldKeyKept: Phrase {
    """
    This file system does not overwrite in place: the old key may still be on the disk, and in snapshots and backups \
    of it.
    """
  }

  /// What a replaced key means for the passcodes.
  static var passcodesKnown: Phrase {
    """
    Anybody who may have had key and store together knows the passcodes. To have each of them changed, run: passcode \
    key rotate --must-change
    """
  }

  static var passcodesMustChange: Phrase {
    "Each passcode is good for one more login and must then be changed."
  }

  static var recoveryCopy: Phrase {
    """
    Recovery copy of the machine key. Write it down and lock it away: if the TPM fails, the passcodes can't be \
    used without it. It is shown only once.
    """
  }

  static func keyID(_ ids: [Bytes]) -> Phrase {
    "Key id: \(ids.reduce([]) { $0 + ($0.isEmpty ? [] : Bytes(text: ", ")) + hexadecimal($1) })."
  }

  static func recoveryFits(opened: UInt64, enrolled: UInt64) -> Phrase {
    "This recovery copy fits \(opened) of \(enrolled) passcodes."
  }

  static func passcodesLost(_ count: UInt64) -> Phrase {
    Phrase(
      count,
      one: "The sealed key is given up, and with it \(count) passcode: its owner must set a new one.",
      other: "The sealed key is given up, and with it \(count) passcodes: their owners must set new ones.")
  }

  static func wrongLine(_ number: Int) -> Phrase { "This is not line \(number): compare it digit by digit." }

  static func sharedFolder(_ path: Bytes) -> Phrase {
    Advice(
      Sentence(
        "warning: %1: the group root can write there; run: chmod -R go=,g-s %1", 0, [printable(path)]),
      exact: [path, [], []], in: Catalogue.translation
    ).phrase
  }

  /// The ways out for a person who doesn't remember a locked passcode.
  static var forgotten: Phrase { "Forgotten? Set a new one with your password: \("passcode enroll" as Text)" }

  static var confirmRoot: Phrase {
    "Set a passcode for root, and not for another user? Type \("yes" as Text) to go on: "
  }

  static func presetWritten(_ preset: Preset, _ path: Bytes) -> Phrase {
    "\(printable(path)) now has the preset \(Text(preset.name)). To check the PAM stacks, run: \("passcode check" as Text)"
  }

  static func presetHolds(_ preset: Preset, _ path: Bytes) -> Phrase {
    "\(printable(path)) already has the preset \(Text(preset.name))."
  }

  static func measured(_ cost: Options.Cost, milliseconds: UInt64) -> Phrase {
    // A comment, so that it can be copied into the configuration file with the two lines.
    "# opslimit \(cost.operations) and memlimit \(cost.memory >> 20)M: a hash takes \(milliseconds) ms here"
  }
}

/// What the tool asks for.
enum Question {
  case passcode, password, passcodeOrPassword, oldPasscode
  case oneTimeCode
  case recoveryLine(Int)
  case agreement
}

extension Question {
  /// The prompt's text.
  var text: Phrase {
    switch self {
    case .passcode: "Passcode: "
    case .password: "Password: "
    case .passcodeOrPassword: "Passcode or password: "
    case .oldPasscode: "Old passcode: "
    case .oneTimeCode: "One-time code (8 letters): "
    case .agreement: "To go on, type yes: "
    case .recoveryLine(let number): "Line \(number) of the recovery copy (not shown): "
    }
  }
}
