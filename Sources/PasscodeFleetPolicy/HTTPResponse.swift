public import PasscodePolicy

/// Reads one response of HTTP/1.1 (RFC 9112), as it comes in pieces: a status, and a body by Content-Length or in chunks.
///
/// - Head and body MUST be bounded, and so MUST each chunk: the numbers come from outside.
/// - A response MUST say how long its body is: one that ends with the connection looks the same when it is cut.
/// - It MUST NOT say both ways, or one of them twice with different values.                  HTTPResponseTests, FuzzEtcd
public struct HTTPResponse: Equatable, Sendable {
  public let status: UInt16
  public let body: Bytes

  /// Bytes.
  public static let longestHead = 16_384
  public static let longestBody = JSONValue.longest

  public enum Reading: Equatable, Sendable {
    /// The response isn't complete yet.
    case incomplete
    case whole(HTTPResponse)
    case invalid
  }

  /// - Parameter bytes: everything that came so far.
  @inline(never)
  public static func read(_ bytes: Bytes) -> Reading {
    guard let end = endOfHead(bytes) else { return bytes.count > longestHead ? .invalid : .incomplete }
    guard end <= longestHead, let head = Head(bytes[..<end]) else { return .invalid }
    switch head.framing {
    case .length(let length):
      let body = bytes[end...]
      if body.count < length { return .incomplete }
      return body.count > length ? .invalid : .whole(HTTPResponse(status: head.status, body: Bytes(body)))
    case .chunks: return readChunks(bytes, from: end, head.status)
    }
  }

  /// The index at which the body starts.
  private static func endOfHead(_ bytes: Bytes) -> Int? {
    var index = 3
    while index < min(bytes.count, longestHead + 4) {
      if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10, bytes[index - 3] == 13 {
        return index + 1
      }
      index += 1
    }
    return nil
  }

  /// Copies nothing before the response is whole: a long one is looked at again with each piece that comes.
  private static func readChunks(_ bytes: Bytes, from start: Int, _ status: UInt16) -> Reading {
    var chunks: [Range<Int>] = []
    var (length, position) = (0, start)
    while true {
      guard let end = bytes[position...].firstIndex(of: 10) else {
        return bytes.count - position > 18 ? .invalid : .incomplete
      }
      guard end > position, bytes[end - 1] == 13, let size = chunkSize(bytes[position..<end - 1]) else {
        return .invalid
      }
      let first = end + 1
      if size == 0 {
        return readTrailers(bytes, from: first) {
          var body = Bytes()
          body.reserveCapacity(length)
          for chunk in chunks { body += bytes[chunk] }
          return HTTPResponse(status: status, body: body)
        }
      }
      length += size
      guard length <= longestBody else { return .invalid }
      guard bytes.count >= first + size + 2 else { return .incomplete }
      guard bytes[first + size] == 13, bytes[first + size + 1] == 10 else { return .invalid }
      chunks.append(first..<first + size)
      position = first + size + 2
    }
  }

  /// Headers after the last chunk, which etcd's gateway sends with an error; nothing is made of them.
  private static func readTrailers(_ bytes: Bytes, from start: Int, _ response: () -> HTTPResponse) -> Reading
  {
    var position = start
    while true {
      guard let end = bytes[position...].firstIndex(of: 10) else {
        return bytes.count - start > longestHead ? .invalid : .incomplete
      }
      guard end > position, bytes[end - 1] == 13 else { return .invalid }
      let line = bytes[position..<end - 1]
      position = end + 1
      if line.isEmpty { return position == bytes.count ? .whole(response()) : .invalid }
      guard line.contains(UInt8(ascii: ":")) else { return .invalid }
    }
  }

  /// One to six hexadecimal digits, and no extension.
  private static func chunkSize(_ text: ArraySlice<UInt8>) -> Int? {
    guard (1...6).contains(text.count) else { return nil }
    var size = 0
    for byte in text {
      guard let digit = hexadecimalValue(byte) else { return nil }
      size = size << 4 | Int(digit)
    }
    return size
  }

  private struct Head {
    enum Framing: Equatable {
      case length(Int)
      case chunks
    }

    let status: UInt16
    let framing: Framing

    init?(_ text: ArraySlice<UInt8>) {
      let lines = text.dropLast(4).parts(between: 10)
      guard let first = lines.first, first.begins(with: "HTTP/1.1 "), first.count >= 12,
        let status = decimal(first.dropFirst(9).prefix(3)), (200...599).contains(status)
      else { return nil }
      var framing: Framing?
      for line in lines.dropFirst() {
        guard let found = Head.framing(line) else { return nil }
        guard case .some(let says) = found else { continue }
        if let before = framing, before != says { return nil }
        framing = says
      }
      guard let framing else { return nil }
      self.status = UInt16(status)
      self.framing = framing
    }

    /// What a header says of the body's length: `.some(nil)`: nothing; nil: it is no header that can be taken.
    private static func framing(_ line: ArraySlice<UInt8>) -> Framing?? {
      let line = line.last == 13 ? line.dropLast() : line
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return nil }
      let name = lowercased(line[..<colon])
      let value = line[(colon + 1)...].trimmed()
      if name.spells("content-length") {
        guard let length = decimal(value), length <= UInt64(longestBody) else { return nil }
        return .some(.length(Int(length)))
      }
      if name.spells("transfer-encoding") {
        return lowercased(value).spells("chunked") ? .some(.chunks) : nil
      }
      return .some(nil)
    }

    private static func lowercased(_ text: ArraySlice<UInt8>) -> Bytes {
      text.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }
  }
}

/// A request to etcd's gateway on this machine.
///
/// - Parameters:
///   - path: such as `/v3/kv/txn`.
///   - token: of etcd's own accounts; empty: none.
public func httpRequest(_ path: Literal, token: Bytes, body: Bytes) -> Bytes {
  var text = Text(
    "POST \(Bytes(text: path)) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n")
  if !token.isEmpty { text += Text("Authorization: \(token)\r\n") }
  text += Text("Content-Length: \(body.count)\r\n\r\n")
  return text.bytes + body
}
