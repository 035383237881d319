public import PasscodePolicy

/// What is wrong with a line that asks for the passcode, as far as `status` tells it, too; `PAMRule` has all else that
/// `check` finds. It never changes once it is made, so it is shared, not copied.
public final class PAMFinding: Sendable {
  public enum Problem: Equatable, Sendable {
    /// The line has an option that is wrong, or not allowed in a module line.
    case option(Fault)
    /// The password is required, too, and `second_factor` is missing.
    case unmarkedSecondFactor
    /// `auth_err=die` without `either`.
    case noWayToThePassword
  }

  public let path: Bytes
  public let line: Int
  public let problem: Problem

  @inline(never)
  init(_ path: Bytes, _ line: Int, _ problem: Problem) {
    self.path = path
    self.line = line
    self.problem = problem
  }
}

extension PAMFinding: Equatable {
  public static func == (one: PAMFinding, other: PAMFinding) -> Bool {
    one.line == other.line && one.path == other.path && one.problem == other.problem
  }
}

/// A PAM file that can't be read, so that nothing is known of its service.
public struct PAMUnread: Error, Equatable, Sendable {
  public enum Reason: Equatable, Sendable {
    /// A system call failed, with this errno.
    case failed(Int32)
    /// The file has more than `PAMFile.largest` bytes.
    case tooLarge
    case tooManyFiles
    /// Included in itself, or as deep as libpam doesn't go.
    case tooDeep
    /// The service has more lines than are read, with those of included files.
    case tooManyLines(Int)
  }

  public let path: Bytes
  public let reason: Reason
}
