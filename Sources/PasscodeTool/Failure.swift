public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem

/// Why a command of `passcode` or `passcode server` fails. In each program's own folder is what only that one says. Shared,
/// not copied: an error is one word.
public final class Failure: Error {
  public let status: ExitStatus
  /// What the libraries met; the program has the words. nil: `phrase` has them.
  public let fault: Fault?
  /// One line for standard error: what, where, what to do.
  public let phrase: Phrase

  @inline(never)
  public init(_ status: ExitStatus, _ phrase: Phrase, _ fault: Fault? = nil) {
    self.status = status
    self.fault = fault
    self.phrase = phrase
  }

  @inline(never)
  public static func fault(_ fault: Fault) -> Failure { Failure(.unusable, Phrase("" as Text), fault) }
}

/// Runs what the Vault does, and makes its faults ours.
public func reporting<Value: ~Copyable>(_ body: () throws(Fault) -> Value) throws(Failure) -> Value {
  do throws(Fault) { return try body() } catch { throw .fault(error) }
}

// MARK: - What both programs say

extension Failure {
  public static var cancelled: Failure { Failure(.cancelled, "cancelled; nothing was changed") }
  public static var noTerminal: Failure { Failure(.usage, "there is no terminal to ask on: use --stdin") }

  public static func unreadable(_ error: Errno) -> Failure {
    Failure(.usage, "standard input can't be read: \(error.localText)")
  }

  public static var noLibrary: Failure { Failure(.unusable, "libsodium could not be initialised") }
  public static var onlyRoot: Failure { Failure(.notPermitted, "only root can do that: run it with sudo") }

  public static var noRandomPasscode: Failure {
    Failure(.unusable, "could not generate a passcode that passes the weakness rules: is weak_list too long?")
  }

  public static func noProcess(_ error: Errno) -> Failure {
    Failure(.unusable, "no process can be started: \(error.localText)")
  }

  /// What was asked for could not be printed: a full disk, a closed descriptor.
  public static var unwritable: Failure { Failure(.unusable, "can't write to standard output") }

  public static var lengthValue: Failure { Failure(.usage, "--length needs 4 or 6") }
  public static var sinceValue: Failure { Failure(.usage, "--since needs a time up to 365d, such as 12h") }

  /// - Parameter refusal: why the new passcode isn't taken.
  public static func refused(_ refusal: Choice.Refusal) -> Failure {
    switch refusal {
    case .length:
      Failure(.refused, "the configuration (lengths) doesn't allow that length; see passcode.conf(5)")
    case .weak(let weakness): Failure(.refused, "too easy to guess: \(Phrase(weakness.sentence))")
    }
  }

  /// The list has passcodes and standard input is a terminal: people could watch them being typed.
  public static var typed: Failure {
    Failure(.usage, "passcodes typed here could be seen: --batch needs a file or a pipe")
  }

  /// The file for passcodes isn't root's alone.
  public static func openOutput(_ path: Bytes) -> Failure {
    Failure(.unusable, "\(printable(path)): needs owner root and mode 0600, or must not exist")
  }

  public static func inUse(_ path: Bytes) -> Failure {
    Failure(.unusable, "\(printable(path)): another run is writing to it")
  }

  /// Secrets go to people; standard output may store them or show them to others.
  public static var shown: Failure {
    Failure(
      .usage,
      "passcodes and codes are printed only into a pipe: for a file use --output FILE, for a terminal --show")
  }

  public static func output(_ path: Bytes, _ error: Errno) -> Failure {
    Failure(.unusable, "the passcodes can't be written to \(printable(path)): \(error.localText)")
  }

  public static func unreadableList(_ error: Errno) -> Failure {
    Failure(.unusable, "the list can't be read: \(error.localText)")
  }

  /// - Parameter path: what the system says of it.
  public static func list(_ path: Bytes, _ error: Errno) -> Failure {
    Failure(.usage, Phrase("\(printable(path)): \(error.localText)" as Text))
  }
}
