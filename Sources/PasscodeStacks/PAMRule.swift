public import PasscodePolicy

/// What only `passcode check` finds in a PAM service file; `PAMFinding` has what `status` finds, too. What one line shows is
/// found here, by `PAMRuleContext`; what takes all services, in PAMStacks+Rules.swift.
public enum PAMRule: Equatable, Sendable {
  // Lines that libpam refuses.
  case badLine, badControl
  case missingFile(Bytes)
  /// An account or password line: the module has neither.
  case wrongType

  // Whom it lets in.
  /// A correct passcode is refused.
  case neverLetsIn
  /// The result is the same after a correct passcode and after a wrong one.
  case decidesNothing
  /// The stack lets anyone in without a secret; or users without a passcode, because of `nullok`.
  case letsAnyoneIn, nullokLetsAnyoneIn
  /// `nullok` is there, but the control refuses PAM_IGNORE.
  case nullokRefuses
  /// No login service lets root in with the password alone. (whether root has a passcode; nil: not known)
  case rootNeedsPasscode(Bool?)

  // The order.
  case passwordFirst, askedTwice
  /// pam_fprintd waits for a finger between the one prompt and the password's module.
  case fingerAfterEither
  /// `finger=yes`, and pam_fprintd asks in the same stack; whether a profile put it there.
  case fingerTwice(isProfile: Bool)
  case faillockCounts
  /// A module (named without `.so`) needs the password, but the first login may be with the passcode.
  case needsPassword(Bytes)

  // Contradictions.
  /// `second_factor` is in the line, but not in the configuration.
  case secondFactorOff
  /// `second_factor` is in the line, but the passcode alone is enough.
  case notSecond
  /// `second_factor` is in the configuration, but the passcode alone is enough.
  case onlyFactor
  /// The service's logins are remote, without `remote=allow`. `remoteDenied`: the password alone isn't enough either, so
  /// nobody gets in. `remoteUseless`: it is enough, and nobody is ever asked for the passcode.
  case remoteDenied, remoteUseless
  /// `first_login=deny`, but no session line notes a login; or there is no password to log in with first.
  case noSessionLine, firstLoginRefused
  /// `password_every` is set, or `finger=both` with `finger_for`, but no line notes that the password was proven; or no
  /// password is taken here.
  case noProofLine, dueWithoutPassword
  /// The line has another configuration file, which the lines with `proven` don't know.
  case proofElsewhere
  /// What this module (named without `.so`) has accepted may be valid only once, so it can't be checked again for a proof.
  case validOnce(Bytes)
  /// `finger=both`, but nobody gets in by the password where no finger can be taken.
  case bothWithoutPassword

  // In the service that proves passwords.
  case asksInPasswordService
  case passwordServiceOpen
}

/// A rule's finding, and where. It never changes once it is made, so it is shared, not copied.
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

/// What the rules need to know besides the files.
public struct PAMSurroundings: Sendable {
  /// The files of libpam's folder of modules.
  public var modules: [Bytes] = []
  /// systemd-homed manages at least one home directory.
  public var hasManagedHomes = false
  /// nil: not known.
  public var rootHasPasscode: Bool?
  /// A client of FreeIPA, where a password may end in a one-time code.
  public var hasFreeIPA = false
  // What `PAMStacks.check` finds in the files: a session line with the module, and a line with the word `proven`.
  var hasSessionLine = false
  var hasProofLine = false

  public init() {}
}

/// One line that asks for the passcode, in one service; each rule is a function of it.
final class PAMRuleContext {
  let service: Bytes
  let stack: PAMStack
  let index: Int
  let arguments: [Bytes]
  private let isSecondByPolicy: Bool
  private let isPasswordRequired: Bool
  private let needsFinger: Bool
  /// The options that apply to the line; nil: not known.
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
    isPasswordRequired = policy.passwordEvery > 0
    needsFinger = policy.needsFinger
    self.door = door
    surroundings = machine
  }

  /// To add a rule about one line, add its function here.
  func findings() -> [PAMRule?] {
    [
      outcome(), nullok(), order(), finger(), faillock(), needsPassword(), secondFactor(), remote(),
      firstLogin(), proof(), both(),
    ]
  }

  // MARK: Whom it lets in

  /// Whether a fact holds both if all other modules succeed and if they aren't there.
  @inline(never)
  private func isSure(_ fact: (PAMStack.Others) -> Bool) -> Bool { fact(.absent) && fact(.succeed) }

  @inline(never)
  private func opens(_ password: Bool, _ index: Int?, _ others: PAMStack.Others) -> Bool {
    stack.opens(password: password, passcodeAt: index, others: others)
  }

  @inline(never)
  private func passwordOpens() -> Bool {
    !isSure { !stack.opens(password: true, passcodeAt: nil, refusal: .denied, others: $0) }
  }

  /// The passcode is enough, without the password.
  private lazy var passcodeAloneOpens = isSure { opens(false, index, $0) }
  private lazy var isSecond = stack.needsBoth(passcodeAt: index)

  @inline(never)
  private func opensWithoutSecret(_ refusal: PAMStack.Refusal) -> Bool {
    stack.opensToAnyone(refusal)
  }

  private func outcome() -> PAMRule? {
    if opensWithoutSecret(.wrong) || opensWithoutSecret(.unasked) || opensWithoutSecret(.denied) {
      return .letsAnyoneIn
    }
    return neverOpens() ? .neverLetsIn : isIdle() ? .decidesNothing : nil
  }

  @inline(never)
  private func neverOpens() -> Bool {
    isSure { !opens(true, index, $0) && !opens(false, index, $0) && !opensMore($0) }
  }

  /// Whether the passcode opens what the password doesn't, where other lines ask for it, too.
  private func opensMore(_ others: PAMStack.Others) -> Bool {
    [false, true].contains { !choosesLine && stack.opensByPasscode($0, others) && !opens($0, nil, others) }
  }

  @inline(never)
  private func isIdle() -> Bool {
    isSure { others in
      opens(true, index, others) == opens(true, nil, others)
        && opens(false, index, others) == opens(false, nil, others) && !opensMore(others)
    }
  }

  private func nullok() -> PAMRule? {
    guard takesNullok(arguments) else { return nil }
    if opensWithoutSecret(.ignored), !opensWithoutSecret(.unasked) { return .nullokLetsAnyoneIn }
    return entry.control.ignored == .bad || entry.control.ignored == .die ? .nullokRefuses : nil
  }

  // MARK: The order

  /// With a module that decides by something other than a secret, each user may get to only one of the lines.
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

  /// The place, after this line, of one of these modules, if it is installed.
  private func placeBehind(_ names: Literal) -> Int? {
    for place in index + 1..<stack.entries.count where stack.entries[place].isOne(of: names) {
      if surroundings.modules.contains(Bytes(fileName(stack.entries[place].module))) { return place }
    }
    return nil
  }

  /// The stack's first line with a module that is installed.
  private func installed(_ name: Literal) -> PAMStack.Entry? {
    stack.entries.first {
      $0.isOne(of: name) && surroundings.modules.contains(Bytes(fileName($0.module)))
    }
  }

  private func finger() -> PAMRule? {
    if door?.finger == true, let other = installed("pam_fprintd") {
      return .fingerTwice(isProfile: fileName(other.path).elementsEqual(Bytes(text: "common-auth")))
    }
    guard door?.either == true, !isSecond, let place = placeBehind("pam_fprintd") else { return nil }
    return isPasswordBehind(place) ? .fingerAfterEither : nil
  }

  private func faillock() -> PAMRule? {
    let lockers: Literal = """
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
    guard door?.allowsFirstLogin == true, passcodeAloneOpens else { return nil }
    var place = placeBehind("pam_kwallet5 pam_kwallet pam_mount pam_fscrypt pam_ecryptfs")
    if let found = place, !stack.comes(to: found, passcodeAt: index) { place = nil }
    if place == nil, surroundings.hasManagedHomes {
      place = stack.entries.indices.first { stack.entries[$0].isOne(of: "pam_systemd_home") }
    }
    return place.map { .needsPassword(stack.entries[$0].moduleName) }
  }

  // MARK: Contradictions

  private func secondFactor() -> PAMRule? {
    // The line names another configuration, which isn't read.
    guard door != nil else { return nil }
    guard arguments.contains(where: { $0.spells("second_factor") }) else {
      return isSecondByPolicy && passcodeAloneOpens ? .onlyFactor : nil
    }
    if passcodeAloneOpens { return .notSecond }
    return isSecondByPolicy ? nil : .secondFactorOff
  }

  private func remote() -> PAMRule? {
    guard door?.allowsRemote == false, PAMStacks.isRemote(service) else { return nil }
    if !passwordOpens() { return .remoteDenied }
    return fileName(entry.path).elementsEqual(service) ? .remoteUseless : nil
  }

  private func firstLogin() -> PAMRule? {
    guard door?.allowsFirstLogin == false else { return nil }
    if !surroundings.hasSessionLine { return .noSessionLine }
    let isLogin = isAmong("login gdm-password lightdm sddm lxdm greetd xdm", service[...])
    return isLogin && !passwordOpens() ? .firstLoginRefused : nil
  }

  private func proof() -> PAMRule? {
    let namesOther = arguments.contains {
      $0[...].begins(with: "conf=") && !$0.spells("conf=/etc/security/passcode.conf")
    }
    if namesOther, surroundings.hasProofLine { return .proofElsewhere }
    if isPasswordRequired, door != nil, !passwordOpens() { return .dueWithoutPassword }
    guard let door, !surroundings.hasProofLine else { return nil }
    return isPasswordRequired || needsFinger && door.fingerFor > 0 ? .noProofLine : nil
  }

  private func both() -> PAMRule? {
    needsFinger && door != nil && !passwordOpens() ? .bothWithoutPassword : nil
  }
}
