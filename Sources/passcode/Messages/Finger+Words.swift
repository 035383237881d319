internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeTool

// What `status` and the menu say of the fingerprint reader.

extension FingerReport {
  /// The line of `status` about the reader, which may have to be wrapped.
  var text: Phrase {
    guard case .enrolled(let fingers) = state else { return "Fingerprint: \(summary)" }
    return offering.isEmpty
      ? "Fingerprint: \(fingers.phrase), not offered: no PAM service has finger=yes"
      : "Fingerprint: \(fingers.phrase), offered in \(PAMReport.services(offering))"
  }

  /// The enrolled fingers, or why there are none.
  var summary: Phrase {
    switch state {
    case .enrolled(let fingers): fingers.phrase
    case .waiting(let fingers): "\(fingers.phrase), off while the passcode can't be used"
    case .inactive(let fingers):
      "\(fingers.phrase), not offered: systemctl enable --now passcode-finger.socket"
    case .off: "off after 5 failed touches, until you log in without it"
    case .notInstalled: "package missing: apt install passcode-finger"
    case .unusable: "\(printable(Installed.finger)) can't be used: apt reinstall passcode-finger"
    case .ended(let end): end.text
    }
  }
}

extension FingerEnd {
  /// Why there is no list of fingers.
  fileprivate var text: Phrase {
    switch self {
    case .noService: "no answer from fprintd"
    case .noReader: "no reader"
    case .denied, .noSession: "not known: fprintd answers only in an active session at this machine"
    case .notEnrolled: "no fingerprint enrolled: fprintd-enroll"
    case .off: "off after 5 failed touches, until you log in without it"
    case .slow, .time: "fprintd took too long"
    case .gone: "the reader was disconnected"
    case .inUse, .tries, .noTouch, .failed, .printsChanged: "fprintd gave no sensible answer"
    }
  }
}

extension Fingers {
  /// "right index finger, left thumb"
  fileprivate var phrase: Phrase {
    var list: Text = ""
    for index in 0..<10 where bits & 1 << UInt16(index) != 0 {
      list += "\(list.bytes.isEmpty ? "" : ", " as Text)\(Fingers.name(index))"
    }
    return Phrase(list)
  }

  /// The name of a finger, by its index in fprintd's order.
  private static func name(_ index: Int) -> Phrase {
    switch index {
    case 0: "left thumb"
    case 1: "left index finger"
    case 2: "left middle finger"
    case 3: "left ring finger"
    case 4: "left little finger"
    case 5: "right thumb"
    case 6: "right index finger"
    case 7: "right middle finger"
    case 8: "right ring finger"
    default: "right little finger"
    }
  }
}
