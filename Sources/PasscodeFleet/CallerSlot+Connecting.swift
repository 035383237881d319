internal import PasscodePolicy
internal import PasscodeSystem
public import PasscodeVault

// The side of passcode-fleet.

extension CallerSlot.Purpose {
  // In /run/passcode/waiting, beside the helpers' own:
  //
  //     2^41 + i             until the first sign of the verifier, i below 8
  //     2^41 + 8 + i         the same, started by root's programs
  //     2^42 + uid × 4 + i   started by a helper, of the account that it asks about, i below 4
  //     2^43 + uid × 4 + i   the same, started by root's programs

  /// Of passcode-fleet that a helper started: from the connection to the first sign of the verifier.
  fileprivate static var connecting: Self { Self(start: 1 << 41, limit: 8) }
  /// The slots to connect for processes that root's programs started.
  fileprivate static var connectingForRoot: Self { Self(start: 1 << 41 + 8, limit: 8) }
  /// The slots to connect for one account; by helpers, and by root's programs.
  fileprivate static var connectingForAccount: Self { Self(start: 1 << 42, limit: 4) }
  fileprivate static var connectingForAccountAndRoot: Self { Self(start: 1 << 43, limit: 4) }
}

extension CallerSlot {
  /// The right to connect to a fleet's server, as long as it is kept.
  public struct Connecting: ~Copyable {
    fileprivate let own: CallerSlot?
    fileprivate let machines: CallerSlot?
  }

  /// Waits until fewer processes are connecting to a fleet's server, on this machine and for this account: connections
  /// that are all begun at the same moment are all ready at the same moment, and that may be too late for each.
  ///
  /// At most half of the slots are for one account: while the servers are silent, other people's slots stay free.
  ///                                                                                        test_workstation_attacks.py
  /// A person can ask a helper only about their own account, so a crowd of helpers keeps only itself waiting, and may wait
  /// for a minute. Root's programs ask about anyone: with `su alice` bob can take the slots that alice's own logins need,
  /// and keep them by stopping those programs. For root's programs the wait is therefore short.
  ///                                                                                              test_fleet_crowds.py
  ///
  /// - Returns: without a slot if none of the account's was free for 60 s (20 s for root's programs), or none of the
  ///   machine's for 5 s; and where the file isn't sound.
  public static func takeToConnect(for account: UInt32, isForRoot: Bool) -> Connecting {
    if isForRoot {
      let own = take(.connectingForAccountAndRoot, for: account, within: 20_000)
      return Connecting(own: own, machines: take(.connectingForRoot, for: 0, within: 5_000))
    }
    let own = take(.connectingForAccount, for: account, within: 60_000)
    return Connecting(own: own, machines: take(.connecting, for: 0, within: 5_000))
  }

  private static func take(_ purpose: Purpose, for caller: UInt32, within limit: UInt64) -> CallerSlot? {
    let started = SystemClock.bootMilliseconds() ?? 0
    var pause = 5_000
    while true {
      do throws(Fault) { return try take(purpose, for: caller) } catch {
        guard let now = SystemClock.bootMilliseconds(),
          SystemClock.elapsed(from: started, to: now) < limit
        else { return nil }
        // A crowd that looks all the time leaves no time for those that connect.
        SystemClock.sleep(microseconds: pause)
        pause = min(pause * 2, 160_000)
      }
    }
  }
}
