// For a list of many records.

extension RecordCodec {
  /// The record of a file, as `read` chooses it, without decoding the other copy where that makes no difference.
  public func latest(_ file: Bytes) -> Record? {
    guard file.count == RecordCodec.fileLength else { return nil }
    let first = file[..<RecordCodec.copyLength]
    let second = file[RecordCodec.copyLength...]
    let (one, two) = (claimedGeneration(first), claimedGeneration(second))
    let (newer, claimed) = two > one ? (second, one) : (first, two)
    guard let record = decode(newer), record.generation <= RecordCodec.highestGeneration,
      claimed + 1 == record.generation
    else { return read(file)?.record }
    return record
  }

  /// What a copy that nobody verified says of itself; at most one above the highest.
  @inline(never)
  private func claimedGeneration(_ copy: ArraySlice<UInt8>) -> UInt64 {
    var lines = RecordLines(copy)
    var (version, generation): (UInt64, UInt64) = (0, 0)
    lines.number("passcode_record", &version)
    lines.number("generation", &generation)
    return lines.areSound ? min(generation, RecordCodec.highestGeneration + 1) : 0
  }
}
