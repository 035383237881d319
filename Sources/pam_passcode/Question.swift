internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// Where the program hides notices, the prompt says what they would: the table in Sources/PROMPT.md has every case.
//
// MUST (prompt), and what shows it:
//  1  The look chooses only the prompt. What is typed is decided as at any other prompt, by `attempt` under the record's
//     lock: still locked is PAM_AUTH_ERR without a hash or a write, and a delay that is over by then, or a first login,
//     makes it an attempt.                              test_a_lock_that_is_over_by_then_makes_it_an_attempt,
//     test_a_first_login_meanwhile_makes_it_an_attempt, test_what_is_still_locked_is_neither_read_nor_written
//  2  A passcode that is typed where it can't be used reaches no other module. A password of digits is typed after Enter
//     alone, at the next module's own prompt.              test_the_table, test_a_password_of_digits_is_typed_after_enter
//  3  People who aren't enrolled, whose account isn't theirs, or who come from outside (but with `remote=allow`) get the
//     next module's prompt, unchanged. Anything is told only where the program says who asks (the real uid or PAM_RUSER is
//     a person's): a login screen asks for anyone who types a name.  test_the_table,
//     test_a_stranger_is_told_no_more_than_by_notices
//  4  With `prompt=` or `quiet` nothing changes; with `use_first_pass` or `try_first_pass`, whose token an earlier module
//     may have asked for, no prompt is added.
//     test_what_the_administrator_chose_stays, test_where_an_earlier_module_may_have_asked_there_is_no_prompt
//  5  Such a prompt holds nothing that anybody chooses, fits 80 columns in every language, and has none of the words by
//     which SDDM sorts prompts (again, new, old, current and others). One that takes the password ends as the usual one
//     does, in English in "assword: ", or "fingerprint: " where it takes one.
//     test_prompts_fit_a_line_and_sort_as_a_password_s

/// What is asked at the one prompt. Shared, not copied.
final class Question {
  let user: Bytes
  let configuration: Configuration
  /// Whether a fleet has the passcode.
  var isFleets = false
  /// nil: the passcode alone.
  var finger: FingerRequest?
  /// Why the passcode can't be used now, where the prompt says so and takes the password.
  private(set) var reason: Sentence?
  /// The finger isn't offered now, because passcode or password come first; who has one is told.
  private(set) var needsPasscode = false
  /// For the prompt to tell; 0: it tells nothing.
  private var attemptsLeft: UInt32 = 0

  /// Whether `finger=both` is set: the passcode needs a finger, too.
  var isBoth: Bool { configuration.options.policy.needsFinger }
  var door: Options.Door { configuration.options.door }

  init(user: Bytes, configuration: Configuration) {
    self.user = user
    self.configuration = configuration
  }

  private var isUsual: Bool { door.prompt.spells(Options.Door.usualPrompt) }

  /// Whether the prompt stands in for notices: the program hides them, and the administrator doesn't.
  private func tells(_ pam: PAM) -> Bool { pam.isSilent && !door.quiet && isUsual }

  /// After a refusal: it is told only where the next module takes what is typed, and no earlier one may have asked.
  ///
  /// - Returns: whether it is.
  func note(_ refusal: Verdict, _ pam: PAM, isForPerson: Bool) -> Bool {
    guard tells(pam), door.either, !door.useFirstPass, !door.tryFirstPass else { return false }
    // Before the first login no verifier was asked who is enrolled.
    if case .notPermitted(.firstLogin) = refusal, isFleets { return false }
    reason = Words.reason(refusal, isForPerson: isForPerson)
    return reason != nil
  }

  /// Takes from a look that didn't refuse what the prompt tells: attempts left, and whether the finger is offered.
  func note(_ looked: Looked, _ pam: PAM, isForPerson: Bool) {
    needsPasscode = looked.needsPasscode
    if !looked.takesFinger, !needsPasscode { finger = nil }
    if isForPerson, tells(pam) { attemptsLeft = looked.attemptsLeft }
  }

  /// - Parameter finger: the reader can be used now.
  func prompt(finger: Bool) -> Bytes {
    guard isUsual else { return withBlank(door.prompt) }
    if finger, isBoth { return told(Words.promptForBoth(either: door.either)) }
    guard let reason else {
      return told(Words.prompt(either: door.either, finger: finger, attemptsLeft: attemptsLeft))
    }
    return told(reason) + told(Words.password)
  }

  private func told(_ sentence: Sentence) -> Bytes {
    withBlank(sentence.text(in: Catalogue.translation).bytes)
  }

  @inline(never)
  private func withBlank(_ text: Bytes) -> Bytes { text + Bytes(text: " ") }
}
