import Testing

@testable import PasscodeFleetPolicy
@testable import PasscodePolicy

struct JSONValueTests {
  private func value(_ text: String) -> JSONValue? { JSONValue(Bytes(text: text)) }

  @Test func `each kind is read`() {
    let document = value(
      #" {"a" : [1, -20 ,"x"], "b":{"c":true,"d":false,"e":null}, "f":"", "g":{}, "h":[]} "#)
    #expect(
      document?.member("a")
        == .list([.number(Bytes(text: "1")), .number(Bytes(text: "-20")), .string(Bytes(text: "x"))]))
    #expect(document?.member("b")?.member("c") == .flag(true))
    #expect(document?.member("b")?.member("d") == .flag(false))
    #expect(document?.member("b")?.member("e") == .null)
    #expect(document?.member("f")?.text == [])
    #expect(document?.member("g") == .object([]))
    #expect(document?.member("h")?.items == [])
    #expect(document?.member("i") == nil)
    #expect(document?.text == nil && document?.items == nil && document?.number == nil)
  }

  @Test func `numbers come as numbers and as strings, whole and not negative`() {
    #expect(value("18446744073709551615")?.number == .max)
    #expect(value("\"18446744073709551615\"")?.number == .max)
    #expect(value("\"18446744073709551616\"")?.number == nil)
    #expect(value("-1")?.number == nil)
    #expect(value("\"-1\"")?.number == nil)
    #expect(value("\"\"")?.number == nil)
  }

  @Test func `escapes become what they stand for`() {
    #expect(value(#""\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac""#)?.text == Bytes(text: "\"\\/\u{8}\u{c}\n\r\tAé€"))
  }

  @Test(arguments: [
    "", " ", "{", "}", "[", "[1", "[1,", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
    "{\"a\":1}x",
    "{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}", "\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"",
    "\"\\ud800\"",
    "\"\n\"", "01", "-", "1.5", "1e3", "+1", "tru", "truex", "nulls", "'a'", "1 2", "\u{feff}1",
  ])
  func `what isn't a document to its last byte is none`(text: String) {
    #expect(value(text) == nil)
  }

  @Test func `depth, items, members and length are bounded`() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(value(nested(JSONValue.deepest)) != nil)
    #expect(value(nested(JSONValue.deepest + 1)) == nil)
    #expect(value(nested(100_000)) == nil)
    func list(_ count: Int) -> String {
      "[" + Array(repeating: "1", count: count).joined(separator: ",") + "]"
    }
    #expect(value(list(JSONValue.mostItems)) != nil)
    #expect(value(list(JSONValue.mostItems + 1)) == nil)
    func object(_ count: Int) -> String {
      "{" + (0..<count).map { "\"\($0)\":1" }.joined(separator: ",") + "}"
    }
    #expect(value(object(JSONValue.mostMembers)) != nil)
    #expect(value(object(JSONValue.mostMembers + 1)) == nil)
    #expect(value("\"" + String(repeating: "a", count: JSONValue.longest - 2) + "\"") != nil)
    #expect(value("\"" + String(repeating: "a", count: JSONValue.longest - 1) + "\"") == nil)
  }

  @Test func `a document that was cut anywhere is none`() {
    let whole = Bytes(text: #"{"header":{"revision":"12"},"succeeded":true,"kvs":[{"key":"YQ=="}]}"#)
    #expect(JSONValue(whole) != nil)
    for length in whole.indices { #expect(JSONValue(Bytes(whole[..<length])) == nil) }
  }
}
