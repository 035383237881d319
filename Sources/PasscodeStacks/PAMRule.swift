public import PasscodePolicy

/// What `passcode check` finds in a PAM service file, besides what `status` tells (`PAMFinding`).
public enum PAMRule: Equatable, Sendable {
  // What libpam makes of it.
  case badLine, badControl
  case missingFile(Bytes)
  /// An account or password line: the module has neither.
  case wrongType

  // Whom it lets in.
  /// A right passcode is refused.
  case neverLetsIn
  /// The same comes of a right passcode and of a wrong one.
  case decidesNothing
  /// Without any secret.
  case letsAnyoneIn
  /// Those without a passcode, by `nullok`.
  case nullokLetsAnyoneIn
  /// `nullok` is there, but the control refuses PAM_IGNORE.
  case nullokRefuses
  /// No login service takes root's password alone. (whether root has a passcode; nil: not known)
  case rootNeedsPasscode(Bool?)

  // The order.
  case passwordFirst
  case askedTwice
  /// pam_fprintd waits for a finger between the one prompt and the password's module.
  case fingerAfterEither
  case faillockCounts
  /// A module (without `.so`) that needs the password is there, and the first login may be by passcode.
  case needsPassword(Bytes)

  // Contradictions.
  /// `second_factor` in the line, and not in the configuration.
  case secondFactorOff
  /// `second_factor` in the line, and the passcode alone is enough.
  case notSecond
  /// The same with `second_factor` in the configuration.
  case onlyFactor
  /// The service's logins are remote. It can't be opened without the passcode; or it can.
  case remoteDenied, remoteUseless
  /// `first_login=deny`, and no session line that notes a login; or no password to log in with first.
  case noSessionLine, firstLoginRefused

  // In the service that proves passwords.
  case asksInPasswordService
  case passwordServiceOpen
}

/// Never changed once it is made: shared, not copied.
public final class PAMRuleFinding: Sendable {
  public let path: Bytes
  /// 0: the whole file.
  public let line: Int
  public let rule: PAMRule

  init(_ path: Bytes, _ line: Int, _ rule: PAMRule) {
    self.path = path
    self.line = line
    self.rule = rule
  }
}

extension PAMRuleFinding: Equatable {
  public static func == (one: PAMRuleFinding, other: PAMRuleFinding) -> Bool {
    one.line == other.line && one.path == other.path && one.rule == other.rule
  }
}

/// What the files alone don't tell.
public struct PAMSurroundings: Sendable {
  /// The files of libpam's folder of modules.
  public var modules: [Bytes] = []
  /// systemd-homed manages someone's home directory.
  public var hasManagedHomes = false
  /// nil: not known.
  public var rootHasPasscode: Bool?
  /// A session line names the module: told by the files after all.
  var hasSessionLine = false

  public init() {}
}

/// One line that asks for the passcode, in one service; each rule is a function of it.
final class PAMRuleContext {
  let service: Bytes
  let stack: PAMStack
  let index: Int
  let arguments: [Bytes]
  private let isSecondByPolicy: Bool
  /// What holds for the line; nil: not known.
  let door: Options.Door?
  let surroundings: PAMSurroundings

  var entry: PAMStack.Entry { stack.entries[index] }

  init(
    _ service: Bytes, _ stack: PAMStack, _ index: Int, _ arguments: [Bytes], _ policy: Options.Policy,
    _ door: Options.Door?, _ machine: PAMSurroundings
  ) {
    self.service = service
    self.stack = stack
    self.index = index
    self.arguments = arguments
    isSecondByPolicy = policy.secondFactor
    self.door = door
    surroundings = machine
  }

  /// To add a rule, add its function here.
  func findings() -> [PAMRule?] {
    [
      outcome(), nullok(), order(), finger(), faillock(), needsPassword(), secondFactor(), remote(),
      firstLogin(),
    ]
  }

  // MARK: Whom it lets in

  /// What holds, whether other modules let in or weren't there.
  @inline(never)
  private func isSure(_ fact: (PAMStack.Others) -> Bool) -> Bool { fact(.absent) && fact(.succeed) }

  @inline(never)
  private func opens(_ password: Bool, _ index: Int?, _ others: PAMStack.Others) -> Bool {
    stack.opens(password: password, passcodeAt: index, others: others)
  }

  @inline(never)
  private func passwordOpens() -> Bool {
    !isSure {
      !opens(true, nil, $0)
        && !stack.opens(password: true, passcodeAt: nil, refusal: .unasked, others: $0)
    }
  }

  /// Not only together with the password.
  private lazy var passcodeAloneOpens = isSure { opens(false, index, $0) }
  private lazy var isSecond = stack.needsBoth(passcodeAt: index)

  @inline(never)
  private func opensWithoutSecret(_ refusal: PAMStack.Refusal) -> Bool {
    PAMStack.Others.allCases.allSatisfy {
      stack.opens(password: false, passcodeAt: nil, refusal: refusal, others: $0)
    }
  }

  private func outcome() -> PAMRule? {
    if opensWithoutSecret(.wrong) || opensWithoutSecret(.unasked) { return .letsAnyoneIn }
    return neverOpens() ? .neverLetsIn : isIdle() ? .decidesNothing : nil
  }

  @inline(never)
  private func neverOpens() -> Bool { isSure { !opens(true, index, $0) && !opens(false, index, $0) } }

  @inline(never)
  private func isIdle() -> Bool {
    isSure { others in
      opens(true, index, others) == opens(true, nil, others)
        && opens(false, index, others) == opens(false, nil, others)
    }
  }

  private func nullok() -> PAMRule? {
    guard takesNullok(arguments) else { return nil }
    if opensWithoutSecret(.ignored), !opensWithoutSecret(.unasked) { return .nullokLetsAnyoneIn }
    return entry.control.ignored == .bad || entry.control.ignored == .die ? .nullokRefuses : nil
  }

  // MARK: The order

  /// Modules that choose by something else than a secret may lead each person to one line only.
  private var choosesLine: Bool {
    stack.entries.contains {
      $0.isOne(of: "pam_succeed_if pam_listfile pam_localuser pam_usertype pam_access pam_time pam_exec")
    }
  }

  private func order() -> PAMRule? {
    guard !choosesLine, !isIdle(), !neverOpens() else { return nil }
    let earlier = stack.entries[..<index]
    if earlier.contains(where: { if case .passcode = $0.role { true } else { false } }) { return .askedTwice }
    guard let door, !door.tryFirstPass, !door.useFirstPass, passcodeAloneOpens else { return nil }
    return earlier.contains { $0.role == .password } ? .passwordFirst : nil
  }

  @inline(never)
  private func isPasswordBehind(_ place: Int) -> Bool {
    stack.entries[(place + 1)...].contains { $0.role == .password }
  }

  /// Of a module that is installed, behind this line.
  private func placeBehind(_ names: String) -> Int? {
    for place in index + 1..<stack.entries.count where stack.entries[place].isOne(of: names) {
      if surroundings.modules.contains(Bytes(fileName(stack.entries[place].module))) { return place }
    }
    return nil
  }

  private func finger() -> PAMRule? {
    guard door?.either == true, !isSecond, let place = placeBehind("pam_fprintd") else { return nil }
    return isPasswordBehind(place) ? .fingerAfterEither : nil
  }

  private func faillock() -> PAMRule? {
    let lockers = """
      swaylock i3lock gtklock hyprlock waylock kde kscreenlocker xscreensaver xfce4-screensaver mate-screensaver \
      cinnamon-screensaver phosh xsecurelock vlock
      """
    guard isAmong(lockers, service[...]), !isSecond,
      entry.control.failure != .die, isPasswordBehind(index),
      stack.entries.contains(where: { $0.isOne(of: "pam_faillock") })
    else { return nil }
    return .faillockCounts
  }

  private func needsPassword() -> PAMRule? {
    guard door?.firstLogin == .allow, passcodeAloneOpens else { return nil }
    var place = placeBehind("pam_kwallet5 pam_kwallet pam_mount pam_fscrypt pam_ecryptfs")
    if let found = place, !stack.comes(to: found, passcodeAt: index) { place = nil }
    if place == nil, surroundings.hasManagedHomes {
      place = stack.entries.indices.first { stack.entries[$0].isOne(of: "pam_systemd_home") }
    }
    return place.map { .needsPassword(Bytes(fileName(stack.entries[$0].module).dropLast(3))) }
  }

  // MARK: Contradictions

  private func secondFactor() -> PAMRule? {
    // Another configuration is named: what it says isn't known.
    guard door != nil else { return nil }
    guard arguments.contains(where: { $0.spells("second_factor") }) else {
      return isSecondByPolicy && passcodeAloneOpens ? .onlyFactor : nil
    }
    if passcodeAloneOpens { return .notSecond }
    return isSecondByPolicy ? nil : .secondFactorOff
  }

  private func remote() -> PAMRule? {
    let services = "sshd cockpit vsftpd proftpd dovecot imap pop3 smtp cups xrdp-sesman ppp samba"
    guard door?.remote == .deny, isAmong(services, service[...]) else { return nil }
    if !passwordOpens() { return .remoteDenied }
    return fileName(entry.path).elementsEqual(service) ? .remoteUseless : nil
  }

  private func firstLogin() -> PAMRule? {
    guard door?.firstLogin == .deny else { return nil }
    if !surroundings.hasSessionLine { return .noSessionLine }
    let isLogin = isAmong("login gdm-password lightdm sddm lxdm greetd xdm", service[...])
    return isLogin && !passwordOpens() ? .firstLoginRefused : nil
  }
}
