import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// The etcd in memory answers as Debian's did: Tests/Support/etcd-answers.txt, whose words are explained in
/// Tests/Support/etcd_requests.py, and which test_etcd_in_memory.py keeps true.
struct FakeEtcdTests {
  @Test func `it answers as Debian's etcd`() throws {
    let path = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Support/etcd-answers.txt")
      .standardized
    var replay = Replay()
    var answer: String?
    var compared = 0
    for (number, line) in try String(contentsOf: path, encoding: .utf8).split(separator: "\n").enumerated() {
      if line.hasPrefix("= ") {
        #expect(answer == String(line), "line \(number + 1)")
        compared += 1
      } else {
        answer = replay.answer(line.split(separator: " ").map(String.init)[...])
      }
    }
    #expect(compared > 700)
  }

  /// One sequence after the other, each in an empty etcd.
  private struct Replay {
    private final class Clock {
      var now: UInt64 = 0
    }

    private var clock = Clock()
    private var etcd = FakeEtcd { 0 }
    private var base: UInt64 = 0
    private var leases: [String: UInt64] = [:]

    mutating func answer(_ words: ArraySlice<String>) -> String? {
      let rest = words.dropFirst()
      switch words.first {
      case "begin": begin()
      case "lease": leases[rest.first ?? ""] = etcd.grantLease(seconds: UInt64(rest.last ?? "") ?? 0)
      case "wait": clock.now += (UInt64(rest.first ?? "") ?? 0) * 1_000
      case "left":
        let left = etcd.timeLeft(leases[rest.first ?? ""] ?? 0) ?? 0
        return left > 0 ? "= lasts" : "= over"
      default: return commit(Array(rest))
      }
      return nil
    }

    private mutating func begin() {
      let clock = Clock()
      (self.clock, leases) = (clock, [:])
      etcd = FakeEtcd { clock.now }
      base = etcd.revision
    }

    private func commit(_ words: [String]) -> String {
      let parts = words.split(separator: "?", omittingEmptySubsequences: false)
      let branches = parts[1].split(separator: "!", omittingEmptySubsequences: false)
      let transaction = EtcdTransaction(
        if: clauses(parts[0]).map(condition), clauses(branches[0]).map(action),
        otherwise: clauses(branches[1]).map(action))
      guard let outcome = etcd.commit(transaction) else { return "= none" }
      let results = outcome.results.map(told).joined(separator: ", ")
      return "= \(outcome.succeeded ? "yes" : "no") \(told(outcome.origin.revision)) \(results)"
    }

    private func clauses(_ words: ArraySlice<String>) -> [[String]] {
      words.joined(separator: " ").split(separator: ", ").map { $0.split(separator: " ").map(String.init) }
    }

    private func condition(_ words: [String]) -> EtcdTransaction.Condition {
      let key = Bytes(text: words[1])
      if words[0] == "holds" { return .holds(key, value: Bytes(text: words[2])) }
      let revision = UInt64(words[2]) ?? 0
      return .unchanged(key, revision: revision == 0 ? 0 : base + revision)
    }

    private func action(_ words: [String]) -> EtcdTransaction.Action {
      let key = Bytes(text: words[1])
      switch words[0] {
      case "read": return .read(key)
      case "count": return .count(prefix: key)
      case "list": return .list(from: key, prefix: Bytes(text: words[2]), limit: UInt64(words[3]) ?? 0)
      case "delete": return .delete(key)
      default: return .put(key, value: Bytes(text: words[2]), lease: leases[words[3]] ?? 0)
      }
    }

    private func told(_ revision: UInt64) -> String { "\(Int64(revision) - Int64(base))" }

    private func told(_ result: EtcdOutcome.Result) -> String {
      guard case .entries(let entries, let count) = result else { return "done" }
      let names = Dictionary(leases.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
      let words = entries.map { entry in
        let (key, value) = (
          String(decoding: entry.key, as: UTF8.self), String(decoding: entry.value, as: UTF8.self)
        )
        return "\(key) \(value) \(told(entry.modified)) \(names[entry.lease] ?? "-")"
      }
      return (["\(count)"] + words).joined(separator: " ")
    }
  }
}
