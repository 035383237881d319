public import PasscodePolicy
public import PasscodeSystem

// Who may try a passcode, and from where: decided here and nowhere else.
//
// MUST (attempt):
//  1  An attempt is made only for one's own account or by real root: the real uid is 0 or the account's, and PAM_RUSER, if
//     it is set, names (by uid) root or the account. Anything else is PAM_PERM_DENIED without a prompt: `su bob`, `sudo`
//     with `targetpw` or `rootpw`, a setuid polkit agent for another administrator. Nobody's process can therefore spend
//     another's attempts, or hold them up by being stopped. A program of root's that asks for others is in the table of
//     `Broker`, which says for whom; graphical login screens never ask for root.
//     test_only_for_ones_own_account_or_by_real_root, test_polkit_s_helper_asks_for_whoever_connected, GateTests, test_gdm.py

/// The permission to try an account's passcode. No attempt can be made without a permit, and only `Gate` gives one.
public struct Permit: Sendable {
  public let account: Account
  /// Whether the account's first login is still to come: until then each `Login` refuses, but may say who is enrolled.
  public let waitsForLogin: Bool

  fileprivate init(_ account: Account, waitsForLogin: Bool = false) {
    self.account = account
    self.waitsForLogin = waitsForLogin
  }
}

/// Who asks, and from where, as far as a program tells.
public struct LoginOrigin: Sendable {
  /// Who runs this program; the real uid counts.
  public let process: ProcessIdentity
  /// The PAM service; for people who ask where a wrong passcode was typed.
  public private(set) var service = Bytes()
  /// PAM_RUSER, the name of who asks; empty where the program didn't say.
  fileprivate(set) var requester = Bytes()
  fileprivate(set) var isRemote = false
  /// The lowest uid of an account that the program may ask for.
  fileprivate(set) var firstUID: UInt32 = 0
  fileprivate(set) var terminal = FingerRequest.Terminal.other

  /// Whether the program runs for somebody, and says so: a login screen asks for anyone who types a name.
  @inline(never)
  public var isForPerson: Bool { process.real != 0 || !requester.isEmpty && !requester.spells("root") }
}

extension LoginOrigin {
  /// A program that asks for the person who runs it.
  public init(_ process: ProcessIdentity, service: Bytes) {
    self.init(process: process, service: service)
  }

  /// A PAM service, by the items of the same names; empty: the program didn't say.
  public init(service: Bytes, requester: Bytes, remoteHost: Bytes, terminal: Bytes, display: Bytes) {
    let items = LoginItems(
      service: service, requester: requester, remoteHost: remoteHost, terminal: terminal, display: display)
    let broker = Broker(programName(), service: items.service)
    let process = ProcessIdentity.current(for: broker.asker)
    self.init(
      process: process, service: items.service, requester: items.requester,
      isRemote: items.tellOfRemoteLogin(to: process, broker), firstUID: broker.firstUID, terminal: items.place
    )
  }
}

/// What a program tells PAM about a login; empty: nothing.
struct LoginItems {
  /// PAM_SERVICE and PAM_RUSER.
  let service: Bytes, requester: Bytes
  /// PAM_RHOST, PAM_TTY and PAM_XDISPLAY.
  let remoteHost: Bytes, terminal: Bytes, display: Bytes

  /// A login is remote if PAM_RHOST is not empty, or if PAM_TTY is "ssh" (sshd, before it knows the host) or PAM_SERVICE
  /// (dovecot, CUPS, xrdp). If the real uid is 0, it is also remote if PAM_TTY is neither a device nor a display, or if
  /// PAM_SERVICE is `ppp` (pppd gives the line that its peer dials in by); and where PAM_RUSER is empty, unless standard
  /// input is the terminal in PAM_TTY (one that is merely named proves nothing), or it is a login program in its own
  /// service (`Broker`) that names a terminal or a display, or may do so later. Thus saslauthd is remote: for its
  /// clients a passcode would be a password for mail; guesses would lock its owner. cron and at never authenticate.
  func tellOfRemoteLogin(to process: ProcessIdentity, _ broker: Broker) -> Bool {
    if !remoteHost.isEmpty || terminal.spells("ssh") { return true }
    if !terminal.isEmpty, terminal == service { return true }
    guard process.real == 0 else { return false }
    if service.spells("ppp") || !terminal.isEmpty && !isTerminal { return true }
    if !requester.isEmpty || broker.namesTerminalLater { return false }
    return broker.isInItsService ? terminal.isEmpty && display.isEmpty : !inputIsTerminal(terminal)
  }

  /// The place of the person. A program that names no terminal, and nobody who asks, is a login screen.
  var place: FingerRequest.Terminal {
    let name = terminal.isEmpty ? display : terminal
    return name.isEmpty && requester.isEmpty ? .loginScreen : FingerRequest.Terminal(named: name)
  }

  /// A device's path, with or without /dev, or a display.
  private var isTerminal: Bool {
    if terminal.begins(with: "/dev/") || terminal.begins(with: "tty")
      || terminal.contains(UInt8(ascii: ":"))
    {
      return true
    }
    return (try? FileStatus.of(Bytes(text: "/dev/") + terminal))?.kind == .characterDevice
  }
}

public enum Gate {
  public enum Admission: Sendable {
    case admitted(Permit)
    /// With the account, where it may be noted that it waits for a login by other means.
    case refused(NotPermitted, Account?)
    case unknownUser
  }

  /// Admits or refuses a login by a PAM service, and looks the account up.
  ///
  /// - Throws: a fault if the account can't be looked up.
  public static func admit(
    user name: Bytes, _ origin: LoginOrigin, _ door: Options.Door, _ access: Access
  ) throws(Fault) -> Admission {
    if !door.allowsRemote, origin.isRemote { return .refused(.remote, nil) }
    switch Account.named(name) {
    // Or glibc couldn't read /etc/passwd, which it tells like this, too: nothing that `nullok` may ignore.
    case .unknown: return .unknownUser
    case .failed(let error): throw Fault(.accountLookup, error: error.code)
    case .found(let account): return admit(account, origin, access, wantsLogin: !door.allowsFirstLogin)
    }
  }

  /// Admits or refuses a login to an account that was looked up before.
  ///
  /// - Parameters:
  ///   - access: of this process. A caller of the helper can't see who has logged in: the helper asks again.
  ///   - wantsLogin: only once the account has logged in by other means since the machine started.
  public static func admit(
    _ account: Account, _ origin: LoginOrigin, _ access: Access, wantsLogin: Bool = false
  ) -> Admission {
    guard isOwn(account, origin) else { return .refused(.otherAccount, nil) }
    guard wantsLogin, access != .helper, !LoginMark(account.uid, access).isSet else {
      return .admitted(Permit(account))
    }
    // A login screen asks for anyone who types a name, and is told the same of everybody.
    guard origin.isForPerson else { return .refused(.firstLogin, account) }
    return .admitted(Permit(account, waitsForLogin: true))
  }

  /// What to ask of `passcode-finger` at this prompt; nil: it is the passcode alone.
  ///
  /// Lockers without root call PAM only after Enter. A finger is no second factor: the password is enough to enrol one.
  /// A program that runs for somebody wants their session to be active, local and not locked: sudo's real uid is root's,
  /// but it names who asks. login runs for nobody yet: there the terminal counts.
  public static func finger(
    _ permit: Permit, _ origin: LoginOrigin, _ configuration: Configuration
  ) -> FingerRequest? {
    guard configuration.options.door.finger, configuration.access == .root, origin.process.effective == 0,
      !origin.isRemote, !configuration.options.policy.secondFactor
    else { return nil }
    return FingerRequest(
      .watch, uid: permit.account.uid, at: origin.isForPerson ? .session : .terminal(origin.terminal))
  }

  /// Whether an attempt is for the caller's own account, or by real root (MUST 1).
  private static func isOwn(_ account: Account, _ origin: LoginOrigin) -> Bool {
    guard origin.process.real == 0 || origin.process.real == account.uid, account.uid >= origin.firstUID
    else { return false }
    if origin.requester.isEmpty { return true }
    guard case .found(let person) = Account.named(origin.requester) else { return false }
    return person.uid == 0 || person.uid == account.uid
  }
}

/// A program of root's that asks for somebody else. What isn't in this table is admitted only where PAM_RUSER names who
/// asks, or where its standard input is the terminal that it names.
///
///     program                  its service     who asks                       for root    terminal
///     gdm-session-worker       gdm-password    whose session it belongs to    never       named
///     polkit-agent-helper-1    polkit-1        who connected to it            never       none
///     lightdm, slim, wdm, xdm  the same        who is at the screen           never       named
///     lxdm-binary              lxdm            who is at the screen           never       may be named later
///     sddm-helper              sddm            who is at the screen           never       may be named later
///     greetd                   greetd          who is at the screen           yes         may be named later
///     login                    login           who is at the terminal         yes         named
///
/// - GDM authenticates anyone for any process in a session of logind's (OpenReauthenticationChannel), with any service.
///   A worker in a session MUST therefore ask for its owner alone; one that belongs to none, and is to authenticate
///   somebody again (GDM_SESSION_FOR_REAUTH), for nobody; neither in another service. What is left is the login screen.
///                                                                                               test_gdm.py
/// - A program whose caller may have named it (AT_SECURE) MUST be none of these.                 test_programs.py
struct Broker {
  let asker: ProcessIdentity.Asker
  let isInItsService: Bool
  /// Whether the program may name its terminal only later, when it opens the session.
  let namesTerminalLater: Bool
  /// The lowest uid of the accounts that the program asks for.
  let firstUID: UInt32

  private static var programs: Literal {
    "gdm-session-worker polkit-agent-helper-1 lightdm slim wdm xdm lxdm-binary sddm-helper greetd login"
  }
  private static var services: Literal { "gdm-password polkit-1 lightdm slim wdm xdm lxdm sddm greetd login" }

  /// - Parameter program: its name, without a folder.
  init(_ program: Bytes, service: Bytes) {
    let row = PasscodeBytes.number(of: program[...], among: Broker.programs)
    isInItsService = row != nil && row == PasscodeBytes.number(of: service[...], among: Broker.services)
    let number = row ?? 9
    // Programs of other names may serve polkit, too.
    asker = number == 0 ? .session : number == 1 || service.begins(with: "polkit-1") ? .peer : .itself
    namesTerminalLater = isInItsService && 6...8 ~= number
    firstUID = number < 2 && !isInItsService ? .max : number < 8 ? 1 : 0
  }
}
