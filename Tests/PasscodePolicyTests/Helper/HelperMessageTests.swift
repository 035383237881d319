import Testing

@testable import PasscodePolicy

struct HelperMessageTests {
  private static let lengths: [HelperOperation: [HelperRequest.Lengths]] = [
    .look: [.init()], .status: [.init()],
    .verify: [.init(passcode: 4), .init(passcode: 6)],
    .change: [.init(passcode: 4, new: 6), .init(passcode: 6, new: 6)],
    .remove: [.init(passcode: 4), .init(password: 1), .init(password: 512)],
    .enroll: [.init(new: 4, password: 12)],
    .unlock: [.init(password: 12)],
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
    .disabled, .notEnrolled, .exhausted(failures: 10),
    .wrong(.open(attemptsLeft: 2), failures: 1), .wrong(.exhausted, failures: .max),
    .wrong(.locked(milliseconds: 60_000), failures: 3), .locked(milliseconds: 1, failures: 3),
    .notPermitted(.otherAccount), .notPermitted(.firstLogin), .notPermitted(.notAdministrators),
    .unavailable(Fault(.configuration, "/etc/security/passcode.conf:3: unknown option")),
    .unavailable(Fault(.helper, "/var/lib/passcode: no such directory")),
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
    let status = HelperStatus(.ok, isEnrolled: true, length: 4, failures: 0, milliseconds: 0).reply
    #expect(HelperStatus(status) != nil)
    #expect(HelperStatus(HelperReply(.status, [8], text: Bytes(text: service))) == nil)
  }

  @Test func `no number of a reply is beyond what can be computed with`() {
    for kind in [HelperReply.Kind.wrong, .wrongAndLocked, .locked, .exhausted] {
      #expect(HelperReply(kind, [.max, .max]).verdict == nil)
      #expect(HelperReply(kind, [1, Schedule.longestDelay * 1_000 + 1]).verdict == nil)
    }
  }

  @Test func `a text is cut, and loses what could end a log line`() {
    let long = Fault(.store, Text(Bytes(repeating: 0x41, count: 5_000)))
    #expect(HelperReply(fault: long).text.count == HelperReply.longestText)
    #expect(text(HelperReply(.refused, text: Bytes(text: "a\nb\u{7f}c\0d")).text) == "abcd")
    #expect(HelperReply(HelperReply(.unavailable).bytes + [10]) == nil)
  }

  @Test func `a status comes through as it is`() {
    for state in [HelperStatus.State.ok, .locked, .exhausted, .disabled, .corrupt] {
      for length in [nil, 4, 6] {
        var status = HelperStatus(
          state, isEnrolled: length != nil, length: length, failures: 3, milliseconds: 59_999)
        status.enrolledAt = 1_767_225_600
        status.lastFailure = 1_767_225_601
        status.failureService = Bytes(text: "sudo")
        #expect(HelperReply(status.reply.bytes).flatMap { HelperStatus($0) } == status)
      }
    }
    #expect(HelperStatus(HelperReply(.done)) == nil)
    #expect(HelperStatus(HelperReply(.status, [5])) == nil)
    #expect(HelperStatus(HelperReply(.status, [128])) == nil)
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
