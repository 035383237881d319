internal import CSystem
internal import PasscodeBytes
public import PasscodeSystem

/// systemd-creds(1), which seals the machine key with the TPM. The key goes to it and comes from it through pipes: it is
/// in no argument, environment or file. The corresponding C function is `posix_spawn`.
public enum SealingProgram {
  /// systemd-creds failed, or printed nothing.
  public struct Problem: Error, Sendable {
    /// The last line that systemd-creds printed, or the system's text for an error.
    public let words: [UInt8]

    /// The TPM has seen too many failures, or power cuts, and opens nothing for a while. systemd 252 says it in words, 257
    /// with the kernel's for ENOLCK.
    public var isLockout: Bool {
      [Bytes(text: "dictionary attack lockout"), Bytes(text: "No locks available")].contains { sign in
        words.indices.contains { words[$0...].starts(with: sign) }
      }
    }
  }

  /// Seconds for which somebody who typed a command waits. Most chips take less than 3.
  public static let patience: UInt32 = 10

  /// Seconds for which the unit waits, and nobody for it: slow chips take 19.
  public static let unitsPatience: UInt32 = 30

  /// Bytes that a sealed key may have; the pipe takes as many.
  public static let longest = 4_096

  /// Seals a key. The corresponding command is `systemd-creds encrypt`.
  ///
  /// - Parameter pcrs: as `--tpm2-pcrs` takes them: `7` or `7+14`; empty: none.
  /// - Returns: the sealed form, Base64.
  public static func seal(_ key: borrowing SecretKey, pcrs: [UInt8]) throws(Problem) -> [UInt8] {
    var sealed = [UInt8](repeating: 0, count: longest)
    var count = 0
    // SAFETY: the key has Length.key bytes, the buffer `longest`, and the PCRs end in NUL.
    if let words = unsafe cs_seal(
      withNUL(pcrs), key.start, Length.key, &sealed, longest, &count, patience)
    {
      throw Problem(words: unsafe bytes(words))
    }
    sealed.removeLast(max(0, longest - count))
    return sealed
  }

  /// Opens what `seal` made. The corresponding command is `systemd-creds decrypt`.
  ///
  /// - Parameters:
  ///   - key: undefined where this throws.
  ///   - seconds: for which it waits.
  public static func open(
    _ sealed: [UInt8], _ key: inout SecretKey, seconds: UInt32 = patience
  ) throws(Problem) {
    var count = 0
    let size = min(sealed.count, longest)
    // SAFETY: the key has room for Length.key bytes.
    if let words = unsafe cs_seal(nil, sealed, size, key.start, Length.key, &count, seconds) {
      throw Problem(words: unsafe bytes(words))
    }
    guard count == Length.key else { throw Problem(words: Bytes(text: "not a machine key")) }
  }
}
