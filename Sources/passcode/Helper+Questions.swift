internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// What people ask about their own passcode, each with the secrets that its row in `HelperOperation` wants.
extension Helper {
  static func status(
    of uid: UInt32, by program: Installed.Program = .helper
  ) throws(Fault) -> HelperReply {
    var waiting: HelperProcess?
    let request = HelperRequest(.status, uid: uid, lengths: HelperRequest.Lengths())
    return try finish(begin(request.head(), &waiting, program), program)
  }

  static func enroll(
    _ uid: UInt32, _ new: borrowing NewPasscode, by password: borrowing Password
  ) throws(Fault) -> HelperReply {
    let helper = try begin(
      .enroll, uid, HelperRequest.Lengths(new: new.passcode.count, password: password.line.count))
    helper.send(new.passcode)
    helper.send(password)
    return try finish(helper, patience: patienceForPassword)
  }

  /// Sets a passcode of a fleet's account by a one-time code.
  static func enroll(
    _ uid: UInt32, _ new: borrowing NewPasscode, byCode code: borrowing Passcode
  ) throws(Fault) -> HelperReply {
    let helper = try begin(
      .enrollByCode, uid, HelperRequest.Lengths(passcode: code.count, new: new.passcode.count))
    helper.send(code)
    helper.send(new.passcode)
    return try finish(helper)
  }

  static func change(_ uid: UInt32, _ change: borrowing PasscodeChange) throws(Fault) -> HelperReply {
    let helper = try begin(
      .change, uid,
      HelperRequest.Lengths(passcode: change.old.passcode.count, new: change.new.passcode.count))
    helper.send(change.old.passcode)
    helper.send(change.new.passcode)
    return try finish(helper)
  }

  static func remove(_ uid: UInt32, by passcode: borrowing Passcode) throws(Fault) -> HelperReply {
    let helper = try begin(.remove, uid, HelperRequest.Lengths(passcode: passcode.count))
    helper.send(passcode)
    return try finish(helper)
  }

  static func pause(_ uid: UInt32) throws(Fault) -> HelperReply {
    try finish(begin(.pause, uid, HelperRequest.Lengths()))
  }

  private static func begin(
    _ operation: HelperOperation, _ uid: UInt32, _ lengths: HelperRequest.Lengths
  ) throws(Fault) -> HelperProcess {
    var waiting: HelperProcess?
    return try begin(HelperRequest(operation, uid: uid, lengths: lengths).head(), &waiting, .helper)
  }

  private static func finish(
    _ helper: consuming HelperProcess, _ program: Installed.Program = .helper, patience: UInt64 = 10_000
  ) throws(Fault) -> HelperReply {
    helper.endRequests()
    var waiting: HelperProcess?
    return try finish(helper, &waiting, program, patience: patience)
  }
}
