import Testing

@testable import PasscodePolicy

@Suite struct SentenceTests {
  private let sentence = Sentence(
    "%1: %d user by %2", plural: "%1: %d users by %2", 2, [Bytes(text: "a"), Bytes(text: "b")])

  private func told(_ translation: String?) -> String {
    text(sentence.text { _, _, _ in translation.map { Bytes(text: $0) } })
  }

  @Test func `a translation is filled in, in its own order`() {
    #expect(told("%2 nennt %d Leute: %1") == "b nennt 2 Leute: a")
    #expect(told("%1 %1 %2 %d %d") == "a a b 2 2")
    #expect(told("für %1: %2 (%d)") == "für a: b (2)")
  }

  @Test func `without a translation it is English`() {
    #expect(told(nil) == "a: 2 users by b" && text(sentence.english) == "a: 2 users by b")
    #expect(text(sentence.with(1, [Bytes(text: "c"), Bytes(text: "d")]).english) == "c: 1 user by d")
  }

  @Test(
    arguments: [
      "", "%1 %2", "%1 %d", "%1 %2 %3 %d", "%1 %2 %d %s", "%1 %2 %d %n", "%1 %2 %d %%", "%1 %2 %d %",
      "%1 %2 %d %0",
      "%1 %2 %d %11", "%1 %2 %9 %d", "%1 %2 %d %*d", "%1 %2 %d %1$s",
    ])
  func `a translation with other parameters is not believed`(translation: String) {
    let isSame = translation == "%1 %2 %d %11" || translation == "%1 %2 %d %1$s"
    // What stands behind a parameter is text.
    #expect(told(translation) == (isSame ? told(translation) : "a: 2 users by b"))
    if isSame { #expect(told(translation).hasPrefix("a b 2 a")) }
  }

  @Test func `the lookup gets both forms, ended for C, and the number`() {
    var asked: [String] = []
    _ = sentence.text { pattern, plural, number in
      asked.append("\(text(pattern))|\(text(plural))|\(number)")
      return nil
    }
    _ = Sentence("plain").text { pattern, plural, number in
      asked.append("\(text(pattern))|\(text(plural))|\(number)")
      return nil
    }
    #expect(asked == ["%1: %d user by %2\0|%1: %d users by %2\0|2", "plain\0|\0|0"])
  }

  @Test func `nothing is looked up for nothing: that is the catalogue's head`() {
    let empty = Sentence("").text { _, _, _ in Bytes(text: "Project-Id-Version: x") }
    #expect(empty.bytes.isEmpty)
  }

  @Test func `a parameter that isn't given is left out`() {
    #expect(text(Sentence("%1, %2 and %3").english) == ",  and ")
  }

  @Test func `a parameter is not a pattern`() {
    let name = Sentence("no user %1: %2", 0, [Bytes(text: "%2%d%s"), Bytes(text: "x")])
    #expect(text(name.english) == "no user %2%d%s: x")
  }

  @Test func `the command is what it was, in every language`() {
    let whole = Sentence("%1: of %2; run: rm %1", 0, [Bytes(text: "/a"), Bytes(text: "bob")])
    var asked: [String] = []
    let advice = Advice(whole, exact: [Bytes(text: "/a"), Bytes(text: "bob"), []]) { pattern, _, _ in
      asked.append(text(pattern))
      return Bytes(text: "%2 hat %1; run: rm -rf %2")
    }
    #expect(asked == ["%1: of %2\0"])
    #expect(text(advice.command) == "rm /a")
    #expect(text(advice.sentence) == "bob hat /a; run: rm -rf bob")
  }

  @Test(arguments: Fault.Reason.allCases)
  func `what the log says is English whatever the catalogue`(reason: Fault.Reason) {
    let fault = Fault(reason, path: Bytes(text: "/p"), name: Bytes(text: "n"), number: 7)
    let told = Words.advice(fault, error: []) { _, _, _ in Bytes(text: "übersetzt") }
    let english = Words.advice(fault, error: [], in: Sentence.inEnglish)
    #expect(text(Words.fault(fault, error: [])) == text(english.text))
    #expect(text(told.command) == text(english.command))
  }
}
