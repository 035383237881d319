import PasscodePolicy
import Testing

@testable import PasscodeSystem
@testable import PasscodeVault

struct GateTests {
  /// Accounts of every system: whose passcode it is, and somebody else's.
  private static let own = "daemon"
  private static let other = "nobody"

  private enum Process {
    case root, own, other
  }

  private static let cases: [(Process, requester: String?, isPermitted: Bool)] = [
    (.root, nil, true), (.root, "", true), (.root, "root", true), (.root, own, true),
    (.root, other, false), (.root, "nosuchuser", false), (.root, own + " ", false),
    (.own, nil, true), (.own, "", true), (.own, "root", true), (.own, own, true),
    (.own, other, false), (.own, "nosuchuser", false),
    (.other, nil, false), (.other, "", false), (.other, "root", false), (.other, own, false),
    (.other, other, false),
  ]

  private static func account(_ name: String) throws -> Account {
    guard case .found(let account) = Account.named(Bytes(text: name)) else { throw Missing() }
    return account
  }

  private struct Missing: Error {}

  @Test(arguments: cases)
  private func `attempts are made for one's own account or by real root`(
    process: Process, requester: String?, isPermitted: Bool
  ) throws {
    let account = try Self.account(Self.own)
    let real =
      switch process {
      case .root: UInt32(0)
      case .own: account.uid
      case .other: try Self.account(Self.other).uid
      }
    // The real uid counts, whatever else the process is.
    for effective in [real, 0, account.uid] {
      let identity = ProcessIdentity(
        real: real, effective: effective, saved: effective, isSecure: real != effective)
      let origin = LoginOrigin(process: identity, requester: Bytes(text: requester ?? ""))
      switch Gate.admit(account, origin, .root) {
      case .admitted(let permit): #expect(isPermitted && permit.account == account)
      case .refused(let reason, _): #expect(!isPermitted && reason == .otherAccount)
      case .unknownUser: Issue.record("the account was looked up")
      }
    }
  }

  // MARK: What else a service may ask

  private func reason(
    _ origin: LoginOrigin, _ access: Access, _ change: (inout Options.Door) -> Void
  ) throws -> NotPermitted? {
    var door = Options().door
    change(&door)
    let admission = try Gate.admit(user: Bytes(text: Self.own), origin, door, access)
    guard case .refused(let reason, _) = admission else { return nil }
    return reason
  }

  @Test(arguments: [(true, true), (true, false), (false, true), (false, false)])
  func `a login from elsewhere is refused where the service says so`(isRemote: Bool, refuses: Bool) throws {
    let root = ProcessIdentity(real: 0, effective: 0, saved: 0, isSecure: false)
    let reason = try reason(LoginOrigin(process: root, isRemote: isRemote), .root) {
      $0.allowsRemote = !refuses
    }
    #expect(reason == (isRemote && refuses ? .remote : nil))
    let unknown = try Gate.admit(
      user: Bytes(text: "nosuchuser"), LoginOrigin(process: root), Options().door, .root)
    guard case .unknownUser = unknown else {
      Issue.record("somebody who doesn't exist")
      return
    }
  }

  private enum Seat {
    case here, remote
  }

  private static let programs: [(LoginItems, program: String, real: UInt32, Seat)] = [
    // Where PAM_RHOST is set, or PAM_TTY says so.
    (items("sshd", host: "192.0.2.1", terminal: "ssh"), "sshd", 0, .remote),
    (items("sshd", terminal: "ssh"), "sshd", 0, .remote), (items("sshd", terminal: "ssh"), "", 1000, .remote),
    (items("vsftpd", requester: "daemon", host: "192.0.2.1", terminal: "ftp"), "vsftpd", 0, .remote),
    (items("xsecurelock", requester: "daemon", host: "localhost", terminal: ":0"), "", 1000, .remote),
    (items("sddm", host: "192.0.2.1"), "sddm-helper", 0, .remote),
    // A terminal called like the service is none.
    (items("xrdp-sesman", terminal: "xrdp-sesman"), "xrdp-sesman", 0, .remote),
    (items("xrdp-sesman", terminal: "xrdp-sesman"), "", 1000, .remote),
    (items("dovecot", requester: "daemon", terminal: "dovecot"), "auth", 0, .remote),
    // Root's program says nothing.
    (items("smtp"), "saslauthd", 0, .remote), (items(""), "", 0, .remote),
    (items("login"), "login", 0, .remote),
    (items("polkit-1"), "polkit-agent-helper-1", 0, .remote), (items("polkit-1"), "", 1000, .here),
    // A name that isn't a terminal's.
    (items("imap", requester: "daemon", terminal: "dovecot"), "auth", 0, .remote),
    (items("login", terminal: "no-such-device"), "login", 0, .remote),
    (items("ppp", terminal: "/dev/pts/3"), "pppd", 0, .remote),
    // Nobody asks, and the terminal is merely named.
    (items("backup", terminal: "/dev/tty1"), "backup", 0, .remote),
    (items("backup", terminal: ":0"), "", 0, .remote),
    (items("backup", display: ":0"), "backup", 0, .remote),
    (items("login", terminal: "tty1"), "backup", 0, .remote),
    (items("other", terminal: "/dev/tty1"), "gdm-session-worker", 0, .remote),
    (items("lightdm", terminal: ":0"), "xdm", 0, .remote), (items("xdm", display: ":0"), "", 0, .remote),
    // Somebody asks it: sudo where there is no terminal.
    (items("sudo", requester: "daemon"), "", 0, .here),
    // A login program on a terminal or a display.
    (items("login", terminal: "null"), "login", 0, .here),
    (items("login", terminal: "tty1"), "login", 0, .here),
    (items("gdm-password", terminal: "/dev/tty1"), "gdm-session-worker", 0, .here),
    (items("lightdm", terminal: ":0"), "lightdm", 0, .here), (items("xdm", display: ":0"), "xdm", 0, .here),
    (items("slim", terminal: ":0"), "slim", 0, .here), (items("wdm", terminal: ":0"), "wdm", 0, .here),
    // One that names its terminal only when it opens the session.
    (items("sddm"), "sddm-helper", 0, .here), (items("greetd"), "greetd", 0, .here),
    (items("lxdm"), "lxdm-binary", 0, .here), (items("lightdm"), "lightdm", 0, .remote),
    (items("greetd"), "saslauthd", 0, .remote), (items("greetd"), "", 0, .remote),
    (items("smtp"), "greetd", 0, .remote), (items("greetd"), "/usr/sbin/greetd", 0, .remote),
    // A person's own.
    (items("su", requester: "daemon", terminal: "/dev/pts/0"), "", 1000, .here),
    (items("swaylock"), "swaylock", 1000, .here),
  ]

  private static func items(
    _ service: String, requester: String = "", host: String = "", terminal: String = "", display: String = ""
  ) -> LoginItems {
    LoginItems(
      service: Bytes(text: service), requester: Bytes(text: requester), remoteHost: Bytes(text: host),
      terminal: Bytes(text: terminal), display: Bytes(text: display))
  }

  @Test(arguments: programs)
  private func `what a program tells PAM says whether its user is at the machine`(
    items: LoginItems, program: String, real: UInt32, seat: Seat
  ) {
    let process = ProcessIdentity(real: real, effective: 0, saved: 0, isSecure: real != 0)
    let broker = Broker(Bytes(text: program), service: items.service)
    #expect(items.tellOfRemoteLogin(to: process, broker) == (seat == .remote))
  }

  private static let askers: [(program: String, service: String, ProcessIdentity.Asker)] = [
    ("gdm-session-worker", "gdm-password", .session), ("gdm-session-worker", "other", .session),
    ("gdm-session-worker", "polkit-1", .session), ("polkit-agent-helper-1", "polkit-1", .peer),
    ("polkit-agent-helper-1", "other", .peer), ("", "polkit-1", .peer), ("", "polkit-1-concurrent", .peer),
    ("login", "polkit-1", .peer), ("login", "login", .itself), ("", "gdm-password", .itself),
    ("gdm", "gdm-password", .itself), ("/gdm-session-worker", "gdm-password", .itself),
  ]

  @Test(arguments: askers)
  private func `it depends on the program who asks`(
    program: String, service: String, asker: ProcessIdentity.Asker
  ) {
    #expect(Broker(Bytes(text: program), service: Bytes(text: service)).asker == asker)
  }

  private static let services: [(program: String, service: String, forRoot: Bool, forOthers: Bool)] = [
    ("gdm-session-worker", "gdm-password", false, true), ("gdm-session-worker", "other", false, false),
    ("gdm-session-worker", "gdm-nosuch", false, false),
    ("polkit-agent-helper-1", "polkit-1", false, true), ("polkit-agent-helper-1", "other", false, false),
    ("lightdm", "lightdm", false, true), ("slim", "slim", false, true), ("wdm", "wdm", false, true),
    ("xdm", "xdm", false, true), ("xdm", "other", false, true), ("lxdm-binary", "lxdm", false, true),
    ("sddm-helper", "sddm", false, true), ("greetd", "greetd", true, true), ("login", "login", true, true),
    ("su", "su", true, true), ("", "", true, true),
  ]

  @Test(arguments: services)
  private func `a program asks for some accounts only`(
    program: String, service: String, forRoot: Bool, forOthers: Bool
  ) throws {
    let root = ProcessIdentity(real: 0, effective: 0, saved: 0, isSecure: false)
    let broker = Broker(Bytes(text: program), service: Bytes(text: service))
    for (name, isPermitted) in [("root", forRoot), (Self.own, forOthers)] {
      switch Gate.admit(
        try Self.account(name), LoginOrigin(process: root, firstUID: broker.firstUID), .root)
      {
      case .admitted: #expect(isPermitted)
      case .refused(let reason, _): #expect(!isPermitted && reason == .otherAccount)
      case .unknownUser: Issue.record("the account was looked up")
      }
    }
  }

  /// Nobody called "daemon" has logged in to this machine.
  @Test(arguments: [Access.root, .service, .helper])
  func `the first login is waited for, or left to the helper`(access: Access) throws {
    let root = ProcessIdentity(real: 0, effective: 0, saved: 0, isSecure: false)
    let reason = try reason(LoginOrigin(process: root), access) { $0.allowsFirstLogin = false }
    #expect(reason == (access == .helper ? nil : .firstLogin))
    // Where it is known who asks, a look may find out who is enrolled.
    let person = LoginOrigin(process: root, requester: Bytes(text: Self.own))
    guard
      case .admitted(let permit) = Gate.admit(
        try Self.account(Self.own), person, access, wantsLogin: true)
    else {
      Issue.record("refused")
      return
    }
    #expect(permit.waitsForLogin == (access != .helper))
  }

  // MARK: The finger

  private static let offers: [(real: UInt32, requester: String, FingerRequest.Place)] = [
    (0, "", .terminal(second)), (0, "root", .terminal(second)), (0, own, .session), (1, "", .session),
    (1, "root", .session), (1, own, .session),
  ]

  private static let second = FingerRequest.Terminal(code: 2)

  private static let places: [(LoginItems, FingerRequest.Terminal)] = [
    (items("login", terminal: "tty2"), second), (items("login", terminal: "/dev/tty63"), .init(code: 63)),
    (items("lightdm", terminal: ":0"), .init(code: 64)), (items("xdm", display: ":9"), .init(code: 73)),
    (items("su", requester: "root", display: ":190"), .init(code: 254)), (items("sddm"), .loginScreen),
    // A display that nobody at this machine sees, or that has no number.
    (items("lightdm", terminal: "vnc:5"), .other), (items("lightdm", terminal: "elsewhere:0"), .other),
    (items("lightdm", terminal: ":191"), .other), (items("lightdm", terminal: ":255"), .other),
    (items("lightdm", terminal: ":256"), .other), (items("lightdm", terminal: ":0.0"), .other),
    (items("lightdm", terminal: ":00"), .other), (items("lightdm", terminal: ":"), .other),
    (items("lightdm", terminal: ":18446744073709551616"), .other),
    (items("xdm", display: "elsewhere:0"), .other),
    // Somebody may sit elsewhere.
    (items("login", terminal: "ttyS0"), .other), (items("login", terminal: "/dev/hvc0"), .other),
    (items("su", terminal: "/dev/pts/3"), .other), (items("sudo", terminal: "pts/3"), .other),
    (items("su", terminal: "/dev/pts/3", display: ":0"), .other), (items("su", requester: "root"), .other),
    (items("login", terminal: "tty"), .other), (items("login", terminal: "/dev/tty"), .other),
    (items("login", terminal: "tty0"), .other), (items("login", terminal: "tty01"), .other),
    (items("login", terminal: "tty64"), .other), (items("login", terminal: "tty1x"), .other),
    (items("login", terminal: "console"), .other), (items("login", terminal: "1"), .other),
  ]

  @Test(arguments: places)
  private func `a terminal shows where its user is, or doesn't`(
    items: LoginItems, terminal: FingerRequest.Terminal
  ) {
    #expect(items.place == terminal)
  }

  private func request(
    real: UInt32 = 0, effective: UInt32 = 0, requester: String = "", isRemote: Bool = false,
    access: Access = .root, _ change: (inout Options) -> Void = { _ in }
  ) throws -> FingerRequest? {
    let account = try Self.account(Self.own)
    let identity = ProcessIdentity(
      real: real, effective: effective, saved: effective, isSecure: real != effective)
    let origin = LoginOrigin(
      process: identity, requester: Bytes(text: requester), isRemote: isRemote, terminal: Self.second)
    var options = Options()
    options.door.finger = true
    options.door.allowsRemote = true
    change(&options)
    guard case .admitted(let permit) = Gate.admit(account, origin, access) else {
      return nil
    }
    return Gate.finger(permit, origin, Configuration(options: options, access: access))
  }

  @Test(arguments: offers)
  private func `a program that somebody runs wants their session`(
    real: UInt32, requester: String, place: FingerRequest.Place
  ) throws {
    let account = try Self.account(Self.own)
    let found = try request(real: real == 0 ? 0 : account.uid, requester: requester)
    #expect(found == FingerRequest(.watch, uid: account.uid, at: place))
  }

  @Test
  func `the finger is offered to local logins of programs with root's privileges, and is no second factor`()
    throws
  {
    let own = try Self.account(Self.own).uid
    #expect(try request() != nil)
    #expect(try request { $0.door.finger = false } == nil)
    #expect(try request(isRemote: true) == nil)
    #expect(try request { $0.policy.secondFactor = true } == nil)
    #expect(try request(real: own, effective: own, access: .helper) == nil)
    #expect(try request(real: own, effective: own, access: .person(own)) == nil)
    #expect(try request(real: own, effective: own) == nil)
  }
}
