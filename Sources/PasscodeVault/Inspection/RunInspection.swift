public import PasscodePolicy
internal import PasscodeSystem

/// What is wrong with the runtime directory.
public enum RunFinding: Sendable {
  case missing(Bytes)
  /// It, or the file `waiting` in it, isn't a directory or a file of `_passcode`'s alone.
  case notItsOwn(Bytes)
}

extension Vault {
  /// Looks at the runtime directory, which this doesn't make. For root.
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
