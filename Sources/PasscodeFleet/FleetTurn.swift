internal import PasscodeFleetPolicy
public import PasscodePolicy
internal import PasscodeSystem
public import PasscodeVault

/// What the verifiers of one server settle among themselves, so that a crowd doesn't overload etcd or the machine. Nothing
/// depends on it: what may be attempted is decided in etcd alone.
///
///     /var/lib/passcode-verifier/turns    empty, mode 0600; bytes that a verifier has locked:
///         below 256                           it waits for the attempt after a look
///         256                                 its look tests whether there is memory for a hash
///         2^16 + 16 bits of a hash            its attempt is on an account with that hash
///         2^20 + 128 × 16 bits of a hash + i  it serves a workstation with that hash, i below 128
///         2^24 + 96 × 16 bits of a hash + i   it has an attempt of a workstation on an account with that hash, i below 96
///     /var/lib/passcode-verifier/asked    mode 0600; 8 bytes at 8 × 16 bits of a workstation's hash, little-endian: the
///         moment (CLOCK_BOOTTIME, ms) at which all that it has asked would have been answered, with one answer a second
///
/// The lock belongs to the open file (F_OFD_SETLK), so it ends with the process, however that ends.
///
/// MUST (fleet):
/// 17  Nobody is turned away in a crowd. On a workstation, at most 8 processes that helpers started connect at a time, and 8
///     that root's programs started; of each of these, at most 4 for any one account. A process that has waited 60 s for one
///     of its account's slots (20 s if root's programs started it), or 5 s for one of the others, goes on without. The relay
///     gives signs until the verifier has begun, and attempts on one account wait for each other on the server before they
///     ask etcd. On each server, at most 256 verifiers wait for an attempt after a look, and at most 128 serve one
///     workstation, so that it can't use up the server's 512; of these, at most 96 have an attempt on one account, so that a
///     crowd on one account leaves some for the others. A crowd without a valid token of etcd's costs etcd one bcrypt: one
///     process of a server asks for a token, and the others wait for it.   test_fleet_crowds.py, test_verifier_attacks.py,
///     test_a_storm_is_bounded_by_the_servers_slots, TokenFileTests, test_fleet_token.py
/// 19  A workstation may ask each server 1,000 times at once, and then once a second, whatever it asks; a look and the attempt
///     after it on the same connection are one. More than that is `unavailable`, and the verifier says that it isn't charged.
///     Workstations whose names have the same 16 bits of hash share this.
///     test_a_workstation_may_ask_a_thousand_times_and_then_once_a_second
///
/// - A verifier without a turn MUST NOT wait for an attempt after a look, even where the file can't be made or opened. Every
///   workstation is served all the same then.                            test_verifier.py, test_verifier_attacks.py
/// - Waiting for another attempt on the account MUST end, and then the attempt goes on without a turn.
///                                                                                     test_verifier_codes.py
public struct FleetTurn: ~Copyable {
  /// Verifiers of this server that wait for the attempt after a look.
  public static let mostWaiting = 256
  /// Verifiers of this server that serve one workstation.
  public static let mostServing = 128
  /// How many verifiers that serve one workstation may have an attempt on one account.
  public static let mostOfAccount = 96
  /// What a workstation may ask this server at once.
  public static let mostAsked: UInt64 = 1_000
  private static let firstAccount = 1 << 16
  private static let firstServing = 1 << 20
  private static let firstOfAccount = 1 << 24

  private var lock: ByteLock?
  public var isTaken: Bool { lock != nil }

  /// Stands for no turn: nothing is locked.
  public static var none: FleetTurn { FleetTurn(lock: nil) }

  /// The right to wait for an attempt.
  public static func toWait() -> FleetTurn {
    one(of: 0..<mostWaiting) ?? none
  }

  /// The right to test whether there is memory for a hash; nil: another one tests that just now.
  static func toTestMemory() -> FleetTurn? {
    one(of: mostWaiting..<mostWaiting + 1)
  }

  /// The right to serve a workstation; nil: as many verifiers as may serve it are doing so.
  public static func toServe(_ workstation: Bytes) -> FleetTurn? {
    let first = firstServing + mostServing * hash(workstation)
    return one(of: first..<first + mostServing)
  }

  /// The right to attempt an account for a workstation; nil: as many verifiers as may do that are doing so.
  public static func toServe(_ workstation: Bytes, account: Bytes) -> FleetTurn? {
    let pair = workstation + Bytes(text: "\n") + account
    let first = firstOfAccount + mostOfAccount * hash(pair)
    return one(of: first..<first + mostOfAccount)
  }

  /// Counts a request of a workstation.
  ///
  /// - Returns: false if it has asked too often; where that can't be counted, it hasn't.
  public static func mayAsk(_ workstation: Bytes) -> Bool {
    guard let file = open("/asked") else { return true }
    let place = 8 * hash(workstation)
    var rounds = 0
    while (try? ByteLock.tryLock(file, at: place)) == false, rounds < 1_000 {
      SystemClock.sleep(microseconds: 100)
      rounds += 1
    }
    guard let now = SystemClock.bootMilliseconds(), let kept = try? file.read(8, at: place) else {
      return true
    }
    let last = now + mostAsked * 1_000
    let answered = kept.count == 8 ? littleEndianNumber(kept, 0, 8) : 0
    // One after `last` was written before the machine was started.
    let next = (answered > last ? now : max(answered, now)) + 1_000
    if next > last { return false }
    try? file.write(littleEndian(next, 8), at: place)
    return true
  }

  private static func one(of bytes: Range<Int>) -> FleetTurn? {
    guard let file = open() else { return FleetTurn.none }
    guard let byte = try? ByteLock.lockOne(of: bytes, in: file) else { return nil }
    return FleetTurn(lock: ByteLock(file, at: byte))
  }

  private static func hash(_ name: Bytes) -> Int { Int(littleEndianNumber(blake2b(name[...]), 0, 2)) }

  /// Waits until no other attempt on the account is under way on this server: otherwise each of them would ask etcd again
  /// and again until it is free.
  public static func toAttempt(_ account: Bytes, _ clock: Clock) -> FleetTurn {
    guard let file = open() else { return none }
    let byte = firstAccount + hash(account)
    // Longer than the lease of an attempt whose process died.
    let wait = Wait(Wait.Limits(withoutMovement: 26_000, longest: 60_000), clock)
    while (try? ByteLock.tryLock(file, at: byte)) != true {
      guard case .again = wait.pause({ decimalDigits((try? file.status().modified) ?? 0) }) else {
        return none
      }
    }
    // Those who wait see that something moves.
    try? file.touch()
    return FleetTurn(lock: ByteLock(file, at: byte))
  }

  /// Gives the turn back, so that another verifier can have it.
  public mutating func end() {
    lock = nil
  }

  private static func open(_ name: Literal = "/turns") -> Descriptor? {
    try? ServiceFile.openOrCreate(FleetServer.statePath + Bytes(text: name))
  }
}
