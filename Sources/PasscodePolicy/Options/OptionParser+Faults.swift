extension OptionParser {
  /// All faults of a configuration file, in the order of its lines.
  public static func faults(_ file: ArraySlice<UInt8>, path: Bytes) -> [Fault] {
    var faults: [Fault] = []
    var parser = OptionParser()
    parser.take(file: file, path: path) { fault in
      faults.append(fault)
      return true
    }
    return faults
  }
}
