public import PasscodePolicy

// What a workstation sends to a verifier, and what comes back, version 1.
//
// A request is the helper's (`HelperRequest`), with the account's name before it, because an account may have another uid
// on each machine:
//
//     offset 0    version       1 byte    2: neither a helper's request nor a relay's head
//     offset 1    length        1 byte    of the name: 1 to 255
//     offset 2    the account's name: `Record.canKeep`
//     then        a HelperRequest, whose uid is `FleetRecord.uid`, and which has no password
//
// What sets a passcode is proven by the old one (`change`), or by the account's one-time code (`enrollByCode`), which is
// in the passcode's place. The rules for codes are in KeptCode.swift.
//
// No end of the stream follows it: TLS programs don't all pass on that a stream is half closed. Its head says how long
// it is. The relay, which stunnel starts, puts before it who asks:
//
//     offset 0    version       1 byte    3
//     offset 1    length        2 bytes   of the name: 1 to 1,024, little-endian
//     offset 3    the distinguished name in the client's certificate, as stunnel gives it
//
// A reply:
//
//     zeros       one each second or so: the verifier is at work. Until it has begun, the relay sends them, for 20 s
//     then        a HelperReply
//     then        1 byte    4: the end. A reply that was cut has none, since no text has a control character
//                           5: the end of an `unavailable`, where the verifier has charged no code of the request: no charge
//                           of it was sent, or none that was can arrive any more. Only the verifier says this
//
// After an `openWaiting` reply the verifier waits 30 s for the attempt on the same account: a whole request again. Once it has the
// name, it answers with a zero. Before that a workstation sends nothing more; without it, it connects again, and no part of
// a code was sent. After `openEnding`, and after any other reply, the stream ends.
//
// - A workstation MUST give up when nothing has come for 5 s, and after 130 s.
// - What isn't one whole reply MUST be a refusal.                                     FleetTests, FuzzFleet

public enum FleetRequest {
  public static let version: UInt8 = 2
  public static let relayVersion: UInt8 = 3
  public static let longestName = 1_024

  /// What precedes the HelperRequest.
  public static func head(account: Bytes) -> Bytes {
    [version, UInt8(truncatingIfNeeded: account.count)] + account
  }

  /// What a verifier answers: nothing that a password proves, since no verifier can check one.
  public static func allows(_ request: HelperRequest) -> Bool {
    guard request.uid == FleetRecord.uid, request.lengths.password == 0, !request.conditions.wantsLogin else {
      return false
    }
    switch request.operation {
    case .look, .verify, .prove, .status, .change, .enrollByCode: return true
    case .remove, .enroll, .unlock, .pause, .resume: return false
    }
  }

  /// What the relay sends first; nil: no name that a list could have.
  public static func relayHead(_ name: Bytes) -> Bytes? {
    guard isName(name) else { return nil }
    return [relayVersion] + littleEndian(UInt64(name.count), 2) + name
  }

  public static func isName(_ name: Bytes) -> Bool {
    (1...longestName).contains(name.count) && !name.contains(where: isControl)
  }
}

// How a verifier reads what is drawn above. The passcodes follow, which only guarded memory may hold.
//
// `next` takes so many bytes of what comes; nil: there are no more. Each part is bounded before it is taken, and each
// function gives nil unless it is well-formed and complete.                                                      FuzzFleet

extension FleetRequest {
  /// What the relay says first: who asks.
  public static func readName(_ next: (Int) -> Bytes?) -> Bytes? {
    guard let head = next(3), head[0] == relayVersion,
      let name = next(min(Int(littleEndianNumber(head, 1, 2)), longestName + 1)), isName(name)
    else { return nil }
    return name
  }

  /// Reads the name of the account that the request is about.
  public static func readAccount(_ next: (Int) -> Bytes?) -> Bytes? {
    guard let start = next(2), start[0] == version, start[1] > 0, let account = next(Int(start[1])),
      Record.canKeep(name: account)
    else { return nil }
    return account
  }

  /// What is asked, and for which service.
  public static func readHead(_ next: (Int) -> Bytes?) -> (head: HelperRequest, service: Bytes)? {
    guard let bytes = next(HelperRequest.headLength), let head = HelperRequest(head: bytes), allows(head),
      let service = next(head.serviceLength), Record.serviceName(service) == service
    else { return nil }
    return (head, service)
  }
}

public enum FleetReply {
  public static let atWork: UInt8 = 0
  public static let end: UInt8 = 4
  public static let endUncharged: UInt8 = 5
  /// Bytes of a whole reply, with the signs of work of 130 s and room to spare.
  public static let longest = HelperReply.longest + 1 + 1_024

  /// - Parameter isUncharged: whether no code of the request is charged, or will be.
  public static func encoded(_ reply: HelperReply, isUncharged: Bool = false) -> Bytes {
    reply.bytes + [isUncharged && reply.kind == .unavailable ? endUncharged : end]
  }

  /// Whether these bytes are a reply after which the stream stays open, for an attempt.
  public static func isWaiting(_ bytes: Bytes) -> Bool { decoded(bytes)?.kind == .openWaiting }

  /// The reply in all that came; nil unless it is well-formed and complete.
  public static func decoded(_ bytes: Bytes) -> HelperReply? {
    guard let last = bytes.last, let reply = HelperReply(Bytes(bytes.drop { $0 == atWork }.dropLast())),
      last == end || last == endUncharged && reply.kind == .unavailable
    else { return nil }
    return reply
  }

  /// Whether these bytes are a reply that says so.
  public static func isUncharged(_ bytes: Bytes) -> Bool {
    bytes.last == endUncharged && decoded(bytes) != nil
  }
}
