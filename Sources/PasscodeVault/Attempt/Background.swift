package import PasscodePolicy

/// How an enrolment waits for its turn to hash, where that is different from a login's way: PasscodeAdmin's `BatchTurns`.
/// The helper has none, so it contains no code from this file.
public final class Background {
  // The compiler doesn't count a type that is only thrown as a use of the import.
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
