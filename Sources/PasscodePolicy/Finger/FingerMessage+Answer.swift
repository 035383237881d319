// The side of passcode-finger.

extension FingerRequest {
  /// nil unless the input is well-formed and complete.
  public init?(_ bytes: Bytes) {
    guard bytes.count == FingerRequest.length, bytes[0] == 2, let operation = Operation(rawValue: bytes[1])
    else { return nil }
    let place: Place
    switch (bytes[2], bytes[3]) {
    case (1, 0): place = .session
    case (0, let code): place = .terminal(Terminal(code: code))
    case (_, _): return nil
    }
    self.init(operation, uid: UInt32(littleEndianNumber(bytes, 4, 4)), at: place)
  }

  /// A question that anyone may ask about themselves.
  public func isOwnList(_ uid: UInt32) -> Bool {
    operation == .list && self.uid == uid
  }
}

extension FingerRequest.Terminal {
  public var isConsole: Bool { 1...63 ~= code }
}

extension FingerEnd {
  /// What the log says: `finger=WORD`.
  public var word: Bytes { FingerOutcome(self).word }

  /// Whether the reader may be there again later, for the same account.
  public var mayPass: Bool {
    switch self {
    case .noService, .noReader, .inUse, .slow, .gone, .time, .noSession: true
    case .denied, .notEnrolled, .off, .tries, .failed, .noTouch, .printsChanged: false
    }
  }
}

extension FingerEvent {
  public var bytes: Bytes {
    switch self {
    case .starting: FingerEvent.bytes(.starting)
    case .watching: FingerEvent.bytes(.watching)
    case .noMatch: FingerEvent.bytes(.noMatch)
    case .matched(let serial, let time): FingerEvent.bytes(.matched, serial: serial, time: time)
    case .ended(let end): FingerEvent.bytes(.ended, detail: UInt16(end.rawValue))
    case .listed(let fingers): FingerEvent.bytes(.listed, detail: fingers.bits)
    case .present: FingerEvent.bytes(.present)
    }
  }

  private static func bytes(_ kind: Kind, detail: UInt16 = 0, serial: UInt32 = 0, time: UInt64 = 0) -> Bytes {
    [1, kind.rawValue] + littleEndian(UInt64(detail), 2) + littleEndian(UInt64(serial), 4)
      + littleEndian(time, 8)
  }
}
