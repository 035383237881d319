internal import PasscodePolicy

/// A line that asks for the passcode, and what is wrong with it.
struct PAMPasscodeLine {
  private let path: Bytes
  private let number: Int
  private let control: PAMControl
  private let arguments: [Bytes]
  private let isSecond: Bool

  /// - Parameter isSecond: the password is required there, too.
  init(_ entry: PAMStack.Entry, _ arguments: [Bytes], isSecond: Bool) {
    path = entry.path
    number = entry.line
    control = entry.control
    self.arguments = arguments
    self.isSecond = isSecond
  }

  /// One for each: `FILE:LINE: ...`.
  ///
  /// - Parameter options: as in `PAMStacks.report`.
  func findings(_ options: Options) -> [Text] {
    var findings = badOptions().map { $0.text }
    if isSecond && !isMarkedSecond {
      findings.append(
        """
        \(place): the passcode is required besides the password here,
          but may have been set by somebody who knew just the password:
          add second_factor (see pam_passcode(8)).
        """)
    }
    if control.diesOnFailure && !isSecond && !takesEither(options) {
      findings.append(
        """
        \(place): auth_err=die without either: a wrong passcode ends it
          here, and the password isn't asked for. Add either, or remove auth_err=die.
        """)
    }
    return findings
  }

  private var place: Text {
    "\(printable(path)):\(number)"
  }

  private var isMarkedSecond: Bool {
    arguments.contains { $0.spells("second_factor") || $0.spells("second_factor=yes") }
  }

  /// True, too, where that isn't known: another configuration file is named, or the options are bad.
  private func takesEither(_ options: Options) -> Bool {
    do throws(OptionError) {
      let line = try ModuleLine(arguments)
      var parser = OptionParser(options)
      try parser.take(arguments: line.options)
      return line.configuration != nil || parser.options.door.either
    } catch {
      return true
    }
  }

  /// Each word that is no option, or not here; if all are, those that are there twice.
  private func badOptions() -> [OptionError] {
    var errors: [OptionError] = []
    for argument in arguments {
      if let error = error([argument]) { errors.append(error) }
    }
    if errors.isEmpty, let error = error(arguments) { errors.append(error) }
    return errors
  }

  private func error(_ arguments: [Bytes]) -> OptionError? {
    do throws(OptionError) {
      let line = try ModuleLine(arguments)
      var parser = OptionParser()
      try parser.take(arguments: line.options)
      return nil
    } catch {
      return OptionError(error.problem, at: .file(path, line: number), text: error.name)
    }
  }
}
