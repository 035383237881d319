internal import PasscodePolicy
internal import PasscodeStacks
internal import PasscodeVault

/// What a check found. Messages/Check+Words.swift has how much it matters, the words and the remedy.
enum CheckFinding {
  // Found by the libraries.
  case fault(Fault)
  case store(StoreFinding)
  case run(RunFinding)
  case line(PAMFinding)
  case rule(PAMRuleFinding)
  case unread(PAMUnread)

  // Configuration and cost.
  /// The helper can't read it.
  case hiddenConfiguration(Bytes)
  case slow(milliseconds: UInt64)
  case noMemoryToHash(bytes: UInt64)
  /// As much as all hashing slots may take, and what the machine has.
  case muchMemory(bytes: UInt64, of: UInt64)

  // Programs.
  case missingProgram(Bytes)
  case otherVersion(Bytes)
  /// The module belongs to someone else, or others can write to it.
  case untrustedModule(Bytes)
  case unloadableModule(Bytes)
  /// A line names another module than the installed one; or none.
  case otherModule(Bytes, Int, module: Bytes, isThere: Bool)
  case helperMode(Bytes)
  case nosuid(Bytes)
  /// Why, as far as it is known.
  case helperSilent(Bytes)
  case helperRefuses
  case notConfined(Bytes), complaining

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
  /// Of the helper: whatever is wrong would keep it from answering, too.
  case afterErrors
}
