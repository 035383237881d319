internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

extension Configuration {
  /// All faults of the file; `load` throws the first one.
  static func faults(_ line: ModuleLine, _ process: ProcessIdentity) -> [Fault] {
    do throws(Fault) {
      let access = try Access.of(process, ownConfiguration: line.configuration != nil)
      let source = line.configuration ?? usualPath
      let file = try read(source, mustExist: line.configuration != nil, access)
      return OptionParser.faults(file[...], path: source)
    } catch {
      return [error]
    }
  }
}
