internal import PasscodePolicy
internal import PasscodeSystem

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
    let row = PasscodePolicy.number(of: program[...], among: Broker.programs)
    isInItsService = row != nil && row == PasscodePolicy.number(of: service[...], among: Broker.services)
    let number = row ?? 9
    // Programs of other names may serve polkit, too.
    asker = number == 0 ? .session : number == 1 || service.begins(with: "polkit-1") ? .peer : .itself
    namesTerminalLater = isInItsService && 6...8 ~= number
    firstUID = number < 2 && !isInItsService ? .max : number < 8 ? 1 : 0
  }
}
