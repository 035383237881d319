import PasscodeSystem
import Testing

private struct NoMemory: Error {}

/// Secrets are in memory that the process keeps for the next ones.
@Suite struct SecretsTests {
  private let sodium: Sodium

  init() throws { sodium = try #require(Sodium()) }

  private func fill(_ secrets: inout Secrets, _ value: UInt8) {
    secrets.write(.digest) { span in
      for index in span.indices { span[index] = value }
      return span.count
    }
  }

  private func content(_ secrets: borrowing Secrets) -> [UInt8] {
    secrets.read(.digest) { span in span.indices.map { span[$0] } }
  }

  private func all(_ value: UInt8) -> [UInt8] { [UInt8](repeating: value, count: 32) }

  @Test func theNextOnesFindNothing() throws {
    for _ in 0..<3 {
      guard var secrets = Secrets(sodium) else { throw NoMemory() }
      #expect(content(secrets) == all(0))
      fill(&secrets, 0x5a)
    }
  }

  @Test func twoAtATimeAreApart() throws {
    guard var one = Secrets(sodium), var other = Secrets(sodium) else { throw NoMemory() }
    fill(&one, 1)
    fill(&other, 2)
    #expect(content(one) == all(1))
    #expect(content(other) == all(2))
  }
}
