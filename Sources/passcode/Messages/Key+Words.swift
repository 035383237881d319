internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// What the tool says about the machine key.

extension Vault.KeyForm {
  /// The message as one sentence.
  var text: Phrase {
    switch self {
    case .plain(let path): "\(printable(path)): OK."
    case .sealed(let path, pcrs: nil): "\(printable(path)): sealed by the TPM, and loaded: OK."
    case .sealed(let path, pcrs: let pcrs?) where pcrs.isEmpty:
      "\(printable(path)): sealed by the TPM, bound to no PCR, and loaded: OK."
    case .sealed(let path, pcrs: let pcrs?) where pcrs == SealedKey.debugPCR:
      "\(printable(path)): sealed by the TPM, bound to PCR 16 while that is 0, and loaded: OK."
    case .sealed(let path, pcrs: let pcrs?):
      "\(printable(path)): sealed by the TPM, bound to PCR \(pcrs), and loaded: OK."
    }
  }
}

extension Fault {
  /// A fault in one line. What only `passcode key` and `check` meet has its words here: neither module nor helper needs
  /// them.
  var words: Phrase {
    guard let problem = keyProblem else { return advice.phrase }
    let words = problem.advice(self).phrase
    return problem.isWarning ? "warning: \(words)" : words
  }
}

extension KeyProblem {
  /// A fault in words for people, with the command that helps apart.
  func advice(_ fault: Fault) -> Advice {
    Advice(
      sentence.with(fault.number, [printable(fault.path), printable(fault.name)]),
      exact: [fault.path, fault.name, []], in: Catalogue.translation)
  }

  /// `%1` is the path, `%2` what the sealing program says.
  fileprivate var sentence: Sentence { state ?? refusal ?? recovery ?? warning }

  /// What is wrong with the key.
  private var state: Sentence? {
    switch self {
    case .keyNotLoaded: "%1: sealed, and not loaded; run: passcode key load"
    case .twoKeys, .warnTwoKeys:
      """
      %1: a plain key exists as well as the sealed one. To seal whichever your passcodes use, run: passcode key seal. To \
      keep the plain one, run: passcode key unseal
      """
    case .keyNotSealed: "%1: no such file: the machine key is not sealed"
    case .keyInMemoryOnly:
      """
      %1: is gone, so the key is only in memory, until the next boot. To seal it again, run: passcode key seal. To keep \
      it on the disk unsealed, run: passcode key unseal
      """
    case .keyGone:
      Sentence(
        """
        %1: no machine key, plain or sealed, but %d enrolled passcode needs it: restore it from a backup, or use \
        your recovery copy: passcode key recover
        """,
        plural: """
          %1: no machine key, plain or sealed, but %d enrolled passcodes need it: restore it from a backup, or use \
          your recovery copy: passcode key recover
          """)
    case .keyClosed:
      """
      %1: the TPM did not unseal it: %2. Passwords still work. Once the TPM works again, run: passcode key load. If it \
      won't, use your recovery copy: passcode key recover
      """
    case .keyLocked, .warnKeyLocked:
      """
      %1: the TPM refuses for now (dictionary attack lockout, after power cuts or wrong attempts). Passwords keep working. \
      The package tpm2-tools can end it; run: tpm2_dictionarylockout --clear-lockout
      """
    default: nil
    }
  }

  /// Why a command changed nothing, or not all.
  private var refusal: Sentence? {
    switch self {
    case .keyOfOtherConfiguration:
      "only the key of /etc/security/passcode.conf can be sealed: leave out --conf"
    case .keysBusy: "another process is changing the machine key: let it finish and try again"
    case .keyRotating: "a key rotation is unfinished; finish it first with: passcode key rotate"
    case .keyNotSealable: "%1: %2; nothing was changed (it needs a TPM 2.0, and libtss2-esys, -mu and -rc)"
    case .keyLoadedOnly:
      """
      the key works until the next boot, but could not be sealed: %2. Once the TPM works, run: passcode key seal; to keep \
      the key on the disk: passcode key unseal
      """
    case .keyNotMounted:
      """
      %1: a ramfs can't be mounted there: %2; nothing was loaded, because elsewhere the unsealed key could be swapped to the \
      disk; run: mount -t ramfs -o mode=0700 ramfs %1
      """
    case .pcrNotZero:
      """
      the TPM's PCR 16 is not 0: some program extends it, such as a Keylime agent, and this systemd can't seal without a \
      PCR; nothing was changed; run: passcode key seal --pcrs 7
      """
    case .keyNotLost:
      "%1: can still be unsealed, so nothing was forgotten; to see what is wrong, run: passcode key status"
    case .keyMustNotChange:
      """
      with second_factor=yes, or with finger=both and self_enroll=no, nobody can change a passcode that must be changed; \
      nothing was changed: give out new ones (passcode enroll --batch)
      """
    case .keyStillNeeded:
      Sentence(
        "%d record still needs the old key (see above): repair or remove it, then run: passcode key rotate",
        plural:
          "%d records still need the old key (see above): repair or remove them, then run: passcode key rotate"
      )
    default: nil
    }
  }

  /// What is wrong with a recovery copy.
  private var recovery: Sentence? {
    switch self {
    case .keyOpensNothing:
      Sentence(
        "this key does not fit the %d enrolled passcode, which needs another one; nothing was changed",
        plural:
          "this key fits none of the %d enrolled passcodes, which need another one; nothing was changed")
    case .keyIsPlain:
      """
      %1: a plain key is there, so nothing was recovered; if it fits no passcode (see passcode key status), move it away \
      and try again
      """
    case .otherKeyLoaded:
      "another key is there, loaded or sealed; nothing was changed; to check it, run: passcode key status"
    case .copyNotShown: "the recovery copy can't be written to standard output: run the command again"
    case .copyNotOnTerminal:
      """
      the recovery copy would be kept where standard output goes, which is no terminal; nothing was changed: run the \
      command on a terminal, or with --force
      """
    default: nil
    }
  }

  /// What works, and should be different.
  private var warning: Sentence {
    switch self {
    case .warnPassingPCR:
      """
      %1: is bound to PCR 16, which some program extends, and may fail to unseal at the next boot; run: \
      passcode key seal --pcrs 7
      """
    case .warnKeyClosed:
      """
      %1: the TPM will not unseal it at the next boot: %2. The loaded key works until then; to seal it again, run: passcode \
      key seal
      """
    case .warnOldKey:
      Sentence(
        "%d passcode is still under the old machine key; run: passcode key rotate",
        plural: "%d passcodes are still under the old machine key; run: passcode key rotate")
    case .warnLeftKey:
      "%1: an old key, which an interrupted command did not overwrite; run: passcode key load"
    case .warnSwappable:
      "%1: lies in memory that may be swapped to the disk; run: passcode key load"
    case .warnOtherKey:
      "%1: does not hold the key in use: seal the one that the passcodes use; run: passcode key seal"
    case .keyNotLoaded, .twoKeys, .warnTwoKeys, .keyNotSealed, .keyInMemoryOnly, .keyGone, .keyClosed,
      .keyLocked, .warnKeyLocked, .keyOfOtherConfiguration, .keysBusy, .keyRotating, .keyNotSealable,
      .keyLoadedOnly, .keyNotMounted, .pcrNotZero, .keyNotLost, .keyMustNotChange, .keyStillNeeded,
      .keyOpensNothing, .keyIsPlain, .otherKeyLoaded, .copyNotShown, .copyNotOnTerminal:
      ""
    }
  }
}
