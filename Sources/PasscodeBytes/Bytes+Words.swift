extension ArraySlice<UInt8> {
  /// What stands between blanks and tabs.
  @inline(never)
  public func words() -> [ArraySlice<UInt8>] {
    var words: [ArraySlice<UInt8>] = []
    var start = startIndex
    for index in startIndex...endIndex where index == endIndex || isBlank(self[index]) {
      if start < index { words.append(self[start..<index]) }
      start = index + 1
    }
    return words
  }
}
