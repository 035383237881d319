/// What only `passcode key` can come to. The tool alone has words for it: module and helper never meet any.
public enum KeyProblem: UInt16, Sendable {
  /// The key is sealed (path), and wasn't opened since the machine started; it opens.
  case keyNotLoaded
  /// Another configuration file was named: only the key of the default one is sealed.
  case keyOfOtherConfiguration
  /// Another process is changing keys.
  case keysBusy
  /// A rotation has to be finished first.
  case keyRotating
  /// There are a plain (path) and a sealed key.
  case twoKeys
  /// There is no sealed key (path).
  case keyNotSealed
  /// Nothing was sealed into the file (path); the same after a recovery. (name: the sealing program's words)
  case keyNotSealable, keyLoadedOnly
  /// Nothing can be loaded: no ramfs can be mounted (path). (name: the system's words)
  case keyNotMounted
  /// The key is loaded, and there is neither a plain nor a sealed one (path).
  case keyInMemoryOnly
  /// There is no key at all (path). (number: passcodes)
  case keyGone
  /// A sealed key (path) doesn't open. (name: the sealing program's words)
  case keyClosed
  /// A key (path) is there that opens: nothing has to be forgotten.
  case keyNotLost
  /// The key (path) doesn't open now, because of the TPM's protection against guessing.
  case keyLocked
  /// This systemd binds to PCR 16 where none is to count, and that isn't 0.
  case pcrNotZero
  /// The recovery copy's key opens none of them. (number: passcodes)
  case keyOpensNothing
  /// A plain key (path) is in use: nothing needs to be recovered.
  case keyIsPlain
  case otherKeyLoaded
  /// With `second_factor=yes` nobody can change a passcode that must be changed.
  case keyMustNotChange
  /// The recovery copy could not be printed; or it was not, because standard output is no terminal.
  case copyNotShown, copyNotOnTerminal
  /// (number: records that need the old key)
  case keyStillNeeded

  // What works, and should be different: as `twoKeys`, `keyClosed` and `keyStillNeeded`.
  case warnTwoKeys, warnKeyClosed, warnOldKey
  /// The sealed key (path) isn't the one in use.
  case warnOtherKey
  /// What is loaded (path) may be swapped out.
  case warnSwappable
  /// As `keyLocked`; the key in use is loaded.
  case warnKeyLocked
  /// An old key (path) was not overwritten: a command was interrupted.
  case warnLeftKey
  /// It (path) is bound to a value of PCR 16 that passes.
  case warnPassingPCR

  /// Whether everything works all the same.
  public var isWarning: Bool { rawValue >= KeyProblem.warnTwoKeys.rawValue }
}

extension Fault {
  public convenience init(_ problem: KeyProblem, path: Bytes = [], name: Bytes = [], number: UInt64 = 0) {
    self.init(.keyCommand, path: path, name: name, number: number, error: Int32(problem.rawValue))
  }

  /// The problem with a key that this fault tells of; nil for any other fault.
  public var keyProblem: KeyProblem? { reason == .keyCommand ? KeyProblem(rawValue: error) : nil }
}
