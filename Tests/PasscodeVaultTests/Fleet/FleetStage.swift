import Foundation
import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// Two acts at once in a fleet, each stopped before each of its requests to etcd, along one schedule; and what must be true
/// whenever something is carried out, and at the end.
///
/// A schedule says who begins, and has decisions for some requests, which are counted over both. Without one the act goes on
/// until it ends, or sleeps: then it waits for the other one.
final class FleetStage {
  enum Decision: Hashable {
    /// The other one goes on instead: a preemption.
    case switched
    /// What becomes of the request, and nothing worse to those that follow.
    case lost, cut, doubled, late
    /// This and each later request of the act is cut: its server is gone, or its process.
    case gone
    /// The act is stopped before the request for so many seconds, and every clock goes on.
    case paused(seconds: UInt64)
    /// What was late arrives.
    case arrives
  }

  struct Schedule: CustomStringConvertible {
    var first = 0
    var decisions: [(request: Int, decision: Decision)] = []

    var description: String {
      "\(first == 0 ? "A" : "B") first" + decisions.map { ", \($0.decision) at \($0.request)" }.joined()
    }

    func with(_ decision: Decision, at request: Int) -> Schedule {
      Schedule(first: first, decisions: decisions + [(request, decision)])
    }
  }

  /// What happened at one request.
  struct Step: Equatable {
    let act: Int
    /// Whether the other act could go on instead.
    let canSwitch: Bool
  }

  /// A passcode was charged, by whom and when.
  private struct Charge {
    let act: Int
    let time: UInt64
    let failures: UInt32
    var isUndone = false
  }

  let bed: FleetBed
  let acts: [FleetAct]
  private let begun: FakeEtcd.Content
  private let start: UInt64
  private(set) var steps: [Step] = []
  private(set) var answers: [FleetAct.Answer?] = [nil, nil]
  private(set) var breaches: [String] = []

  private var turns = Turns()
  private var decisions: [(request: Int, decision: Decision)] = []
  private var isGone = [false, false]
  private var isAsleep = [false, false]
  private var fate = FakeEtcd.Fate.answered
  private var author: Int?
  /// Whose requests are late, in their order.
  private var lateAuthors: [Int] = []
  private var charges: [Charge] = []
  private var before: FleetRecord?
  private var isRefusable = false
  private static let mostSteps = 3_000

  /// - Parameter bed: as both begin.
  init(_ bed: FleetBed, _ acts: [FleetAct]) {
    self.bed = bed
    self.acts = acts
    begun = bed.etcd.content
    start = bed.bed.now
  }

  // MARK: One schedule

  func run(_ schedule: Schedule) {
    begin(schedule)
    var current = schedule.first
    while !(turns.hasEnded(0) && turns.hasEnded(1)), steps.count < FleetStage.mostSteps {
      let other = 1 - current
      if turns.hasEnded(current) || isAsleep[current] && !turns.hasEnded(other) { current = other }
      isAsleep[current] = false
      if turns.atGate(current) { current = decide(current) }
      author = current
      turns.give(current)
      author = nil
    }
    if steps.count >= FleetStage.mostSteps { breach("a wait has no end") }
    while !bed.etcd.held.isEmpty { arrive() }
    judgeEnd()
    bed.etcd.gate = { _ in .answered }
    bed.etcd.after = { _ in }
    bed.bed.meanwhile = {}
  }

  private func begin(_ schedule: Schedule) {
    bed.etcd.content = begun
    unlink(String(decoding: bed.spares().path, as: UTF8.self))
    bed.bed.now = start
    (steps, answers, breaches, charges) = ([], [nil, nil], [], [])
    (isGone, isAsleep, decisions) = ([false, false], [false, false], schedule.decisions)
    (before, isRefusable, lateAuthors) = ((try? bed.record()) ?? nil, false, [])
    look()
    turns = Turns()
    bed.etcd.gate = { [unowned self] request in
      turns.pause(atGate: true)
      // A lease or a question that is late is as one that was cut.
      if fate == .late, case .transaction = request { lateAuthors.append(turns.current) }
      return fate
    }
    bed.bed.meanwhile = { [unowned self] in
      isAsleep[turns.current] = true
      turns.pause(atGate: false)
    }
    bed.etcd.after = { [unowned self] in watch($0) }
    for number in 0...1 {
      turns.add(number) { [unowned self] in answers[number] = acts[number].carryOut(bed) }
      author = number
      turns.give(number)  // to its first request
    }
    author = nil
  }

  /// What is decided for the next request. Returns who makes it.
  private func decide(_ current: Int) -> Int {
    var current = current
    fate = .answered
    while let next = decisions.first, next.request == steps.count {
      decisions.removeFirst()
      switch next.decision {
      case .switched: if !turns.hasEnded(1 - current) { current = 1 - current }
      case .lost: fate = .lost
      case .cut: fate = .cut
      case .doubled: fate = .doubled
      case .late: fate = .late
      case .gone: isGone[current] = true
      case .paused(let seconds): bed.bed.now += seconds * 1_000
      case .arrives: arrive()
      }
    }
    isAsleep[current] = false
    guard turns.atGate(current) else { return current }
    if isGone[current] { fate = .cut }
    steps.append(Step(act: current, canSwitch: !turns.hasEnded(1 - current)))
    return current
  }

  /// The first request that is late.
  private func arrive() {
    guard !bed.etcd.held.isEmpty else { return }
    author = lateAuthors.removeFirst()
    bed.etcd.deliverHeld()
    author = nil
  }

  // MARK: What must be true

  private func breach(_ rule: String) {
    breaches.append(rule)
  }

  private func look() {
    guard let record = before?.record else {
      isRefusable = true
      return
    }
    if record.disabled || record.state == .removed { isRefusable = true }
    if bed.etcd.value(FleetKeys.wait(FleetBed.alice)) != nil { isRefusable = true }
  }

  /// Something was written.
  private func watch(_ transaction: EtcdTransaction) {
    watchLease(transaction)
    let now = (try? bed.record()) ?? nil
    defer {
      before = now
      look()
    }
    guard let old = before?.record, let new = now?.record else {
      if before != nil { breach("no record is lost") }
      return
    }
    if new.ledger.failures > old.ledger.failures { watchCharge(new) }
    if new.ledger.failures < old.ledger.failures { watchReset(old, new) }
    if new.disabled != old.disabled, author.map({ acts[$0].kind }) != .disable,
      author.map({ acts[$0].kind }) != .enable,
      author != nil
    {
      breach("a disabled passcode stays disabled")
    }
  }

  private func watchLease(_ transaction: EtcdTransaction) {
    let station = FleetKeys.station(Bytes(text: "ws1"))
    let begins = transaction.conditions.contains { $0 == .unchanged(station, revision: 0) }
    for case .put(let key, _, let lease) in transaction.actions
    where key == FleetKeys.busy(FleetBed.alice) || (begins && key == station) {
      let own = transaction.actions.count { if case .put(_, _, lease) = $0 { true } else { false } }
      if bed.etcd.keys(under: lease) != own { breach("no lease has the keys of two attempts") }
    }
  }

  private func watchCharge(_ new: Record) {
    charges.append(Charge(act: author ?? -1, time: bed.bed.now, failures: new.ledger.failures))
    guard let author, ![.attempt, .code].contains(acts[author].kind) else { return }
    breach("only attempts are charged")
  }

  private func watchReset(_ old: Record, _ new: Record) {
    for index in charges.indices { charges[index].isUndone = true }
    guard let author else { return }  // one that was late, and is judged by what its act says
    switch acts[author].kind {
    case .attempt:
      if acts[author].code != TestBed.right { breach("a charge is undone by its own grant only") }
      if charges.last?.act != author { breach("a charge is undone by its own grant only") }
    case .code: if acts[author].code != FleetBed.code { breach("a charge is undone by its own grant only") }
    case .enroll, .unlock, .remove: break
    case .disable, .enable, .invite, .withdraw: breach("a charge is undone by its own grant only")
    }
  }

  private func judgeEnd() {
    for (number, answer) in answers.enumerated() { judge(number, answer) }
    judgeDelays()
    judgeCodes()
  }

  /// Whether somebody has heard what a guess came to.
  private func isTold(_ act: Int) -> Bool {
    guard act >= 0, !isGone[act] else { return false }
    switch answers[act] {
    case .verdict(.wrong), .verdict(.granted), .code(.done), .code(.refused(.wrong)): return true
    default: return false
    }
  }

  private func judge(_ number: Int, _ answer: FleetAct.Answer?) {
    let act = acts[number]
    guard let answer else { return breach("every act ends") }
    guard case .verdict(let verdict) = answer else { return }
    let isCharged = charges.contains { $0.act == number }
    switch verdict {
    case .granted:
      if act.code != TestBed.right { breach("only the right passcode is granted") }
      if !isCharged { breach("granted only after a charge") }
    case .wrong:
      if act.code == TestBed.right, acts[1 - number].kind != .enroll, acts[1 - number].kind != .code {
        breach("a right passcode is never told to be wrong")
      }
      if !isCharged, acts[1 - number].code != act.code { breach("told to be wrong without a charge") }
    case .locked, .disabled, .notEnrolled, .exhausted:
      if act.code == TestBed.right, !isRefusable { breach("a right passcode is refused as unavailable only") }
    default: break
    }
  }

  /// Between two guesses whose results are told lies the whole delay that the first one began.
  private func judgeDelays() {
    let told = charges.filter { isTold($0.act) }
    for (first, second) in zip(told, told.dropFirst()) where !first.isUndone {
      guard case .seconds(let seconds) = FleetOptions(name: [120]).lockout.delay(after: first.failures) else {
        continue
      }
      if second.failures > first.failures, second.time < first.time + seconds * 1_000 {
        breach("a delay was \(second.time - first.time) ms")
      }
    }
  }

  private func judgeCodes() {
    let done = (0...1).filter { answers[$0] == .code(.done) && !isGone[$0] }.count
    if done > 1 { breach("a one-time code works once") }
    let record = (try? bed.record())??.record
    for number in 0...1 where answers[number] == .done && !isGone[number] {
      let other = acts[1 - number].kind
      switch acts[number].kind {
      case .disable where other != .enable:
        if record?.disabled != true { breach("what was taken back lets nobody in") }
      case .remove where other != .enroll && other != .code:
        if record?.state != .removed { breach("what was taken back lets nobody in") }
      default: break
      }
    }
  }
}
