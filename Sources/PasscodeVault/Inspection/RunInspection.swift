public import PasscodePolicy
internal import PasscodeSystem

/// What is wrong with the runtime directory.
public enum RunFinding: Sendable {
  case missing(Bytes)
  /// The directory, or the file `waiting` in it, isn't `_passcode`'s alone, or is of another kind.
  case notItsOwn(Bytes)
}

extension Vault {
  /// Looks at the runtime directory, and doesn't create it. For root.
  public static func inspectRunFolder(_ tell: (RunFinding) -> Void) {
    let path = RunFolder.path
    guard let service = serviceAccount() else { return }
    guard let folder = try? FileStatus.of(path) else { return tell(.missing(path)) }
    guard folder.kind == .directory, folder.owner == service.uid, folder.mode & 0o077 == 0 else {
      return tell(.notItsOwn(path))
    }
    let waiting = Text("\(path)/waiting").bytes
    guard let file = try? FileStatus.of(waiting) else { return }
    if file.kind != .file || file.owner != service.uid || file.mode & 0o077 != 0 { tell(.notItsOwn(waiting)) }
  }
}
