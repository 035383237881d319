internal import PasscodeTool

// What a batch says.

extension Phrase {
  static func workerDied(_ process: Int32) -> Phrase {
    "process \(UInt64(process)) died: run this line again"
  }

  /// The line's worker was stopped while it waited, and a later line was done.
  static var notBegun: Phrase { "stopped while it waited: nothing was changed" }

  static var stuckSlots: Phrase {
    "other processes are stuck holding hashing slots; continuing, with one overflow slot kept free for logins"
  }
}
