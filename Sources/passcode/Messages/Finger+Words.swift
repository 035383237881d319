internal import PasscodePolicy
internal import PasscodeStacks
internal import PasscodeSystem

// What `status` and the menu say of the fingerprint reader.

extension FingerReport {
  /// A line of `status`; it may have to be wrapped.
  var text: Text { "Fingerprint: \(summary)\(offer)" }

  /// Which finger, or why none.
  var summary: Text {
    switch state {
    case .enrolled(let fingers): Text(fingers.text)
    case .waiting(let fingers): "\(fingers.text), off while the passcode can't be used"
    case .inactive(let fingers):
      "\(fingers.text), not offered: systemctl enable --now passcode-finger.socket"
    case .off: "off after 5 touches: use your passcode"
    case .notInstalled: "package missing: apt install passcode-finger"
    case .unusable: "\(printable(Installed.finger)) can't be used: apt reinstall passcode-finger"
    case .ended(let end): end.text
    }
  }

  private var offer: Text {
    guard case .enrolled = state else { return "" }
    return offering.isEmpty
      ? ", not offered: no PAM service has finger=yes" : ", offered in \(PAMReport.services(offering))"
  }
}

extension FingerEnd {
  /// Why there is no list of fingers.
  fileprivate var text: Text {
    switch self {
    case .noService: "no answer from fprintd"
    case .noReader: "no reader"
    case .inUse: "reader in use"
    case .denied, .noSession: "not known: fprintd answers only in an active session at this machine"
    case .notEnrolled: "no finger enrolled: fprintd-enroll"
    case .off: "off after 5 touches: use your passcode"
    case .slow, .time: "fprintd took too long"
    case .gone: "the reader has gone"
    case .tries, .failed: "fprintd gave no sensible answer"
    }
  }
}
