internal import PasscodePolicy

/// The accounts of `--all`: those that have a record when the command begins, in the order of their uids.
struct BatchEverybody {
  /// What is read where a list would be.
  static var noList: Bytes { Bytes(text: "/dev/null") }

  let uids: [UInt32]
  /// How many accounts the batch has begun with.
  private(set) var position = 0

  init(_ uids: [UInt32]) {
    self.uids = uids
  }

  mutating func next() -> UInt32? {
    guard position < uids.count else { return nil }
    position += 1
    return uids[position - 1]
  }
}
