import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// Two acts at once in a fleet, along every schedule with so many preemptions and faults (FleetStage).
struct FleetInterleavingTests {
  /// Where they begin.
  enum Scene: CaseIterable {
    case fresh, oneTryLeft, delayed, invited, disabled
    /// One more wrong one, and the workstation ws2 may try no more for alice.
    case stationNearlyFull

    func bed() throws -> FleetBed {
      let bed = try FleetBed()
      switch self {
      case .fresh: break
      case .oneTryLeft: try bed.fail(2)
      case .delayed: try bed.fail(3)
      case .invited: try bed.invite()
      case .disabled: _ = try bed.fleet().disable(FleetBed.alice, true)
      case .stationNearlyFull:
        for index in 0..<7 {
          _ = try bed.attempt(TestBed.wrong[index % 2], at: "ws2")
          if index % 2 == 1 { _ = try bed.attempt(TestBed.right) }
        }
      }
      return bed
    }
  }

  struct Pair: Sendable, CustomTestStringConvertible {
    let scene: Scene
    let first, second: FleetAct

    init(_ scene: Scene, _ first: FleetAct, _ second: FleetAct) {
      (self.scene, self.first, self.second) = (scene, first, second)
    }

    var testDescription: String { "\(scene): \(first), \(second)" }
  }

  static func act(_ kind: FleetAct.Kind) -> FleetAct { FleetAct(kind: kind) }

  static let pairs = [
    Pair(.oneTryLeft, .wrong(5), .wrong(6, at: "ws1")), Pair(.oneTryLeft, .right, .wrong()),
    Pair(.oneTryLeft, .wrong(), .wrong()), Pair(.fresh, .right, .right), Pair(.fresh, .wrong(5), .wrong(6)),
    Pair(.oneTryLeft, .right, act(.disable)), Pair(.oneTryLeft, .right, act(.remove)),
    Pair(.oneTryLeft, .wrong(), act(.unlock)), Pair(.oneTryLeft, .wrong(), act(.enroll)),
    Pair(.oneTryLeft, .right, act(.enroll)), Pair(.delayed, .right, act(.unlock)),
    Pair(.delayed, .wrong(), .right), Pair(.disabled, .right, act(.enable)),
    Pair(.invited, .byCode(), .byCode()), Pair(.invited, .byCode("KTMXRWPC"), .byCode()),
    Pair(.invited, .byCode(), .right), Pair(.invited, .byCode(), act(.withdraw)),
    Pair(.invited, .byCode(), act(.disable)), Pair(.invited, .byCode(), act(.enroll)),
    Pair(.fresh, act(.enroll), act(.disable)), Pair(.fresh, act(.remove), act(.enroll)),
    Pair(.stationNearlyFull, .wrong(5), .wrong(6)),
  ]

  /// All that may become of a request, and pauses: one in which `busy` goes on, and one that ends it and a delay.
  static let faults: [FleetStage.Decision] = [
    .lost, .cut, .doubled, .late, .gone, .paused(seconds: 18), .paused(seconds: 70),
  ]

  /// What was explored.
  final class Exploration {
    private let stage: FleetStage
    private let preemptions: Int
    private let faults: Int
    private let kinds: [FleetStage.Decision]
    private(set) var schedules = 0
    private(set) var requests = 0
    /// The first schedules that broke a rule, and which.
    private(set) var found: [String] = []
    private(set) var rules: Set<String> = []

    /// - Parameter plant: what is done to its etcd.
    init(
      _ pair: Pair, preemptions: Int, faults: Int,
      kinds: [FleetStage.Decision] = FleetInterleavingTests.faults,
      plant: (FakeEtcd) -> Void = { _ in }
    ) throws {
      let bed = try pair.scene.bed()
      plant(bed.etcd)
      stage = FleetStage(bed, [pair.first, pair.second])
      (self.preemptions, self.faults, self.kinds) = (preemptions, faults, kinds)
      for first in 0...1 {
        visit(FleetStage.Schedule(first: first), preemptions: 0, faults: 0, isLate: false)
      }
    }

    private func visit(_ schedule: FleetStage.Schedule, preemptions: Int, faults: Int, isLate: Bool) {
      stage.run(schedule)
      schedules += 1
      requests += stage.steps.count
      rules.formUnion(stage.breaches)
      if !stage.breaches.isEmpty, found.count < 5 {
        found.append("\(stage.breaches) \(schedule) \(stage.answers)")
      }
      let steps = stage.steps
      let last = schedule.decisions.last
      for request in steps.indices
      where request > last?.request ?? -1 || request == last?.request && last?.decision == .switched {
        let isNew = request > last?.request ?? -1
        if isNew, preemptions < self.preemptions, steps[request].canSwitch {
          visit(
            schedule.with(.switched, at: request), preemptions: preemptions + 1, faults: faults,
            isLate: isLate)
        }
        if isNew, isLate {
          visit(schedule.with(.arrives, at: request), preemptions: preemptions, faults: faults, isLate: false)
        }
        guard faults < self.faults else { continue }
        for kind in kinds {
          visit(
            schedule.with(kind, at: request), preemptions: preemptions, faults: faults + 1,
            isLate: kind == .late)
        }
      }
    }
  }

  /// PASSCODE_DEPTH=PREEMPTIONS,FAULTS instead of one of either.
  private static let depths: [(Int, Int)] = {
    let named = ProcessInfo.processInfo.environment["PASSCODE_DEPTH"] ?? ""
    let numbers = named.split(separator: ",").compactMap { Int($0) }
    return numbers.count == 2 ? [(numbers[0], numbers[1])] : [(1, 0), (0, 1)]
  }()

  @Test(arguments: pairs)
  func `every interleaving of two acts`(pair: Pair) throws {
    for (preemptions, faults) in Self.depths {
      let all = try Exploration(pair, preemptions: preemptions, faults: faults)
      #expect(all.found.isEmpty)
      #expect(all.schedules > 5 && all.requests > 20)
      print("\(pair.testDescription): \(all.schedules) schedules, \(all.requests) requests")
    }
  }

  // MARK: - Planted

  private struct Planted: Sendable, CustomTestStringConvertible {
    let rule: String
    let pair: Pair
    var preemptions = 1
    var faults = 0
    var kinds: [FleetStage.Decision] = []
    let plant: @Sendable (FakeEtcd) -> Void

    var testDescription: String { rule }
  }

  /// These steps depend on nothing.
  private static func careless(_ steps: FleetStep...) -> @Sendable (FakeEtcd) -> Void {
    { etcd in
      etcd.alter = { transaction in
        guard let step = FleetStep(transaction), steps.contains(step) else { return transaction }
        return EtcdTransaction(transaction.actions)
      }
    }
  }

  /// These steps don't write the record.
  private static func forgetful(_ step: FleetStep) -> @Sendable (FakeEtcd) -> Void {
    { etcd in
      etcd.alter = { transaction in
        guard FleetStep(transaction) == step else { return transaction }
        var changed = transaction
        changed.actions.removeAll {
          if case .put(FleetKeys.record(FleetBed.alice), _, _) = $0 { true } else { false }
        }
        return changed
      }
    }
  }

  private static let wrongs = Pair(.oneTryLeft, .wrong(5), .wrong(6, at: "ws1"))

  private static let planted = [
    Planted(rule: "told to be wrong without a charge", pair: wrongs, plant: forgetful(.charge)),
    Planted(
      rule: "granted only after a charge", pair: Pair(.fresh, .right, .right), plant: forgetful(.charge)),
    Planted(
      rule: "a disabled passcode stays disabled", pair: Pair(.oneTryLeft, .right, act(.disable)),
      plant: careless(.settling)),
    Planted(
      rule: "a one-time code works once", pair: Pair(.invited, .byCode(), .byCode()), preemptions: 2,
      plant: careless(.charge, .setting)),
    Planted(
      rule: "what was taken back lets nobody in", pair: Pair(.oneTryLeft, .right, act(.disable)),
      plant: forgetful(.alteration)),
    // A server that is stopped between granting the delay's lease and its charge, and believes that it lasts.
    Planted(
      rule: "a delay was", pair: wrongs, preemptions: 0, faults: 2,
      kinds: [.paused(seconds: 18), .paused(seconds: 52)],
      plant: { $0.alterTimeLeft = { $0 > 0 ? 100 : 0 } }),
  ]

  @Test(arguments: planted)
  private func `what is planted is found`(planted: Planted) throws {
    let all = try Exploration(
      planted.pair, preemptions: planted.preemptions, faults: planted.faults, kinds: planted.kinds,
      plant: planted.plant)
    #expect(all.rules.contains { $0.hasPrefix(planted.rule) }, "\(all.schedules): \(all.rules)")
  }
}
