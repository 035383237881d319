internal import PasscodePolicy
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeTool

// What `passcode check` says of PAM service files. The rest is in Check+Words.swift.

extension CheckFinding {
  static func line(_ finding: PAMFinding) -> CheckFinding {
    switch finding.problem {
    case .option(let fault): .fault(fault)
    case .unmarkedSecondFactor:
      told(
        .error,
        "%1: password and passcode are required, but the password alone can set the passcode: add second_factor",
        finding.path, finding.line)
    case .noWayToThePassword:
      told(
        .warning,
        "%1: auth_err=die without either, so the password isn't asked for after a wrong passcode: add either",
        finding.path, finding.line)
    }
  }

  static func rule(_ finding: PAMRuleFinding) -> CheckFinding {
    let rule = finding.rule
    return told(
      rule.isError ? .error : .warning, rule.pattern, finding.path, finding.line, name: rule.module)
  }
}

extension PAMRule {
  fileprivate var pattern: Pattern {
    switch self {
    case .badLine: "%1: libpam can't read this line, so the stack fails: correct it"
    case .badControl: "%1: libpam doesn't know this control, so the stack fails: correct it, see pam.conf(5)"
    case .missingFile: "%1: %2: no such file, so the stack fails: correct the line"
    case .wrongType: "%1: the module has only auth and session, so the stack fails: remove the line"
    case .neverLetsIn: "%1: even the correct passcode is refused: its success must skip the lines that refuse"
    case .decidesNothing: "%1: the passcode has no effect here: put the line before the one for the password"
    case .letsAnyoneIn: "%1: this stack lets anyone in: end it with pam_deny.so"
    case .nullokLetsAnyoneIn: "%1: nullok lets users without a passcode in without any secret: remove nullok"
    case .nullokRefuses: "%1: nullok is set, but the control refuses PAM_IGNORE: add ignore=ignore to it"
    case .rootNeedsPasscode(let hasOne): PAMRule.rootPattern(hasOne)
    case .passwordFirst:
      "%1: an earlier line asks for the password and gets what is typed: put this line before it"
    case .askedTwice: "%1: the stack asks for the passcode twice: remove one of its lines"
    case .fingerAfterEither:
      "%1: after a password pam_fprintd waits for a fingerprint: put its line before this one"
    case .fingerTwice(let isProfile): PAMRule.fingerPattern(isProfile)
    case .faillockCounts:
      "%1: pam_faillock counts a wrong passcode as a wrong password: use auth_err=die, see examples/faillock"
    case .needsPassword:
      "%1: %2 needs the password, typed once after each boot: set first_login=deny in passcode.conf"
    case .secondFactorOff: "%1: second_factor refuses every login until passcode.conf has second_factor=yes"
    case .notSecond: "%1: second_factor is set, but the passcode alone is enough: require the password, too"
    case .onlyFactor:
      "%1: passcode.conf has second_factor=yes, but here the passcode alone is enough: require the password, too"
    case .remoteDenied:
      "%1: these logins are remote and refused without remote=allow: add it, or remove the line"
    case .remoteUseless:
      "%1: these logins are remote and get no passcode prompt without remote=allow: add it, or remove the line"
    case .noSessionLine:
      "%1: first_login=deny, but no service notes a login: add \"session optional pam_passcode.so\" where people log in"
    case .noProofLine:
      "%1: password_every or finger_for is set, but nothing notes when the password is used: add \"auth optional pam_passcode.so proven\" after the other auth lines, or let pam-auth-update do that; run: pam-auth-update --enable passcode-proven"
    case .proofElsewhere: "%1: proven ignores conf=, so only root can end a pause here"
    case .validOnce:
      "%1: %2 accepts one-time passwords, which can't be checked again: only root ends such a user's pause"
    case .dueWithoutPassword, .bothWithoutPassword: passwordPattern
    case .firstLoginRefused:
      "%1: first_login=deny, but there is no password to log in with first: add first_login=allow"
    case .asksInPasswordService:
      "%1: this service must ask for the password alone: use pam_unix.so or a similar module instead"
    case .passwordServiceOpen: "%1: accepts any password: make pam_unix.so or a similar module required"
    }
  }

  private static func fingerPattern(_ isProfile: Bool) -> Pattern {
    isProfile
      ? "%1: finger=yes, and pam_fprintd asks for a fingerprint, too; run: pam-auth-update --disable fprintd"
      : "%1: finger=yes, and pam_fprintd asks for a fingerprint, too: remove one of them"
  }

  private var passwordPattern: Pattern {
    self == .bothWithoutPassword
      ? "%1: finger=both, but there is no password for when no fingerprint can be taken: add one, or set finger=yes"
      : "%1: password_every is set, but this stack takes no password, so nobody gets in when it is due: add one"
  }

  private static func rootPattern(_ hasPasscode: Bool?) -> Pattern {
    switch hasPasscode {
    case true:
      "%1: no service takes the password alone, so a locked passcode locks root out: keep another way in"
    case false: "%1: every service needs a passcode, and root has none; run: passcode enroll root"
    case nil: "%1: no service takes the password alone, so root may be locked out: keep another way in"
    }
  }

  fileprivate var isError: Bool {
    switch self {
    case .badLine, .badControl, .missingFile, .wrongType, .neverLetsIn, .letsAnyoneIn, .nullokLetsAnyoneIn,
      .rootNeedsPasscode(false), .secondFactorOff, .notSecond, .remoteDenied, .noSessionLine,
      .firstLoginRefused, .noProofLine, .dueWithoutPassword, .bothWithoutPassword,
      .asksInPasswordService,
      .passwordServiceOpen:
      true
    case .decidesNothing, .nullokRefuses, .rootNeedsPasscode(true), .rootNeedsPasscode(nil), .passwordFirst,
      .askedTwice, .fingerAfterEither, .fingerTwice(true), .fingerTwice(false), .faillockCounts,
      .needsPassword, .onlyFactor, .remoteUseless, .proofElsewhere, .validOnce:
      false
    }
  }

  /// The module or the file that it is about.
  fileprivate var module: Bytes {
    switch self {
    case .missingFile(let name), .needsPassword(let name), .validOnce(let name): name
    default: []
    }
  }
}
