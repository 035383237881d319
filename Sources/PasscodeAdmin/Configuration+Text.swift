public import PasscodePolicy
public import PasscodeVault

extension Configuration {
  /// The content of a configuration file; empty: there is none.
  ///
  /// - Throws: a fault if it isn't to be trusted, or can't be read whole.
  public func text(_ path: Bytes) throws(Fault) -> Bytes {
    try trust(.configuration).text(path) ?? []
  }
}
