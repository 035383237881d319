import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// Each condition of each transaction: with it nothing that others do at that moment is lost, and without it something is.
struct FleetConditionTests {
  private struct Condition: Hashable {
    let step: FleetStep
    let key: FleetStep.Key

    init(_ step: FleetStep, on key: FleetStep.Key) {
      (self.step, self.key) = (step, key)
    }
  }

  /// A condition, and what must hold where others act just before the transaction.
  private typealias Row = (Condition, @Sendable (FleetBed) throws -> Bool)

  private static let (alice, bob) = (FleetBed.alice, Bytes(text: "bob"))
  private static let (right, wrong, other) = (TestBed.right, TestBed.wrong[0], "8264")

  private static let attempts: [Row] = [
    (
      Condition(.charge, on: .record),
      {
        let bed = $0
        bed.meanwhile(.charge) { try bed.enroll(other) }
        return try !bed.attempt(right).isGranted && bed.attempt(other).isGranted
      }
    ),
    (
      Condition(.charge, on: .wait),
      {
        let bed = $0
        bed.meanwhile(.charge) { bed.etcd.set(FleetKeys.wait(alice), [1]) }
        return try !bed.attempt(right).isGranted
      }
    ),
    (
      Condition(.charge, on: .busy),
      {
        let bed = $0
        bed.meanwhile(.charge) { bed.etcd.set(FleetKeys.busy(alice), [1]) }
        return try !bed.attempt(right).isGranted
      }
    ),
    (
      Condition(.charge, on: .station),
      {
        let bed = $0
        try bed.enroll(other, bob)
        bed.meanwhile(.charge) { _ = try bed.attempt(wrong, bob) }
        return try bed.attempt(right).isGranted && bed.station() == 1
      }
    ),
    (
      Condition(.charge, on: .epoch),
      {
        let bed = $0
        bed.meanwhile(.charge) { bed.etcd.set(FleetKeys.epoch, Bytes(text: "2")) }
        return try !bed.attempt(right).isGranted
      }
    ),
    (
      Condition(.fence, on: .record),
      {
        let bed = $0
        bed.loseFirst(.charge, .cut)
        bed.meanwhile(.fence) { _ = try bed.attempt(wrong, at: "ws2") }
        return try !bed.attempt(TestBed.wrong[1]).isGranted && bed.failures() == 2
      }
    ),
    (
      Condition(.move, on: .wait),
      {
        let bed = $0
        try bed.fail(3)
        // So that the delay is all that moves.
        let ws1 = Bytes(text: "ws1")
        let counts = [
          FleetKeys.station(ws1), FleetKeys.station(ws1, account: alice), FleetKeys.strangers(ws1),
        ]
        for key in counts { bed.etcd.forget(key) }
        try bed.startLeasesAnew()
        bed.meanwhile(.move) { _ = try bed.fleet().unlock(alice) }
        try bed.fleet().keepLeases()
        return try bed.look() == nil
      }
    ),
    (
      Condition(.move, on: .code),
      {
        let bed = $0
        try bed.invite()
        try bed.startLeasesAnew()
        bed.meanwhile(.move) { _ = try bed.fleet().withdraw(alice) }
        try bed.fleet().keepLeases()
        return try bed.enroll(byCode: FleetBed.code, new: other) == .noCode
      }
    ),
    (
      Condition(.move, on: .station),
      {
        let bed = $0
        try bed.fail(1)
        try bed.startLeasesAnew()
        bed.meanwhile(.move) { _ = try bed.attempt(TestBed.wrong[1]) }
        try bed.fleet().keepLeases()
        return bed.station() == 2
      }
    ),
    (
      Condition(.renewal, on: .record),
      {
        let bed = $0
        try bed.fail(2)
        bed.meanwhile(.charge) { bed.bed.now += 18_000 }
        bed.meanwhile(.renewal) { try bed.enroll(other) }
        _ = try bed.attempt(TestBed.wrong[2])
        return try bed.attempt(other).isGranted
      }
    ),
    (
      Condition(.settling, on: .record),
      {
        let bed = $0
        bed.meanwhile(.settling) {
          bed.bed.now += 30_000
          _ = try bed.attempt(wrong, at: "ws2")
        }
        return try bed.attempt(right).isGranted && bed.failures() == 2
      }
    ),
    (
      Condition(.settling, on: .station),
      {
        let bed = $0
        try bed.enroll(other, bob)
        bed.meanwhile(.settling) { _ = try bed.attempt(wrong, bob) }
        return try bed.attempt(right).isGranted && bed.station() == 1
      }
    ),
    (
      Condition(.settling, on: .owners),
      {
        let bed = $0
        try bed.enroll(other, bob)
        var settlings = 0
        bed.etcd.before = { transaction in
          guard FleetStep(transaction) == .settling else { return }
          settlings += 1
          // The workstation's count ends, on which settling depends, too.
          if settlings == 1 { bed.bed.now += FleetBed.hour }
          if settlings == 2 { _ = try? bed.attempt(other, bob) }
        }
        return try bed.attempt(right).isGranted && bed.owners()?.count == 46
      }
    ),
    (
      Condition(.release, on: .busy),
      {
        let bed = $0
        bed.meanwhile(.release) {
          bed.bed.now += 30_000
          bed.etcd.set(FleetKeys.busy(alice), [1])
        }
        return try !bed.attempt(wrong).isGranted && bed.etcd.value(FleetKeys.busy(alice)) == [1]
      }
    ),
  ]

  private static let codes: [Row] = [
    (
      Condition(.invitation, on: .record),
      {
        let bed = $0
        bed.etcd.forget(FleetKeys.record(alice))
        bed.meanwhile(.invitation) { try bed.enroll() }
        try bed.invite()
        return try bed.attempt(right).isGranted
      }
    ),
    (
      Condition(.invitation, on: .epoch),
      {
        let bed = $0
        bed.meanwhile(.invitation) { bed.etcd.set(FleetKeys.epoch, Bytes(text: "2")) }
        try? bed.invite()
        return bed.etcd.value(FleetKeys.code(alice)) == nil
      }
    ),
    (
      Condition(.withdrawal, on: .code),
      {
        let bed = $0
        try bed.invite()
        bed.meanwhile(.withdrawal) { _ = try bed.enroll(byCode: FleetBed.code, new: other) }
        return try bed.fleet().withdraw(alice) == .used
      }
    ),
    (
      Condition(.charge, on: .code),
      {
        let bed = $0
        try bed.invite()
        bed.meanwhile(.charge) { _ = try bed.fleet().withdraw(alice) }
        return try bed.enroll(byCode: FleetBed.code, new: other) == .noCode && bed.failures() == 0
      }
    ),
    (
      Condition(.setting, on: .record),
      {
        let bed = $0
        try bed.invite()
        bed.meanwhile(.setting) { _ = try bed.fleet().disable(alice, true) }
        _ = try? bed.enroll(byCode: FleetBed.code, new: other)
        return try bed.record()?.record.disabled == true
      }
    ),
    (
      Condition(.setting, on: .code),
      {
        let bed = $0
        try bed.invite()
        bed.meanwhile(.setting) { _ = try bed.fleet().withdraw(alice) }
        return try bed.enroll(byCode: FleetBed.code, new: other) == .noCode
      }
    ),
    (
      Condition(.setting, on: .epoch),
      {
        let bed = $0
        try bed.invite()
        bed.meanwhile(.setting) { bed.etcd.set(FleetKeys.epoch, Bytes(text: "2")) }
        return (try? bed.enroll(byCode: FleetBed.code, new: other)) != .done
      }
    ),
    (
      Condition(.setting, on: .station),
      {
        let bed = $0
        try bed.enroll(other, bob)
        try bed.invite()
        bed.meanwhile(.setting) { _ = try bed.attempt(wrong, bob) }
        return try bed.enroll(byCode: FleetBed.code, new: other) == .done && bed.station() == 1
      }
    ),
  ]

  private static let administration: [Row] = [
    (
      Condition(.alteration, on: .record),
      {
        let bed = $0
        bed.meanwhile(.alteration) {
          bed.etcd.before = { _ in }
          try bed.enroll(other)
        }
        _ = try bed.fleet().disable(alice, true)
        _ = try bed.fleet().disable(alice, false)
        return try bed.attempt(other).isGranted
      }
    ),
    (
      Condition(.alteration, on: .busy),
      {
        let bed = $0
        try bed.fail(2)
        bed.meanwhile(.alteration) { bed.etcd.set(FleetKeys.busy(alice), [1]) }
        return try (try? bed.fleet().unlock(alice)) != true && bed.failures() == 2
      }
    ),
    (
      Condition(.declaration, on: .epoch),
      {
        let bed = $0
        try bed.raiseEpoch()
        bed.meanwhile(.declaration) { bed.etcd.set(FleetKeys.epoch, Bytes(text: "3")) }
        return try bed.fleet().declareEpoch() == 3
      }
    ),
  ]

  private static let rows = attempts + codes + administration

  @Test func `each condition of each transaction prevents a loss`() throws {
    var seen: Set<Condition> = []
    for (condition, holds) in Self.rows {
      let bed = try FleetBed()
      bed.etcd.alter = { transaction in
        guard let step = FleetStep(transaction) else { return transaction }
        for met in transaction.conditions { seen.insert(Condition(step, on: met.key)) }
        return transaction
      }
      #expect(try holds(bed), "\(condition)")
      let careless = try FleetBed()
      careless.etcd.alter = { transaction in
        guard FleetStep(transaction) == condition.step else { return transaction }
        var changed = transaction
        changed.conditions.removeAll { $0.key == condition.key }
        return changed
      }
      #expect(try !holds(careless), "nothing depends on \(condition)")
    }
    #expect(seen == Set(Self.rows.map { $0.0 }), "a condition without a row, or a row without a condition")
  }
}
