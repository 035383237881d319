public import PasscodePolicy

/// What is wrong with a line that asks for the passcode.
public struct PAMFinding: Equatable, Sendable {
  public enum Problem: Equatable, Sendable {
    /// It has one that isn't right, or not here.
    case option(Fault)
    /// The password is required, too, and `second_factor` is missing.
    case unmarkedSecondFactor
    /// `auth_err=die` without `either`.
    case noWayToThePassword
  }

  public let path: Bytes
  public let line: Int
  public let problem: Problem
}

/// Why it isn't known what a service, or a file, does.
public struct PAMUnread: Error, Equatable, Sendable {
  public enum Reason: Equatable, Sendable {
    /// A system call failed, with this errno.
    case failed(Int32)
    /// More than `PAMFile.largest` bytes.
    case tooLarge
    case tooManyFiles
    /// Included in itself, or as deep as libpam doesn't go.
    case tooDeep
    /// More than so many, with those that it includes.
    case tooManyLines(Int)
  }

  public let path: Bytes
  public let reason: Reason
}
