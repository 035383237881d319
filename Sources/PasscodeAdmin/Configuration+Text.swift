public import PasscodePolicy
internal import PasscodeSystem
public import PasscodeVault

extension Configuration {
  /// The content of a configuration file; empty: there is none.
  ///
  /// - Throws: a fault if it isn't to be trusted, or can't be read whole.
  public func text(_ path: Bytes) throws(Fault) -> Bytes {
    switch try trust(.configuration).open(path) {
    case .missing: return []
    case .found(let file, let status):
      do throws(Errno) {
        // One byte more than it may have: the parser then says so.
        let size = min(max(0, status.size), OptionParser.largestFile + 1)
        let text = try file.read(size, at: 0)
        guard text.count == size else { throw .inputOutput }
        return text
      } catch {
        throw Fault(.failed, inConfiguration: true, path: path, error: error.code)
      }
    }
  }
}
