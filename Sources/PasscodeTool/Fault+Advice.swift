public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

extension Fault {
  /// One line for the log, in English, whatever failed.
  public var text: Text { Words.fault(self, error: systemWords) }

  /// The fault in words for people, with the command that helps apart.
  public var advice: Advice {
    Words.advice(
      self, error: reason.namesServiceAccount ? Installed.account : Errno(Int32(error)).localText,
      in: Catalogue.translation)
  }
}
