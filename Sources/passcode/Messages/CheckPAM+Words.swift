internal import PasscodePolicy
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeTool

// What `passcode check` says of PAM service files. The rest is in Check+Words.swift.

extension PAMFinding {
  var words: (CheckLevel, CheckWords) {
    switch problem {
    case .option(let fault): told(fault)
    case .unmarkedSecondFactor:
      told(
        .error,
        "%1: password and passcode are required, but the password alone can set the passcode: add second_factor",
        path, line)
    case .noWayToThePassword:
      told(
        .warning,
        "%1: auth_err=die without either, so the password isn't asked for after a wrong passcode: add either",
        path,
        line)
    }
  }
}

extension PAMRuleFinding {
  var words: (CheckLevel, CheckWords) {
    let (level, pattern, name) = rule.words
    return told(level, pattern, path, line, name: name)
  }
}

extension PAMRule {
  fileprivate var words: (CheckLevel, Pattern, Bytes) {
    switch self {
    case .badLine: (.error, "%1: libpam can't read this line, so the stack fails: correct it", [])
    case .badControl:
      (.error, "%1: libpam doesn't know this control, so the stack fails: correct it, see pam.conf(5)", [])
    case .missingFile(let name): (.error, "%1: %2: no such file, so the stack fails: correct the line", name)
    case .wrongType:
      (.error, "%1: the module has only auth and session, so the stack fails: remove the line", [])
    case .neverLetsIn:
      (.error, "%1: even the correct passcode is refused: its success must skip the lines that refuse", [])
    case .decidesNothing:
      (.warning, "%1: the passcode has no effect here: put the line before the one for the password", [])
    case .letsAnyoneIn: (.error, "%1: this stack lets anyone in: end it with pam_deny.so", [])
    case .nullokLetsAnyoneIn:
      (.error, "%1: nullok lets users without a passcode in without any secret: remove nullok", [])
    case .nullokRefuses:
      (.warning, "%1: nullok is set, but the control refuses PAM_IGNORE: add ignore=ignore to it", [])
    case .rootNeedsPasscode(true):
      (
        .warning,
        "%1: no service takes the password alone, so a locked passcode locks root out: keep another way in",
        []
      )
    case .rootNeedsPasscode(false):
      (
        .error,
        "%1: every service needs a passcode, and root has none; run: passcode enroll root", []
      )
    case .rootNeedsPasscode(nil):
      (
        .warning, "%1: no service takes the password alone, so root may be locked out: keep another way in",
        []
      )
    case .passwordFirst:
      (
        .warning, "%1: an earlier line asks for the password and gets what is typed: put this line before it",
        []
      )
    case .askedTwice: (.warning, "%1: the stack asks for the passcode twice: remove one of its lines", [])
    case .fingerAfterEither:
      (.warning, "%1: after a password pam_fprintd waits for a fingerprint: put its line before this one", [])
    case .fingerTwice(true):
      (
        .warning,
        "%1: finger=yes, and pam_fprintd asks for a fingerprint, too; run: pam-auth-update --disable fprintd",
        []
      )
    case .fingerTwice(false):
      (.warning, "%1: finger=yes, and pam_fprintd asks for a fingerprint, too: remove one of them", [])
    case .faillockCounts:
      (
        .warning,
        "%1: pam_faillock counts a wrong passcode as a wrong password: use auth_err=die, see examples/faillock",
        []
      )
    case .needsPassword(let module):
      (
        .warning,
        "%1: %2 needs the password, typed once after each boot: set first_login=deny in passcode.conf",
        module
      )
    case .secondFactorOff:
      (.error, "%1: second_factor refuses every login until passcode.conf has second_factor=yes", [])
    case .notSecond:
      (.error, "%1: second_factor is set, but the passcode alone is enough: require the password, too", [])
    case .onlyFactor:
      (
        .warning,
        "%1: passcode.conf has second_factor=yes, but here the passcode alone is enough: require the password, too",
        []
      )
    case .remoteDenied:
      (
        .error, "%1: these logins are remote and refused without remote=allow: add it, or remove the line",
        []
      )
    case .remoteUseless:
      (
        .warning,
        "%1: these logins are remote and get no passcode prompt without remote=allow: add it, or remove the line",
        []
      )
    case .noSessionLine:
      (
        .error,
        "%1: first_login=deny, but no service notes a login: add \"session optional pam_passcode.so\" where people log in",
        []
      )
    case .firstLoginRefused:
      (
        .error, "%1: first_login=deny, but there is no password to log in with first: add first_login=allow",
        []
      )
    case .asksInPasswordService:
      (
        .error,
        "%1: this service must ask for the password alone: use pam_unix.so or a similar module instead", []
      )
    case .passwordServiceOpen:
      (.error, "%1: accepts any password: make pam_unix.so or a similar module required", [])
    }
  }
}
