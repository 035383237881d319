import PasscodePolicy
import Testing

@Suite struct AdviceTests {
  private func advice(
    _ pattern: String, _ path: String, _ name: String = "bob", _ other: String = "eve"
  ) -> Advice {
    let (path, name, other) = (Bytes(text: path), Bytes(text: name), Bytes(text: other))
    return Advice(
      Sentence(Bytes(text: pattern), plural: [], 7, [printable(path), printable(name), printable(other)]),
      exact: [path, name, other],
      in: Sentence.inEnglish)
  }

  @Test func `the command is what the pattern has after run`() {
    let found = advice("%1: of %2; run: rm %1 %d", "/a/b-c_1.d")
    #expect(text(found.sentence) == "/a/b-c_1.d: of bob")
    #expect(text(found.command) == "rm /a/b-c_1.d 7")
    #expect(text(found.text) == "/a/b-c_1.d: of bob; run: rm /a/b-c_1.d 7")
    #expect(text(advice("%1: of %2", "/a").text) == "/a: of bob")
  }

  @Test(
    arguments: [
      "", "-a", "a b", "a;b", "a&b", "a|b", "a$b", "`a`", "a\nb", "a'b", "a\"b", "a\\b", "a*", "a?", "~a",
      "#a",
      "a%1", "a(b", "a<b", "a>b", "a{b}", "a=b", "ü", "a; run: b", String(repeating: "a", count: 129),
    ])
  func `no command has a word that a shell could take for more`(word: String) {
    let found = advice("%1: of %2; run: rm %1", word)
    #expect(found.command.bytes.isEmpty && found.text == found.sentence)
    #expect(text(found.sentence) == text(Text(printable(Bytes(text: word)))) + ": of bob")
    // What the command doesn't name doesn't matter.
    #expect(text(advice("%1: of %2; run: rm %2", word).command) == "rm bob")
    #expect(advice("%1: of %2; run: rm %2", "/a", word).command.bytes.isEmpty)
    #expect(advice("%1: of %3; run: rm %3", "/a", "bob", word).command.bytes.isEmpty)
    #expect(text(advice("%1; run: chgrp %3 %2", "/a").command) == "chgrp eve bob")
  }
}
