import Foundation
import Testing

@testable import PasscodeFleetPolicy
@testable import PasscodePolicy

struct EtcdTransactionTests {
  @Test func `a transaction is the JSON that etcd's gateway takes`() throws {
    let key = Bytes(text: "k/")
    let transaction = EtcdTransaction(
      if: [.unchanged(key, revision: 7), .holds(key, value: [255])],
      [
        .read(key), .count(prefix: key), .list(from: [1], prefix: key, limit: 9),
        .put(key, value: [], lease: 5),
      ],
      otherwise: [.delete(key)])
    let json = try #require(
      try JSONSerialization.jsonObject(with: Data(transaction.body)) as? [String: [[String: Any]]])
    let compare = try #require(json["compare"] as? [[String: String]])
    #expect(compare[0] == ["key": "ay8=", "target": "MOD", "result": "EQUAL", "mod_revision": "7"])
    #expect(compare[1] == ["key": "ay8=", "target": "VALUE", "result": "EQUAL", "value": "/w=="])
    let success = try #require(json["success"] as? [[String: [String: NSObject]]])
    #expect(success[0]["request_range"] == ["key": "ay8=" as NSString])
    #expect(
      success[1]["request_range"]
        == ["key": "ay8=" as NSString, "range_end": "azA=" as NSString, "count_only": true as NSNumber])
    #expect(
      success[2]["request_range"]
        == ["key": "AQ==" as NSString, "range_end": "azA=" as NSString, "limit": "9" as NSString])
    #expect(
      success[3]["request_put"] == [
        "key": "ay8=" as NSString, "value": "" as NSString, "lease": "5" as NSString,
      ])
    #expect(json["failure"]?.count == 1)
  }

  @Test func `names and passwords can't break out of their request`() throws {
    let body = EtcdRequest.authenticate(name: Bytes(text: "a\"b"), password: Bytes(text: "c\\\"}\n"))
    let json = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: String])
    #expect(json == ["name": "a\"b", "password": "c\\\"}\n"])
  }
}

struct EtcdOutcomeTests {
  private static let header = #""header":{"cluster_id":"9","member_id":"1","revision":"12","raft_term":"3"}"#
  private static let entry =
    #"{"key":"aw==","create_revision":"2","mod_revision":"11","version":"3","value":"dg=="}"#
  private let read = EtcdTransaction([.read(Bytes(text: "k"))])

  private func outcome(_ rest: String, _ transaction: EtcdTransaction? = nil) -> EtcdOutcome? {
    EtcdOutcome(Bytes(text: "{\(EtcdOutcomeTests.header)\(rest)}"), of: transaction ?? read)
  }

  private func range(_ content: String) -> String {
    ",\"succeeded\":true,\"responses\":[{\"response_range\":{\"header\":{}\(content)}}]"
  }

  @Test func `what was read is there, with revision, lease and origin`() {
    let found = outcome(range(",\"kvs\":[\(EtcdOutcomeTests.entry)],\"count\":\"1\""))
    #expect(found?.succeeded == true)
    #expect(found?.origin == EtcdOrigin(cluster: 9, revision: 12, term: 3))
    #expect(
      found?.entry(0) == EtcdEntry(key: Bytes(text: "k"), value: Bytes(text: "v"), modified: 11, lease: 0))
    #expect(outcome(range(""))?.entry(0) == nil)
    #expect(outcome(range(""))?.succeeded == true)
  }

  /// The gateway leaves out what is false: a charge that was not made must not look like one.
  @Test func `without succeeded it did not succeed`() {
    let charge = EtcdTransaction(if: [.unchanged([1], revision: 4)], [.put([1], value: [2], lease: 0)])
    #expect(outcome("", charge)?.succeeded == false)
    #expect(outcome(",\"succeeded\":false", charge)?.succeeded == false)
    #expect(outcome(",\"succeeded\":true,\"responses\":[{\"response_put\":{}}]", charge)?.succeeded == true)
    for lie in ["\"true\"", "1", "null", "[]", "\"yes\""] {
      #expect(outcome(",\"succeeded\":\(lie),\"responses\":[{\"response_put\":{}}]", charge) == nil)
    }
    #expect(outcome(",\"succeeded\":true", charge) == nil, "without the put's response")
    #expect(outcome(",\"succeeded\":true,\"responses\":[{\"response_range\":{}}]", charge) == nil)
    #expect(outcome(",\"responses\":[{\"response_put\":{}}]", charge) == nil, "a put that was not to be made")
  }

  @Test(arguments: [
    #","kvs":[{"key":"eA==","mod_revision":"1"}],"count":"1""#, #","kvs":[{"key":"aw=="}],"count":"1""#,
    #","kvs":[{"key":"aw==","mod_revision":"0"}],"count":"1""#, #","kvs":[{"mod_revision":"1"}],"count":"1""#,
    #","kvs":[{"key":"aw","mod_revision":"1"}],"count":"1""#, #","kvs":[{"key":"aw==","mod_revision":"1"}]"#,
    #","kvs":[{"key":"aw==","mod_revision":"1","value":7}],"count":"1""#, #","kvs":{},"count":"1""#,
    #","kvs":[{"key":"aw==","mod_revision":"1","value":"!"}],"count":"1""#, #","kvs":[],"count":"1""#,
    #","kvs":[{"key":"aw==","mod_revision":"-1"}],"count":"1""#, #","count":"x""#,
  ])
  func `an answer to another question is none`(content: String) {
    #expect(outcome(range(content)) == nil)
  }

  @Test(arguments: [
    "{}", "[]", "{\"header\":{}}", "{\"error\":\"etcdserver: request timed out\",\"code\":14}",
    "{\"header\":{\"cluster_id\":\"9\",\"revision\":\"12\"},\"succeeded\":true}",
    "{\"header\":{\"cluster_id\":\"0\",\"revision\":\"12\",\"raft_term\":\"2\"},\"succeeded\":true}",
  ])
  func `without a whole header there is no answer`(body: String) {
    #expect(EtcdOutcome(Bytes(text: body), of: EtcdTransaction([])) == nil)
  }

  @Test func `a list has no more than was asked, and nothing of elsewhere`() {
    let list = EtcdTransaction([.list(from: Bytes(text: "k"), prefix: Bytes(text: "k"), limit: 1)])
    let one = EtcdOutcomeTests.entry
    #expect(outcome(range(",\"kvs\":[\(one)],\"count\":\"8\",\"more\":true"), list)?.count(0) == 8)
    #expect(outcome(range(",\"kvs\":[\(one),\(one)],\"count\":\"8\""), list) == nil)
    #expect(
      outcome(range(",\"kvs\":[{\"key\":\"eA==\",\"mod_revision\":\"1\"}],\"count\":\"8\""), list) == nil)
    let count = EtcdTransaction([.count(prefix: Bytes(text: "k/"))])
    #expect(outcome(range(",\"count\":\"3\""), count)?.count(0) == 3)
    #expect(outcome(range(""), count)?.count(0) == 0)
    #expect(outcome(range(",\"kvs\":[\(one)],\"count\":\"1\""), count) == nil)
  }

  @Test func `a lease is never shorter than asked, and one that is over has no time left`() {
    func lease(_ text: String) -> UInt64? { EtcdAnswer.lease(Bytes(text: text), seconds: 60) }
    #expect(lease(#"{"header":{},"ID":"7587","TTL":"60"}"#) == 7587)
    #expect(lease(#"{"header":{},"ID":"7587","TTL":"61"}"#) == 7587)
    #expect(lease(#"{"header":{},"ID":"7587","TTL":"59"}"#) == nil)
    #expect(lease(#"{"header":{},"ID":"7587"}"#) == nil)
    #expect(lease(#"{"header":{},"TTL":"60"}"#) == nil)
    #expect(lease(#"{"ID":"1","TTL":"60","error":"no"}"#) == nil)
    func left(_ text: String) -> UInt64? { EtcdAnswer.timeLeft(Bytes(text: text)) }
    #expect(left(#"{"header":{},"ID":"1","TTL":"57","grantedTTL":"60"}"#) == 57)
    #expect(left(#"{"header":{},"ID":"1","TTL":"-1"}"#) == 0)
    #expect(left(#"{"header":{},"ID":"1"}"#) == 0)
    #expect(left(#"{"header":{},"TTL":"-2"}"#) == nil)
    #expect(left(#"{"code":5,"message":"x"}"#) == nil)
  }

  @Test func `a token is what a header can carry`() throws {
    #expect(EtcdAnswer.token(Bytes(text: #"{"header":{},"token":"abc.12"}"#)) == Bytes(text: "abc.12"))
    #expect(EtcdAnswer.token(Bytes(text: #"{"token":"a\r\nX: y"}"#)) == nil)
    #expect(EtcdAnswer.token(Bytes(text: #"{"token":""}"#)) == nil)
    func response(_ status: UInt16, _ body: String) throws -> HTTPResponse {
      let text = "HTTP/1.1 \(status) x\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
      guard case .whole(let response) = HTTPResponse.read(Bytes(text: text)) else {
        throw NoResponse()
      }
      return response
    }
    #expect(try EtcdAnswer.wantsToken(response(401, #"{"error":"invalid auth token","code":16}"#)))
    let old = #""etcdserver: revision of auth store is old""#
    #expect(try EtcdAnswer.wantsToken(response(400, #"{"error":\#(old),"code":3}"#)))
    #expect(try EtcdAnswer.wantsToken(response(400, #"{"error":"x","message":\#(old),"code":3}"#)))
    #expect(try !EtcdAnswer.wantsToken(response(400, #"{"error":"etcdserver: no key","code":3}"#)))
    #expect(try !EtcdAnswer.wantsToken(response(503, #"{"error":"timeout","code":14}"#)))
    #expect(try !EtcdAnswer.wantsToken(response(200, #"{"code":16}"#)))
  }
}

private struct NoResponse: Error {}
