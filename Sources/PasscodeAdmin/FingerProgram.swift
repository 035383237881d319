public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem

/// passcode-finger, asked which fingers are enrolled: by root for anyone, by others for themselves.
///
/// - It MUST be the installed one, root's, and nobody else may be able to write to it; whatever else stands there isn't
///   started.                                                                          test_finger_status.py
public enum FingerProgram {
  /// What is known of an account's fingers.
  public enum Answer: Equatable, Sendable {
    /// The package isn't installed.
    case notInstalled
    /// The program isn't as the package installs it, or gave no answer.
    case unusable
    case listed(Fingers)
    case ended(FingerEnd)
  }

  /// Whether the program is installed, and as it should be.
  public enum Installation: Equatable, Sendable {
    case missing
    /// Not a file of root's that only root can write to.
    case unsound
    /// systemd doesn't listen, so no prompt offers the reader.
    case notListening
    case ready
  }

  /// What a prompt would find, as far as anyone may see it.
  public static var installation: Installation {
    do throws(Errno) {
      guard try isSound() else { return .unsound }
    } catch {
      return error == .noEntry ? .missing : .unsound
    }
    return isListening ? .ready : .notListening
  }

  /// passcode-finger.socket has it, too, and removes it when it is stopped.
  public static var socket: Bytes { Bytes(text: "/run/passcode-finger.socket") }

  private static var isListening: Bool { (try? FileStatus.of(socket)) != nil }

  /// Asks, and waits for 3 seconds at most: it answers within 2.
  public static func list(_ uid: UInt32) -> Answer {
    do throws(Errno) {
      guard try isSound() else { return .unusable }
      return answer(try HelperProcess(Installed.finger), uid)
    } catch {
      return error == .noEntry ? .notInstalled : .unusable
    }
  }

  /// Whether the installed program may be started: root's, and writable by nobody else.
  ///
  /// - Throws: ENOENT where the package isn't installed.
  private static func isSound() throws(Errno) -> Bool {
    let status = try FileStatus.of(Installed.finger)
    return status.kind == .file && status.owner == 0 && status.mode & 0o6022 == 0
  }

  private static func answer(_ program: consuming HelperProcess, _ uid: UInt32) -> Answer {
    program.send(FingerRequest(.list, uid: uid).bytes)
    // Its answer is one event; then it ends.
    let pause: HelperProcess.Pause = (length: 0, secondByte: 0)
    let patience: HelperProcess.Patience = (withoutMovement: 3_000, altogether: 3_000)
    guard let bytes = try? program.reply(limit: FingerEvent.length, pause: pause, patience) else {
      return .unusable
    }
    return switch FingerEvent(bytes) {
    case .listed(let fingers): .listed(fingers)
    case .ended(let end): .ended(end)
    case .starting, .watching, .noMatch, .matched, .present, nil: .unusable
    }
  }
}
