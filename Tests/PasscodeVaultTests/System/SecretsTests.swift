import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodePrograms
@testable import PasscodeVault

private struct NoMemory: Error {}

/// Secrets are in memory that the process keeps for the next ones, each part apart from the others, and never cut.
@Suite struct SecretsTests {
  private let sodium: Sodium

  init() throws { sodium = try #require(Sodium()) }

  // Of a variable Swift 6.2 lends no two parts at once; of a parameter it does.
  private func withSecrets(_ body: (inout Secrets) throws -> Void) throws {
    guard var secrets = Secrets(sodium) else { throw NoMemory() }
    try body(&secrets)
  }

  private func digits(_ count: Int) -> Bytes { Bytes(repeating: UInt8(ascii: "7"), count: count) }

  private func content(_ line: borrowing TypedLine) -> Bytes {
    line.read { span in span.indices.map { span[$0] } }
  }

  private func content(_ passcode: borrowing Passcode) -> Bytes {
    passcode.read { span in span.indices.map { span[$0] } }
  }

  private func content(_ credential: borrowing OpenedCredential) -> Bytes {
    credential.read { span in span.indices.map { span[$0] } }
  }

  /// Everything that was typed, one after the other.
  private func typed(_ secrets: borrowing Secrets) -> [Bytes] {
    [
      content(secrets.line), content(secrets.passcode), content(secrets.change.old.passcode),
      content(secrets.change.new.passcode), content(secrets.password.line),
    ]
  }

  @Test func theNextOnesFindNothing() throws {
    for _ in 0..<3 {
      try withSecrets { secrets in
        #expect(typed(secrets) == [[], [], [], [], []])
        #expect(content(secrets.unsealed.credential) == Bytes(repeating: 0, count: Length.credential))
        #expect(
          secrets.unsealed.credential.fill(Bytes(repeating: 0x5a, count: 13), secrets.unsealed.digest) == true
        )
        #expect(content(secrets.unsealed.credential) != Bytes(repeating: 0, count: Length.credential))
      }
    }
  }

  @Test func aSaltIsTheBeginningOfACredential() throws {
    guard var secrets = Secrets(sodium) else { throw NoMemory() }
    secrets.unsealed.credential.makeSalt(sodium)
    let first = content(secrets.unsealed.credential)
    secrets.unsealed.credential.makeSalt(sodium)
    let second = content(secrets.unsealed.credential)
    #expect(first[..<16] != second[..<16])
    #expect(first[16...] == second[16...] && first[16...].allSatisfy { $0 == 0 })
  }

  @Test func twoAtATimeAreApart() throws {
    guard var one = Secrets(sodium), var other = Secrets(sodium) else { throw NoMemory() }
    #expect(one.line.take(digits(4)) == true)
    #expect(other.line.take(Bytes(text: "hello")) == true)
    #expect(content(one.line) == digits(4))
    #expect(content(other.line) == Bytes(text: "hello"))
  }

  /// Each as full as it gets, the others stay as they are.
  @Test func thePartsAreApart() throws {
    try withSecrets { secrets in
      #expect(secrets.line.take(Bytes(text: "123456")) == true)
      #expect(secrets.passcode.take(secrets.line) == .passcode)
      #expect(secrets.line.take(Bytes(text: "234567")) == true)
      #expect(secrets.change.old.passcode.take(secrets.line) == .passcode)
      #expect(secrets.line.take(Bytes(text: "345678")) == true)
      #expect(secrets.change.new.passcode.take(secrets.line) == .passcode)
      #expect(
        secrets.unsealed.digest.hash(
          secrets.passcode, secrets.unsealed.credential, operations: 1, memory: 8_192)
          == true)
      for length in [0, 12, 14, 29, 61] {
        let head = Bytes(repeating: 0x5b, count: length)
        #expect(secrets.unsealed.credential.fill(head, secrets.unsealed.digest) == false)
      }
      #expect(
        secrets.unsealed.credential.fill(Bytes(repeating: 0x5a, count: 13), secrets.unsealed.digest) == true)
      #expect(secrets.line.take(digits(512)) == true)
      #expect(secrets.password.line.take(Bytes(repeating: 0x50, count: 512)) == true)
      let credential = content(secrets.unsealed.credential)
      let all = [
        digits(512), Bytes(text: "123456"), Bytes(text: "234567"), Bytes(text: "345678"),
        Bytes(repeating: 0x50, count: 512),
      ]
      #expect(typed(secrets) == all)
      #expect(Bytes(credential[16..<29]) == Bytes(repeating: 0x5a, count: 13))
      #expect(secrets.unsealed.digest.matches(secrets.unsealed.credential) == true)
      secrets.unsealed.wipe()
      #expect(content(secrets.unsealed.credential) == Bytes(repeating: 0, count: 61))
      #expect(typed(secrets) == all)
    }
  }

  @Test(arguments: [0, 4, 511, 512])
  func aLineIsWhole(_ length: Int) throws {
    try withSecrets { secrets in
      #expect(secrets.line.take(digits(length)) == true)
      #expect(content(secrets.line) == digits(length))
      unsafe (digits(length) + [0]).withUnsafeBufferPointer { buffer in
        unsafe buffer.withMemoryRebound(to: CChar.self) { text in
          #expect(unsafe secrets.password.line.take(text.baseAddress!) == true)
        }
      }
      #expect(content(secrets.password.line) == digits(length))
    }
  }

  @Test(arguments: [513, 1_024, 10_000])
  func orThereIsNone(_ length: Int) throws {
    try withSecrets { secrets in
      #expect(secrets.line.take(digits(4)) == true)
      #expect(secrets.line.take(digits(length)) == false)
      #expect(content(secrets.line) == [])
      unsafe (digits(length) + [0]).withUnsafeBufferPointer { buffer in
        unsafe buffer.withMemoryRebound(to: CChar.self) { text in
          #expect(unsafe secrets.line.take(text.baseAddress!) == false)
        }
      }
      #expect(content(secrets.line) == [])
      #expect(secrets.passcode.take(secrets.line) == .empty)
    }
  }

  @Test(arguments: [
    ("", Answer.empty), ("8264", .passcode), ("826", .other), ("82640", .other), ("826401", .passcode),
    ("8264015", .other), ("82640153", .other), ("826a", .other), (" 8264", .other),
  ])
  func aPasscodeIsWhatWasTypedOrNone(_ text: String, _ answer: Answer) throws {
    try withSecrets { secrets in
      #expect(secrets.line.take(Bytes(text: "1593")) == true)
      #expect(secrets.passcode.take(secrets.line) == .passcode)
      #expect(secrets.line.take(Bytes(text: text)) == true)
      #expect(secrets.passcode.take(secrets.line) == answer)
      #expect(content(secrets.passcode) == (answer == .passcode ? Bytes(text: text) : []))
      #expect(secrets.passcode.copy(secrets.line) == (text.utf8.count <= 6))
      #expect(content(secrets.passcode) == (text.utf8.count <= 6 ? Bytes(text: text) : []))
    }
  }

  @Test func aRepetitionIsTheSamePasscode() throws {
    try withSecrets { secrets in
      #expect(secrets.line.take(Bytes(text: "8264")) == true)
      #expect(secrets.passcode.take(secrets.line) == .passcode)
      #expect(secrets.passcode.isRepeated(in: secrets.line) == true)
      for other in ["8265", "826", "82640", "", "\u{0}\u{0}\u{0}\u{0}"] {
        #expect(secrets.line.take(Bytes(text: other)) == true)
        #expect(secrets.passcode.isRepeated(in: secrets.line) == false, "\(other)")
      }
    }
  }

  @Test func whatIsMadeUpHasItsLength() throws {
    try withSecrets { secrets in
      for length in [4, 6] {
        #expect(secrets.passcode.makeUp(digits: length, sodium) == true)
        #expect(secrets.passcode.count == length && secrets.passcode.isSound)
      }
      for length in [-1, 7, 512] {
        #expect(secrets.passcode.makeUp(digits: length, sodium) == false)
        #expect(secrets.passcode.count == 0)
      }
    }
  }

  /// Beside a key are the other secrets.
  @Test func aKeyHas64Digits() throws {
    try withSecrets { secrets in
      #expect(secrets.line.take(digits(512)) == true)
      #expect(
        secrets.unsealed.credential.fill(Bytes(repeating: 0x77, count: 13), secrets.unsealed.digest) == true)
      let (before, credential) = (typed(secrets), content(secrets.unsealed.credential))
      for index in -64..<0 { secrets.unsealed.key.set(5, at: index) }
      for index in 64...2_000 { secrets.unsealed.key.set(5, at: index) }
      #expect(typed(secrets) == before)
      #expect(content(secrets.unsealed.credential) == credential)
    }
  }

  /// The last wrong passcode's digest: a context that doesn't fit is none, not a part of one.
  @Test func aKeyedDigestIsOfAllOrOfNothing() throws {
    try withSecrets { secrets in
      #expect(secrets.line.take(Bytes(text: "826401")) == true)
      #expect(secrets.passcode.take(secrets.line) == .passcode)
      // With a salt of 16 bytes and a passcode of 6 there is room for 90 more.
      for (length, digest) in [(0, Length.hash), (90, Length.hash), (91, nil), (10_000, nil)] {
        let made = secrets.unsealed.digest.keyed(
          secrets.unsealed.key, digits(length), secrets.unsealed.credential, secrets.passcode)
        #expect(made?.count == digest)
      }
      #expect(content(secrets.line) == Bytes(text: "826401"))
    }
  }

  @Test func aRequestHasRoomForEveryPassword() {
    #expect(HelperRequest.longestPassword == TypedLine.longest)
  }
}
