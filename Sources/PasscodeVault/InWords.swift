public import PasscodePolicy
internal import PasscodeSystem

// What `Words` needs of the system: an errno's words, the service account's name, the local time, and translations.

extension Fault {
  /// One line for the log, in English, where nothing but a login can fail.
  public var loginText: Text { Words.loginFault(self, error: systemWords) }
  /// One line for the helper's log. Neither brings the sentences that only `text` has.
  public var helperText: Text { Words.helperFault(self, error: systemWords) }

  var systemWords: Bytes {
    reason.namesServiceAccount ? Installed.account : Errno(Int32(error)).text
  }

  /// A note as a line of the log.
  public var logLine: Bytes {
    var line = LogLine(loginText)
    guard reason.isNote else { return line.text }
    line.add("user", name)
    line.add("uid", number)
    return line.text
  }
}

extension Verdict {
  /// What it tells the person at the prompt, in the language of the program; nil: nothing.
  @inline(never)
  public var notice: Text? {
    Words.notice(self, in: Catalogue.translation, time: SystemClock.localMoment)
  }
}
