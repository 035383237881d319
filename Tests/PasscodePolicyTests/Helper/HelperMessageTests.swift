import Testing

@testable import PasscodePolicy

struct HelperMessageTests {
  private static let lengths: [HelperOperation: [HelperRequest.Lengths]] = [
    .look: [.init()], .status: [.init()],
    .verify: [.init(passcode: 4), .init(passcode: 6)],
    .prove: [.init(passcode: 4), .init(passcode: 6)],
    .change: [.init(passcode: 4, new: 6), .init(passcode: 6, new: 6)],
    .remove: [.init(passcode: 4), .init(password: 1), .init(password: 512)],
    .enroll: [.init(new: 4, password: 12)],
    .unlock: [.init(password: 12)],
    .pause: [.init()],
    .resume: [.init(password: 12)],
  ]

  private static let requests =
    HelperOperation.allCases.flatMap { operation in
      lengths[operation, default: []].map {
        HelperRequest(operation, uid: .max - 1, lengths: $0)
      }
    } + [
      HelperRequest(.verify, uid: 0, .init(wantsLogin: true), lengths: .init(passcode: 4), serviceLength: 32),
      HelperRequest(.look, uid: 1, .init(isSecondFactor: true), lengths: .init(), serviceLength: 1),
      HelperRequest(.look, uid: 1, .init(wantsLogin: true, isSecondFactor: true), lengths: .init()),
    ]

  private static let verdicts: [Verdict] = [
    .granted(), .granted(FailedAttempts(count: .max, time: .max, service: Bytes(text: "polkit-1"))),
    .disabled, .expired, .mustChange, .notEnrolled, .exhausted(failures: 10),
    .wrong(.open(attemptsLeft: 2), failures: 1), .wrong(.exhausted, failures: .max),
    .wrong(.locked(milliseconds: 60_000), failures: 3), .locked(milliseconds: 1, failures: 3),
    .notPermitted(.otherAccount), .notPermitted(.firstLogin), .notPermitted(.notAdministrators),
    .notPermitted(.workstation), .notPermitted(.paused), .notPermitted(.passwordDue),
    .notPermitted(.fingerNeeded),
    .unavailable(
      Fault(
        .unknownOption, path: Bytes(text: "/etc/security/passcode.conf"), name: Bytes(text: "x"), number: 3)),
    .unavailable(Fault(.noStore, path: Bytes(text: "/var/lib/passcode"))),
    .unavailable(Fault(.failed, inConfiguration: true, path: Bytes(text: "/a b"), error: 13)),
    .unavailable(Fault(.noMemoryToVerify, number: .max, error: 65_535)),
  ]

  @Test(arguments: requests)
  func `what is asked is read back`(request: HelperRequest) {
    #expect(request.head().count == HelperRequest.headLength)
    #expect(HelperRequest(head: request.head()) == request)
  }

  @Test(arguments: requests)
  func `a request is read to its end, and no byte of it is free`(request: HelperRequest) {
    let head = request.head()
    #expect(HelperRequest(head: Bytes(head.dropLast())) == nil)
    #expect(HelperRequest(head: head + [0]) == nil)
    for index in head.indices {
      for value in UInt8.min...UInt8.max where value != head[index] {
        var changed = head
        changed[index] = value
        if let other = HelperRequest(head: changed) { #expect(other != request && other.head() == changed) }
      }
    }
  }

  @Test func `no operation takes secrets that it doesn't ask for, or comes without those that it does`() {
    for operation in HelperOperation.allCases {
      for passcode in [0, 4, 6] {
        for new in [0, 4, 6] {
          for password in [0, 1] {
            let all = HelperRequest.Lengths(passcode: passcode, new: new, password: password)
            let isAsked = Self.lengths[operation, default: []].contains {
              ($0.passcode == 0) == (passcode == 0) && ($0.new == 0) == (new == 0)
                && ($0.password == 0) == (password == 0)
            }
            let request = HelperRequest(operation, uid: 1, lengths: all)
            #expect((HelperRequest(head: request.head()) != nil) == isAsked, "\(operation) \(all)")
          }
        }
      }
    }
  }

  @Test(arguments: [1, 2, 3, 5, 7, 8, 15])
  func `a passcode of another length is none`(length: Int) {
    let request = HelperRequest(.verify, uid: 1, lengths: .init(passcode: length))
    #expect(HelperRequest(head: request.head()) == nil)
  }

  @Test(arguments: verdicts)
  func `a verdict comes through as it is`(verdict: Verdict) {
    let reply = HelperReply(verdict: verdict)
    #expect(HelperReply(reply.bytes)?.verdict == verdict)
  }

  @Test(arguments: [
    (NotPermitted.otherAccount, HelperReply.Kind.notPermitted), (.remote, .notPermitted),
    (.firstLogin, .beforeLogin), (.notAdministrators, .notAdministrators), (.workstation, .stationLocked),
    (.paused, .paused), (.passwordDue, .passwordDue), (.fingerNeeded, .fingerNeeded),
  ])
  func `a refusal has the number of its kind`(reason: NotPermitted, kind: HelperReply.Kind) {
    #expect(HelperReply(verdict: .notPermitted(reason)).kind == kind)
    #expect(HelperReply(kind).verdict == .notPermitted(reason == .remote ? .otherAccount : reason))
  }

  @Test(arguments: verdicts)
  func `a reply that was cut is none, nor one with more behind it`(verdict: Verdict) {
    let bytes = HelperReply(verdict: verdict).bytes
    if verdict.hasText { return }
    for length in 0..<bytes.count { #expect(HelperReply(Bytes(bytes.prefix(length))) == nil) }
    #expect(HelperReply(bytes + [0x41]) == nil)
  }

  @Test func `nothing but one kind of reply is granted`() {
    for kind in UInt8.min...UInt8.max {
      var bytes = HelperReply(.granted).bytes
      bytes[1] = kind
      #expect((HelperReply(bytes)?.verdict?.isGranted ?? false) == (kind == 1))
    }
    // Its two numbers are used; the others are not.
    for index in 18..<HelperReply(.granted).bytes.count {
      var bytes = HelperReply(.granted).bytes
      bytes[index] = 1
      #expect(HelperReply(bytes) == nil)
    }
  }

  @Test(arguments: ["a b", "a\"", "é", "a\u{1b}[31m", String(repeating: "a", count: 33)])
  func `a service's name is one, or the reply is none`(service: String) {
    #expect(HelperReply(.granted, [3, 1], text: Bytes(text: service)).verdict == nil)
    let status = HelperStatus(.ok, isEnrolled: true).reply
    #expect(HelperStatus(status) != nil)
    #expect(HelperStatus(HelperReply(.status, [8], text: Bytes(text: service))) == nil)
  }

  @Test func `no number of a reply is beyond what can be computed with`() {
    for kind in [HelperReply.Kind.wrong, .wrongAndLocked, .locked, .exhausted] {
      #expect(HelperReply(kind, [.max, .max]).verdict == nil)
      #expect(HelperReply(kind, [1, Schedule.longestDelay * 1_000 + 1]).verdict == nil)
    }
  }

  @Test func `a path and a name are cut to what is shown, and lose what could end a log line`() throws {
    let long = Bytes(repeating: 0x41, count: 5_000)
    let fault = Fault(.damagedRecord, path: long, name: Bytes(text: "a\nb\u{7f}c\0d"))
    let told = try #require(HelperReply(HelperReply(fault: fault).bytes)?.fault)
    #expect(told.path == Bytes(long.prefix(129)) && text(told.name) == "abcd")
    #expect(sentence(told) == sentence(Fault(.damagedRecord, path: long, name: Bytes(text: "abcd"))))
    #expect(HelperReply(HelperReply(fault: fault).bytes + [10]) == nil)
  }

  @Test func `each reason comes through, and a note is none`() {
    // The numbers are the wire's: each stays what it is.
    #expect(Fault.Reason.allCases.map(\.rawValue) == Array(0..<74).filter { $0 != 28 })
    for reason in Fault.Reason.allCases {
      let fault = Fault(reason, path: Bytes(text: "/p"), name: Bytes(text: "n"), number: 1, error: 2)
      #expect(HelperReply(fault: fault).fault == (reason.isNote ? nil : fault))
    }
  }

  @Test func `a fault's text is read to its last digit, or it is no message`() {
    let fault = Fault(.noStore, path: Bytes(text: "/p"))
    let text = HelperReply(fault: fault).text
    #expect(HelperReply(.unavailable, [0], text: text).fault == fault)
    for length in 0..<26 { #expect(HelperReply(.unavailable, text: Bytes(text.prefix(length))).fault == nil) }
    for index in 0..<24 {
      for byte in UInt8(0x20)...0x7e where byte != text[index] {
        var changed = text
        changed[index] = byte
        guard let told = HelperReply(.unavailable, text: changed).fault else { continue }
        #expect(told != fault && HelperReply(fault: told).text == changed)
      }
    }
    let long = Bytes(repeating: 0x41, count: 130)
    #expect(HelperReply(.unavailable, text: text + long).fault == nil)
    #expect(HelperReply(.unavailable, [2], text: text).fault == nil)
    // What lies in the configuration says so.
    let option = HelperReply(fault: Fault(.badValue, name: Bytes(text: "weak")))
    #expect(option.number(0) == 1 && HelperReply(.unavailable, [0], text: option.text).fault == nil)
    // Of an older helper: a sentence.
    #expect(
      HelperReply(.unavailable, text: Bytes(text: "/var/lib/passcode: no such directory")).verdict == nil)
  }

  /// What a module or a tool of an older version makes of a reply: one number, and a text that is one printable line.
  @Test(arguments: Fault.Reason.allCases.filter { !$0.isNote })
  func `what was loaded before an upgrade is told unavailable, too`(reason: Fault.Reason) {
    let bytes = HelperReply(fault: Fault(reason, path: Bytes(text: "/p"), name: Bytes(text: "n"))).bytes
    #expect(bytes[1] == 11 && bytes[2] == (reason.isConfiguration ? 1 : 0))
    #expect(bytes[3..<42].allSatisfy { $0 == 0 } && bytes.count <= 42 + 1_024)
    #expect(bytes[42...].allSatisfy { (0x20...0x7e).contains($0) })
  }

  /// Its reader knows the kinds up to 23: these are no reply to it, and that is unavailable.
  @Test func `what was loaded before there were terms takes them for no reply`() {
    var status = HelperStatus(.ok, isEnrolled: true)
    #expect(status.reply.bytes[1] == 17)
    status.mustChange = true
    let replies = [HelperReply(verdict: .expired), HelperReply(verdict: .mustChange), status.reply]
    #expect(replies.map { $0.bytes[1] } == [24, 25, 26])
  }

  @Test func `a refusal comes through as it is, and has a number that an older tool takes for no reply`() {
    let refusals = [Choice.Refusal.length] + Weakness.allCases.map { .weak($0) }
    for (index, refusal) in refusals.enumerated() {
      let reply = HelperReply(refusal: refusal)
      // A number never gets another meaning.
      #expect(HelperReply(reply.bytes)?.refusal == refusal && reply.number(0) == UInt64(index + 1))
    }
    let beyond = UInt64(refusals.count) + 1
    #expect([0, beyond, 256, 257, .max].allSatisfy { HelperReply(.refused, [$0]).refusal == nil })
    #expect(HelperReply(.done, [1]).refusal == nil)
    #expect(HelperReply(refusal: .weak(.oldContained)).number(0) == 28)
  }

  @Test func `a status comes through as it is`() {
    for state in [
      HelperStatus.State.ok, .locked, .exhausted, .disabled, .corrupt, .expired, .mustChange, .paused,
    ] {
      for length in [nil, 4, 6] {
        var status = HelperStatus(state, isEnrolled: length != nil)
        status.length = length
        status.failures = 3
        status.milliseconds = 59_999
        status.enrolledAt = 1_767_225_600
        status.lastFailure = 1_767_225_601
        status.failureService = Bytes(text: "sudo")
        status.isFingerOff = length == 6
        #expect(HelperReply(status.reply.bytes).flatMap { HelperStatus($0) } == status)
        #expect((status.reply.kind == .status) == (state.rawValue < 5 && !status.isFingerOff))
        status.expiresAt = 1_767_225_602
        status.mustChange = state != .ok
        #expect(HelperReply(status.reply.bytes).flatMap { HelperStatus($0) } == status)
        #expect(status.reply.kind == .statusWithTerms)
      }
    }
    #expect(HelperStatus(HelperReply(.done)) == nil)
    #expect(HelperStatus(HelperReply(.status, [5])) == nil)
    for flag in [128, 256] as [UInt64] { #expect(HelperStatus(HelperReply(.status, [flag])) == nil) }
    for state in 5...7 as ClosedRange<UInt64> { #expect(HelperStatus(HelperReply(.status, [state])) == nil) }
    // What a `status` can say is said by one.
    #expect(HelperStatus(HelperReply(.statusWithTerms, [8])) == nil)
    #expect(HelperStatus(HelperReply(.statusWithTerms, [512, 0, 0, 0, 0, 0, 1])) == nil)
  }
}

extension Verdict {
  fileprivate var hasText: Bool {
    switch self {
    case .unavailable, .granted: true
    default: false
    }
  }
}
