internal import PasscodePolicy

/// A line that asks for the passcode, and what is wrong with it.
struct PAMPasscodeLine {
  let entry: PAMStack.Entry
  let arguments: [Bytes]
  /// The password is required there, too.
  let isSecond: Bool

  /// The findings about this line, one for each problem.
  ///
  /// - Parameter options: as in `PAMStacks.report`.
  func findings(_ options: Options) -> [PAMFinding] {
    let (path, number) = (entry.path, entry.line)
    var findings: [PAMFinding] = []
    for fault in badOptions() { findings.append(PAMFinding(path, number, .option(fault))) }
    if isSecond && !isMarkedSecond { findings.append(PAMFinding(path, number, .unmarkedSecondFactor)) }
    if entry.control.diesOnFailure && !isSecond && !takesEither(options) {
      findings.append(PAMFinding(path, number, .noWayToThePassword))
    }
    return findings
  }

  private var isMarkedSecond: Bool {
    arguments.contains { $0.spells("second_factor") || $0.spells("second_factor=yes") }
  }

  /// True, too, where that isn't known.
  private func takesEither(_ options: Options) -> Bool {
    options.door(with: arguments)?.either ?? true
  }

  /// False where all logins are remote and refused; true, too, where that isn't known.
  func asks(in service: Bytes, _ options: Options) -> Bool {
    !PAMStacks.isRemote(service) || options.door(with: arguments)?.allowsRemote != false
  }

  /// Whether the fingerprint reader serves beside the passcode; false, too, where that isn't known.
  func offersFinger(_ options: Options) -> Bool {
    options.door(with: arguments)?.finger ?? false
  }

  /// The words that are no options of a module line; if there are none, the options that are there twice.
  private func badOptions() -> [Fault] {
    var errors: [Fault] = []
    for argument in arguments {
      if let error = error([argument]) { errors.append(error) }
    }
    if errors.isEmpty, let error = error(arguments) { errors.append(error) }
    return errors
  }

  private func error(_ arguments: [Bytes]) -> Fault? {
    do throws(Fault) {
      let line = try ModuleLine(arguments)
      var parser = OptionParser()
      try parser.take(arguments: line.options)
      return nil
    } catch {
      return Fault(error.reason, path: entry.path, name: error.name, number: UInt64(max(0, entry.line)))
    }
  }
}

extension Options {
  /// The options that apply to a line with these arguments; nil where that isn't known: it names another configuration
  /// file, or has a bad option.
  func door(with arguments: [Bytes]) -> Door? {
    do throws(Fault) {
      let line = try ModuleLine(arguments)
      var parser = OptionParser(self)
      try parser.take(arguments: line.options)
      return line.configuration == nil ? parser.options.door : nil
    } catch {
      return nil
    }
  }
}
