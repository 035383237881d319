package import PasscodePolicy

/// How an enrolment waits for its turn to hash, where that is different from a login's way: PasscodeAdmin's `BatchTurns`.
/// The helper has none, and so nothing of this file.
public final class Background {
  // To the compiler a type that is only thrown doesn't make use of its import.
  package typealias Failure = Fault

  /// Called before a hashing slot is asked for the first time.
  let begin: (Vault, Store) -> Void
  /// The right to hash, asked for while the account's record is locked; nil: it must release that, and wait.
  let take: (Store, Int) throws(Failure) -> HashingSlots.Held?
  /// Waits a little.
  let pause: (Store, Int) -> Void
  /// After the hash, without the slot, and before the record is written; may end the process.
  package let leave: () -> Void

  package init(
    begin: @escaping (Vault, Store) -> Void,
    take: @escaping (Store, Int) throws(Failure) -> HashingSlots.Held?,
    pause: @escaping (Store, Int) -> Void, leave: @escaping () -> Void
  ) {
    self.begin = begin
    self.take = take
    self.pause = pause
    self.leave = leave
  }
}
