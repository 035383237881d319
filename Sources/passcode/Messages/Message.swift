internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// What the tool says besides failures and reports: that something worked, or could be better.
enum Message {
  case did(Act, Bytes)
  /// The account was in that state before.
  case already(Act, Bytes)
  case noFailures(Bytes)
  case right
  case keyCreated(Bytes)
  case storeCreated(Bytes)
  case keyWorks(Vault.KeyForm)
  case keySealed(Bytes)
  case keyLoaded
  case nothingSealed
  case keyUnsealed(Bytes)
  case keyRecovered
  case rotationGoesOn
  case keyRotated(UInt64)
  /// What remains of a key that was replaced.
  case oldKeyOverwritten, oldKeyKept
  /// What that means for the passcodes.
  case passcodesKnown, passcodesMustChange
  case recoveryCopy
  case keyID([Bytes])
  case recoveryFits(opened: UInt64, enrolled: UInt64)
  case passcodesLost(UInt64)
  case wrongLine(Int)
  case sharedFolder(Bytes)
  case easyPasscode(Weakness)
  /// The ways out for a person who doesn't remember a locked passcode.
  case forgotten
  case confirmRoot
  case measured(Options.Cost, milliseconds: UInt64)
}

extension Message {
  /// The message as one sentence.
  var text: Phrase {
    switch self {
    case .did(let act, let name): act.done(printable(name))
    case .already(let act, let name): act.already(printable(name))
    case .noFailures(let name): "\(printable(name)) has no failed attempts to clear."
    case .right: "Correct passcode."
    case .keyCreated(let path):
      "\(printable(path)): created. Back it up separately from the store: without it no passcode works."
    case .storeCreated(let path): "\(printable(path)): created. The machine key works."
    case .keyWorks(let form): form.text
    case .keySealed(let path):
      "\(printable(path)): sealed by this machine's TPM, and loaded. The plain key has been removed."
    case .keyLoaded: "The machine key is loaded."
    case .nothingSealed: "No machine key is sealed: there is nothing to load."
    case .keyUnsealed(let path): "\(printable(path)): plain again. The sealed key has been removed."
    case .keyRecovered: "The machine key works and is sealed again."
    case .rotationGoesOn:
      "The machine key is loaded. To finish its rotation, run: passcode key rotate"
    case .keyRotated(let count):
      Phrase(
        count, one: "\(count) passcode is under the new machine key. The old key has been removed.",
        other: "\(count) passcodes are under the new machine key. The old key has been removed.")
    case .oldKeyOverwritten:
      "The old key's file was overwritten. Snapshots and backups of the disk may still have it."
    case .oldKeyKept:
      """
      This file system does not overwrite in place: the old key may still be on the disk, and in snapshots and backups \
      of it.
      """
    case .passcodesKnown:
      """
      Anybody who may have had key and store together knows the passcodes. To have each of them changed, run: passcode \
      key rotate --must-change
      """
    case .passcodesMustChange: "Each passcode is good for one more login and must then be changed."
    case .recoveryCopy:
      """
      Recovery copy of the machine key. Write it down and lock it away: if the TPM fails, the passcodes can't be \
      used without it. It is shown only once.
      """
    case .keyID(let ids):
      "Key id: \(ids.reduce([]) { $0 + ($0.isEmpty ? [] : Bytes(text: ", ")) + hexadecimal($1) })."
    case .recoveryFits(let opened, let enrolled):
      "This recovery copy fits \(opened) of \(enrolled) passcodes."
    case .passcodesLost(let count):
      Phrase(
        count,
        one: "The sealed key is given up, and with it \(count) passcode: its owner must set a new one.",
        other: "The sealed key is given up, and with it \(count) passcodes: their owners must set new ones.")
    case .wrongLine(let number): "This is not line \(number): compare it digit by digit."
    case .sharedFolder(let path):
      Advice(
        Sentence(
          "warning: %1: the group root can write there; run: chmod -R go=,g-s %1", 0, [printable(path)]),
        exact: [path, [], []], in: Catalogue.translation
      ).phrase
    case .forgotten: "Forgotten? Set a new one with your password: \("passcode enroll" as Text)"
    case .confirmRoot: "Set a passcode for root, and not for another user? Type \("yes" as Text) to go on: "
    case .measured(let cost, let milliseconds):
      // A comment, so that it can be copied into the configuration file with the two lines.
      "# opslimit \(cost.operations) and memlimit \(cost.memory >> 20)M: a hash takes \(milliseconds) ms here"
    case .easyPasscode(let weakness): "Easy to guess: \(Phrase(weakness.sentence))."
    }
  }
}

extension Act {
  fileprivate func done(_ name: Bytes) -> Phrase {
    switch self {
    case .enrolled: "Passcode set for \(name)."
    case .changed: "Passcode changed for \(name)."
    case .removed: "Passcode removed for \(name)."
    case .unlocked: "Passcode unlocked for \(name)."
    case .disabled: "Passcode disabled for \(name)."
    case .enabled: "Passcode enabled for \(name)."
    case .renamed: "Passcode moved to \(name)."
    }
  }

  fileprivate func already(_ name: Bytes) -> Phrase {
    switch self {
    case .enrolled, .changed, .removed, .unlocked: done(name)
    case .renamed: "Passcode already moved to \(name)."
    case .disabled: "Passcode already disabled for \(name)."
    case .enabled: "Passcode already enabled for \(name)."
    }
  }
}

/// What the tool asks for.
enum Question {
  case passcode, password, passcodeOrPassword, oldPasscode
  case newPasscode(Digits)
  case repetition
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
    case .newPasscode(.four): "New passcode (4 digits): "
    case .newPasscode(.six): "New passcode (6 digits): "
    case .newPasscode(.fourOrSix): "New passcode (4 or 6 digits): "
    case .repetition: "Repeat new passcode: "
    case .oneTimeCode: "One-time code (8 letters): "
    case .agreement: "To go on, type yes: "
    case .recoveryLine(let number): "Line \(number) of the recovery copy (not shown): "
    }
  }
}
