import PasscodePolicy
import PasscodeSystem

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// Something that is done to alice's passcode in a fleet, and what came of it.
struct FleetAct: Sendable, CustomStringConvertible {
  enum Kind: Sendable {
    case attempt, code, enroll, unlock, disable, enable, remove, invite, withdraw
  }

  enum Answer: Equatable {
    case verdict(Verdict)
    case code(CodeOutcome)
    case done
    case failed(Fault.Reason)
  }

  let kind: Kind
  var code = ""
  var new = "8264"
  var workstation = "ws1"

  static let right = FleetAct(kind: .attempt, code: TestBed.right)
  static func wrong(_ number: Int = 5, at workstation: String = "ws2") -> FleetAct {
    FleetAct(kind: .attempt, code: TestBed.wrong[number], workstation: workstation)
  }
  static func byCode(_ code: String = FleetBed.code) -> FleetAct { FleetAct(kind: .code, code: code) }

  var description: String { "\(kind) \(code) at \(workstation)" }

  func carryOut(_ bed: FleetBed) -> Answer {
    do {
      let fleet = try bed.fleet()
      switch kind {
      case .attempt: return .verdict(try bed.attempt(code, at: workstation))
      case .code: return .code(try bed.enroll(byCode: code, new: new, at: workstation))
      case .enroll: try bed.enroll(new)
      case .unlock: _ = try fleet.unlock(FleetBed.alice)
      case .disable: _ = try fleet.disable(FleetBed.alice, true)
      case .enable: _ = try fleet.disable(FleetBed.alice, false)
      case .remove: _ = try fleet.remove(FleetBed.alice)
      case .invite: try bed.invite()
      case .withdraw: _ = try fleet.withdraw(FleetBed.alice)
      }
      return .done
    } catch let fault as Fault {
      return .failed(fault.reason)
    } catch EnrolmentError.fault(let fault) {
      return .failed(fault.reason)
    } catch {
      return .failed(.failed)
    }
  }
}
