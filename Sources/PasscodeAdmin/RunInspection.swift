public import PasscodePolicy
internal import PasscodeSystem
public import PasscodeVault

/// What is wrong with the runtime directory.
public enum RunFinding: Sendable {
  case missing(Bytes)
  /// The directory isn't `_passcode`'s alone.
  case notItsOwn(Bytes)
  /// Something else is in the directory's place.
  case notDirectory(Bytes)
  /// The file `waiting` in it isn't a regular one, and `_passcode`'s alone. `_passcode` could have put a link there.
  case unsoundWaiting(Bytes)
}

extension Vault {
  /// Looks at the runtime directory, and doesn't create it. For root.
  public static func inspectRunFolder(_ tell: (RunFinding) -> Void) {
    let path = RunFolder.path
    guard let service = serviceAccount() else { return }
    guard let folder = try? FileStatus.of(path) else { return tell(.missing(path)) }
    guard folder.kind == .directory else { return tell(.notDirectory(path)) }
    guard folder.owner == service.uid, folder.mode & 0o077 == 0 else { return tell(.notItsOwn(path)) }
    let waiting = Text("\(path)/waiting").bytes
    guard let file = try? FileStatus.of(waiting) else { return }
    if file.kind != .file || file.links != 1 || file.owner != service.uid || file.mode & 0o077 != 0 {
      tell(.unsoundWaiting(waiting))
    }
  }
}
