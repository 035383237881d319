internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeStacks
internal import PasscodeSystem

/// What a check found. Messages/Check+Words.swift decides whether it is an error or a warning, and has the words and the
/// remedy.
enum CheckFinding {
  // Found by the libraries.
  case fault(Fault)
  case store(StoreFinding)
  case run(RunFinding)
  case line(PAMFinding)
  case rule(PAMRuleFinding)
  case unread(PAMUnread)

  // Configuration and cost.
  /// The helper can't read the configuration.
  case hiddenConfiguration(Bytes)
  case slow(milliseconds: UInt64)
  case noMemoryToHash(bytes: UInt64)
  /// The memory that all hashing slots together may take, and the machine's.
  case muchMemory(bytes: UInt64, of: UInt64)

  /// A library is missing, without which systemd-creds can't reach the TPM.
  case missingLibrary(Bytes)
  /// Where memory is swapped out to, unencrypted; and where a hibernated machine's goes.
  case swapSpace(Bytes), hibernation(Bytes)

  // Programs.
  case missingProgram(Bytes)
  case otherVersion(Bytes)
  /// The module belongs to someone else, or others can write to it.
  case untrustedModule(Bytes)
  case unloadableModule(Bytes)
  /// A line names another file than the installed module; `isThere`: whether that file exists.
  case otherModule(Bytes, Int, module: Bytes, isThere: Bool)
  case helperMode(Bytes)
  /// The helper isn't a file of root or `_passcode`, or others can write to it.
  case untrustedHelper(Bytes)
  case nosuid(Bytes)
  /// The helper gives no answer, and the reason isn't known.
  case helperSilent(Bytes)
  /// The helper can't use the configuration, the key or the store.
  case helperRefuses
  case notConfined(Bytes), complaining

  // The fingerprint reader, where a service has finger=yes.
  case noFingerProgram
  case untrustedFingerProgram(Bytes)
  case fingerNeedsSystemd
  /// The socket of passcode-finger isn't there.
  case fingerNotListening(Bytes)

  /// `verifier=` is set, and the package passcode-fleet is missing.
  case noFleetProgram

  // Services.
  case nobodyAsks
  case editedProfile(Bytes, Int)
  case lostProfile(Bytes)
  /// The unit of polkit's helper may not write to this directory.
  case polkitCannotWrite(Bytes)
  case noTmpfiles
  case member(Bytes)
}

/// Why a check was left out.
enum CheckSkip {
  case needsRoot, otherConfiguration, badConfiguration
  /// The helper isn't asked: an error found before may be what keeps it from answering.
  case afterErrors
  /// Root can't ask: there is no account `nobody`, or no process can become it.
  case noNobody, notNobody
}
