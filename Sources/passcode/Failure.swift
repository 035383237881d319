internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// Why a command fails, and its exit status. PasscodeTool has what passcode-verifier says, too.

extension Failure {
  static func enrolment(_ error: EnrolmentError) -> Failure {
    switch error {
    case .fault(let fault): .fault(fault)
    case .refused: Failure(.refused, "no passcode was set: the configuration no longer allows it")
    }
  }

  /// One line for standard error.
  var text: Phrase { fault?.words ?? phrase }

  /// Somebody else's attempt holds the record and doesn't move.
  static func held(_ fault: Fault, _ holder: Holder) -> Failure { Failure(.unusable, holder.text(fault)) }

  static var noAttempt: Failure { Failure(.refused, "a passcode is 4 or 6 digits; nothing was counted") }
  static var longPassword: Failure { Failure(.refused, "the password is too long; nothing was changed") }
  static var wrongPassword: Failure { Failure(.wrong, "wrong password; nothing was changed") }

  /// The correct password, itself 4 or 6 digits.
  static var passwordIsDigits: Failure {
    Failure(
      .refused,
      """
      your password is itself 4 or 6 digits: where one prompt takes both, it would count as a wrong passcode each \
      time and never be tried as the password. Change your password first, or ask root to enrol you
      """)
  }

  static func notEnrolled(_ name: Bytes) -> Failure {
    Failure(.notEnrolled, "no passcode is set for \(printable(name))")
  }

  static func noDeletedAccount(_ name: Bytes) -> Failure {
    Failure(
      .notEnrolled,
      "there is no account \(printable(name)), nor a passcode of a deleted account of that name or number")
  }

  static func noAccount(_ name: Bytes) -> Failure { Failure(.unusable, "no account \(printable(name))") }

  /// There is still an account under the old name: `usermod -l` has to come before `rename`.
  static func stillThere(_ name: Bytes) -> Failure {
    Failure(.unusable, "there is still an account \(printable(name)): rename it first, with usermod -l")
  }

  static var disabled: Failure {
    Failure(.locked, "disabled by the administrator: only an administrator can enable it again")
  }

  /// The caller may only look at the status.
  static var onlyStatus: Failure {
    Failure(.locked, "disabled by the administrator; until it is enabled again, you can only see its status")
  }

  static var otherPerson: Failure {
    Failure(.notPermitted, "another user's passcode: only root can do that; run it with sudo")
  }

  static var notPermitted: Failure {
    Failure(.notPermitted, "another user's passcode: only that user and root can try it")
  }

  /// An option that only root may use.
  static func onlyRootUses(_ option: Command.Option) -> Failure {
    Failure(.notPermitted, "only root can use --\(option.entry.text)")
  }

  static var selfServiceClosed: Failure {
    Failure(.notPermitted, "only root can do that (self_enroll=no or second_factor=yes in the configuration)")
  }

  static var endlessPause: Failure {
    Failure(
      .notPermitted,
      "second_factor=yes: the password would not end a pause; root can run \("passcode disable" as Text)")
  }

  /// Nobody can prove the account's password.
  static func noPassword(_ name: Bytes) -> Failure {
    Failure(.notPermitted, "\(printable(name)): \(BatchOutcome.noPassword.text(.paused))")
  }

  /// A fleet's servers keep the passcode; and which command would do it there.
  static func fleets(_ command: Text, _ name: Bytes) -> Failure {
    Failure(
      .notPermitted,
      "the servers of a fleet keep the passcode of \(printable(name)); on one of them, run as root: \(serverCommand(command, name))"
    )
  }

  /// The account is the fleet's, and no server has answered.
  static func fleetSilent(_ name: Bytes, _ fault: Fault) -> Failure {
    Failure(
      .unusable,
      "a fleet's servers keep the passcode of \(printable(name)), but could not be used: \(fault.words)")
  }

  /// What was typed there is no one-time code, or a wrong one; or none is valid.
  static var notCode: Failure {
    Failure(.refused, "a one-time code is 8 letters, never I or O; nothing was counted")
  }

  static var wrongCode: Failure {
    Failure(.wrong, "wrong one-time code, which counts as a wrong passcode; no passcode was set")
  }

  static func noCode(_ name: Bytes) -> Failure {
    Failure(
      .notEnrolled,
      "no one-time code is valid for \(printable(name)): it was used or withdrawn, or has expired; ask an administrator for a new one"
    )
  }

  static var forbidden: Failure { Failure(.notPermitted, "not permitted") }

  /// `try` was ended by a signal.
  static var trialEnded: Failure {
    Failure(.cancelled, "ended by a signal; the temporary store has been removed")
  }

  static var loginEnded: Failure { Failure(.cancelled, "the login was ended by a signal") }

  static var noModule: Failure {
    Failure(.unusable, "pam_passcode.so is neither beside this program nor installed")
  }

  /// passcode-verifier isn't installed.
  static var noVerifier: Failure {
    Failure(
      .unusable,
      "passcode-verifier is not installed. On a fleet's server, run: apt install passcode-verifier")
  }

  static var noTemporaryDirectory: Failure { Failure(.unusable, "no directory could be created in /tmp") }

  /// The generated passcode could not be written out.
  static var unwritablePasscode: Failure {
    Failure(.unusable, "a passcode was set, but could not be written to standard output: enrol again")
  }

  static func unknownOption(_ text: Bytes) -> Failure {
    Failure(.usage, unknown("no option \(printable(text))" as Phrase, Suggestion.option(text)))
  }

  /// An option that lacks its value, or got one and takes none.
  static func noValue(_ option: Bytes) -> Failure {
    Failure(.usage, "\(option) needs a value: see passcode --help")
  }

  static func surplusValue(_ option: Bytes) -> Failure {
    Failure(.usage, "\(option) takes no value: see passcode --help")
  }

  static func unknownCommand(_ word: Bytes) -> Failure {
    Failure(.usage, unknown("no command \"\(printable(word))\"" as Phrase, Suggestion.command(word)))
  }

  static func optionNeedsCommand(_ option: Bytes) -> Failure {
    Failure(.usage, "--\(option) needs a command: see passcode --help")
  }

  static func notItsOption(_ command: Text, _ option: Bytes) -> Failure {
    Failure(.usage, "\(command) has no option --\(option): see passcode \(command) --help")
  }

  static func operands(_ command: Text, _ operand: Command.Operand) -> Failure {
    Failure(.usage, "usage: passcode \(command)\(operand.text); see passcode \(command) --help")
  }

  /// Root set a passcode without saying whose, and nobody is there to be asked.
  static var needsName: Failure {
    Failure(
      .usage,
      "whose passcode? For another user, run: \("passcode enroll USER" as Text); for root itself: \("passcode enroll root" as Text)"
    )
  }

  static var confPath: Failure { Failure(.usage, "--conf needs an absolute path") }

  static func wrongRecoveryLine(_ number: Int) -> Failure {
    Failure(.refused, "line \(number) is not from a recovery copy; nothing was changed")
  }

  static var pcrsValue: Failure { Failure(.usage, "--pcrs needs numbers from 0 to 23, with + between them") }

  static var expiresValue: Failure {
    Failure(
      .usage,
      "--expires needs a time like 90m, 12h, 7d or 2w, or a date like 2026-12-31 or 2026-12-31T18:00: a minute to ten years from now"
    )
  }
}

// MARK: - Lists, and other commands for administrators

extension Failure {

  static var jsonNeedsOutput: Failure { Failure(.usage, "--json with --generate needs --output FILE") }
  static var outputNeedsGenerate: Failure { Failure(.usage, "--output, --show and --length need --generate") }
  static var needsBatch: Failure { Failure(.usage, "--output, --show and --skip-enrolled need --batch") }

  static var notWithBatch: Failure {
    Failure(.usage, "--batch can't be used with USER, --stdin or --force: the users are in the list")
  }

  static var notWithAll: Failure {
    Failure(
      .usage, "--all can't be used with USER, --batch or --stdin: it is for everybody")
  }

  static var targetValue: Failure { Failure(.usage, "--target needs a time from 10ms to 10s, such as 250ms") }

  static var stateValue: Failure {
    Failure(.usage, "--state needs ok, locked, exhausted, disabled, expired, must_change, paused or corrupt")
  }

  static func noPreset(_ name: Bytes) -> Failure {
    Failure(.usage, "there is no preset \(printable(name)): see man passcode")
  }

  static var needsPreset: Failure {
    Failure(.usage, "configure needs --preset NAME, such as --preset desktop")
  }

  static func changedMeanwhile(_ path: Bytes) -> Failure {
    Failure(
      .unusable, "\(printable(path)): another program changed it meanwhile; nothing was written: run it again"
    )
  }

  /// Who knows the password only has no way to log in by it alone.
  static func notWithSecondFactor(_ preset: Preset) -> Failure {
    Failure(
      .notPermitted,
      "second_factor=yes: with the preset \(Text(preset.name)), nobody could log in after a boot"
    )
  }

  static func cannotProve(_ name: Bytes) -> Failure {
    Failure(
      .notPermitted,
      "\(printable(name)) has no password, and could not use the passcode after a boot: see --even-locked-out"
    )
  }

  static var noMemoryToMeasure: Failure {
    Failure(.unusable, "there is not enough memory to measure anything")
  }

  static func configuration(_ path: Bytes, _ error: Errno) -> Failure {
    Failure(.unusable, Phrase("\(printable(path)): \(error.localText)" as Text))
  }
}
