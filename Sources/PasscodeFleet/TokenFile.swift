internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

/// The token of one of etcd's accounts, for all processes of a server; each new one costs etcd 50 ms of bcrypt.
///
///     /var/lib/passcode-verifier/token    0600 _passcode: the token. Byte 0 is locked while another one is asked for
///
/// - One process MUST ask for a token at a time. The others wait for that one's: a crowd costs etcd one bcrypt. The wait
///   ends after 3 s.                                                                 TokenFileTests, test_fleet_token.py
/// - Root's commands use it, too. So `seen`, which runs each minute, keeps it valid: etcd forgets a token that nobody has
///   used for 5 minutes.                                                                        test_fleet_token.py
/// - A token that got no answer is replaced by the process that retries, unless another process has done so already:
///   replies may be late because too much is asked, and each process would ask for a token on top of that.
///                                                                                                  TokenFileTests
/// - Where it can't be kept or locked, each process has its own.                                    TokenFileTests
struct TokenFile {
  private static let milliseconds: UInt64 = 3_000

  let path: Bytes
  let access: Access

  /// The token that was kept; nil if there is none.
  func read() -> Bytes? {
    guard let file = try? Descriptor.open(path, .readWrite) else { return nil }
    return read(file)
  }

  private func read(_ file: borrowing Descriptor) -> Bytes? {
    guard (try? ServiceFile.adopt(file, for: access)) != nil, let status = try? file.status(),
      status.mode & 0o077 == 0, let content = try? file.read(2_049, at: 0), EtcdAnswer.isToken(content)
    else { return nil }
    return content
  }

  /// Another token than this one; nil: there is none yet.
  ///
  /// - Parameters:
  ///   - whileWaiting: called again and again as long as another process asks for one.
  ///   - ask: gets one from etcd.
  func next(after stale: Bytes?, whileWaiting: () -> Void, _ ask: () -> Bytes?) -> Bytes? {
    if let token = read(), token != stale { return token }
    guard let file = open() else { return ask() }
    guard
      let isLocked = try? ServiceFile.lock(
        file, within: TokenFile.milliseconds, pauses: 2_000...40_000, whileWaiting: whileWaiting)
    else { return ask() }
    guard isLocked else { return nil }
    defer { ByteLock.unlock(file, at: 0) }
    if let token = read(file), token != stale { return token }
    guard let token = ask() else { return nil }
    do throws(Errno) {
      try file.setSize(0)
      try file.write(token, at: 0)
    } catch {}
    return token
  }

  /// Opens or makes the token's file; nil if that fails, or if the file is somebody else's.
  private func open() -> Descriptor? {
    guard let file = try? ServiceFile.openOrCreate(path), (try? ServiceFile.adopt(file, for: access)) != nil
    else { return nil }
    return file
  }
}
