import PasscodePolicy
import Testing

@testable import PasscodeFleetPolicy

struct HTTPResponseTests {
  private func read(_ text: String) -> HTTPResponse.Reading { HTTPResponse.read(Bytes(text: text)) }

  private static let plain = "HTTP/1.1 200 OK\r\nContent-Type: x\r\nContent-Length: 5\r\n\r\nhello"
  private static let chunked =
    "HTTP/1.1 503 No\r\nGrpc-Metadata: a:b\r\ntransfer-encoding: Chunked\r\n\r\n3\r\nhel\r\nA\r\nlo, world!\r\n0\r\n\r\n"

  /// As etcd's gateway answers with an error.
  private static let trailed =
    "HTTP/1.1 401 No\r\nTrailer: A\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\nA: application/grpc\r\n\r\n"

  @Test(arguments: [(plain, UInt16(200), "hello"), (chunked, 503, "hello, world!"), (trailed, 401, "hel")])
  func `a response is whole with its last byte, and not before`(whole: String, status: UInt16, body: String) {
    guard case .whole(let response) = read(whole) else {
      Issue.record("not read")
      return
    }
    #expect(response.status == status && text(response.body) == body)
    let bytes = Bytes(text: whole)
    for length in bytes.indices { #expect(HTTPResponse.read(Bytes(bytes[..<length])) == .incomplete) }
    #expect(read(whole + "x") == .invalid)
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 100 Go\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 600 X\r\nContent-Length: 0\r\n\r\n",
    "ICY 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nno header\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno trailer\r\n\r\n",
  ])
  func `what can't be taken is refused, not guessed`(response: String) {
    #expect(read(response) == .invalid)
  }

  @Test func `a head without an end, or a chunk's size without one, is refused at some length`() {
    let head = Bytes(repeating: 0x41, count: HTTPResponse.longestHead + 1)
    #expect(HTTPResponse.read(head) == .invalid)
    #expect(
      read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: "0", count: 19))
        == .invalid)
  }

  @Test func `a request says where its body ends, and carries the token it has`() {
    #expect(
      text(httpRequest("/v3/kv/txn", token: [], body: Bytes(text: "{}")))
        == "POST /v3/kv/txn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    )
    #expect(
      text(httpRequest("/x", token: Bytes(text: "a.7"), body: [])).contains("\r\nAuthorization: a.7\r\n"))
  }
}
