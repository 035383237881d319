/// What is made of a passcode that somebody chose; `Vault.judge` decides it.
public enum Choice: Equatable, Sendable {
  case accepted
  /// With `weak=warn`: it is accepted, and the person is told.
  case easy(Weakness)
  case refused(Refusal)

  /// Why a passcode may not be chosen.
  public enum Refusal: Equatable, Sendable {
    case length
    case weak(Weakness)
  }
}

/// Why a passcode was not set.
public enum EnrolmentError: Error, Equatable, Sendable {
  case refused(Choice.Refusal)
  case fault(Fault)
}
