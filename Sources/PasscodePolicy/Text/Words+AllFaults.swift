// The faults that only the programs of an administrator can meet, in the form of Words+Fault.swift.

extension Words {
  /// - Parameter error: as for `loginFault`.
  public static func fault(_ fault: Fault, error: Bytes) -> Text {
    advice(fault, error: error, in: Sentence.inEnglish).text
  }

  /// A fault in words, with the command that helps apart.
  public static func advice(_ fault: Fault, error: Bytes, in translation: Translation) -> Advice {
    fill(sentence(fault.reason), fault, error, translation)
  }

  private static func sentence(_ reason: Fault.Reason) -> Sentence {
    switch reason {
    case .numberLookup: "uid %d can't be looked up: %3"
    case .keyExists: "%1: already exists; nothing was changed"
    case .keyNeeded:
      Sentence(
        "%1: %d enrolled passcode needs the old key: restore the key from a backup, or remove the passcode first",
        plural:
          "%1: %d enrolled passcodes need the old key: restore the key from a backup, or remove them first")
    case .keyOpensNone:
      Sentence(
        """
        %1: %d enrolled passcode needs another key: restore that key from a backup or by its recovery copy \
        (passcode key recover), or enrol the user again
        """,
        plural: """
          %1: %d enrolled passcodes need another key: restore that key from a backup or by its recovery copy \
          (passcode key recover), or enrol these users again
          """)
    case .keyNotReadable:
      "%1: %3 must be able to read it, for screen lockers and self-service; run: chgrp %3 %1 && chmod g+r %1"
    case .noEtcd: "etcd gave no valid answer; see passcode-verifier(8)"
    case .fleetRestored: "%1: etcd was restored, or is another one; see passcode-verifier(8)"
    case .fleetEpoch: "the fleet key is older than what is in etcd; see passcode-verifier(8)"
    case .revokedAndHeld:
      "%1: the passcode is refused from now on, but an attempt already under way holds the record and may still succeed"
    case .endedHolder: "ended process %d (%2), which held the record"
    // The tool has more words for it: `KeyProblem`.
    case .keyCommand: "%1: something is wrong with the machine key; to see what, run: passcode key status"
    // Everything else is the helper's, too.
    default: Sentence(helperPattern(reason))
    }
  }
}
