internal import PasscodeBytes

/// A TCP socket of this machine, as sock_diag(7) shows it, or its row in `/proc/net/tcp`:
///
///     sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
///      7: 0100007F:094B 0100007F:D3F2 01 00000000:00000000 00:00000000 00000000   107        0 51234 1 …
///
/// Addresses are in the machine's byte order, ports in hexadecimal. What can't be read is no row.
struct ConnectionRow: Equatable {
  /// Whether the handshake is complete. Perhaps nobody has accepted the connection yet.
  let isEstablished: Bool
  /// Whether the last packet of the handshake is still missing: connect(2) returns at the other end before that.
  let isOpening: Bool
  /// 0 as long as nobody has accepted it (up to Linux 6.15), and after it was closed.
  let user: UInt32
  /// Whether a process has accepted the connection: the row has an inode then.
  let isAccepted: Bool

  /// Finds the socket whose two ends are these ports of 127.0.0.1.
  ///
  /// - Parameter table: whole rows, each with its newline.
  static func find(in table: ArraySlice<UInt8>, local: UInt16, remote: UInt16) -> ConnectionRow? {
    let ends = Bytes(text: " ") + address(local) + Bytes(text: " ") + address(remote) + Bytes(text: " ")
    var start = table.startIndex
    while let end = table[start...].firstIndex(of: 10) {
      let row = table[start..<end]
      start = end + 1
      // The first field ends with the row's first colon; its width varies.
      guard let colon = row.firstIndex(of: UInt8(ascii: ":")), row[(colon + 1)...].starts(with: ends) else {
        continue
      }
      return ConnectionRow(row)
    }
    return nil
  }

  private init?(_ row: ArraySlice<UInt8>) {
    let fields = row.split(separator: UInt8(ascii: " "))
    guard fields.count > 9, let user = decimal(fields[7]), user <= UInt64(UInt32.max),
      let inode = decimal(fields[9])
    else { return nil }
    let isOpening = fields[3].elementsEqual(Bytes(text: "03"))
    self.init(
      isEstablished: fields[3].elementsEqual(Bytes(text: "01")), isOpening: isOpening, user: UInt32(user),
      inode: inode)
  }

  init(isEstablished: Bool, isOpening: Bool, user: UInt32, inode: UInt64) {
    self.isEstablished = isEstablished
    self.isOpening = isOpening
    self.user = user
    isAccepted = isEstablished && inode != 0
  }

  private static func address(_ port: UInt16) -> [UInt8] {
    let digits = Bytes(text: "0123456789ABCDEF")
    let number = Bytes(text: 1.littleEndian == 1 ? "0100007F:" : "7F000001:")
    return number + [12, 8, 4, 0].map { digits[Int(port >> UInt16($0) & 15)] }
  }
}
