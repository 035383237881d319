import Testing

@testable import PasscodePolicy

struct FingerTranscriptTests {
  private static let match = FingerEvent.matched(serial: 7, milliseconds: 1_000)

  private static let listed = Fingers(named: []).map { FingerEvent.listed($0) } ?? .noMatch

  private static let sound: [([FingerEvent], FingerTranscript.State, Int)] = [
    ([], .silent, 0),
    ([.starting], .starting, 0),
    ([.ended(.noReader)], .ended(.noReader), 0),
    ([.starting, .ended(.noService)], .ended(.noService), 0),
    ([.watching], .watching, 0),
    ([.starting, .watching, .noMatch], .watching, 1),
    ([.watching, match], .matched(serial: 7, milliseconds: 1_000), 0),
    ([.watching, .noMatch, .noMatch, match], .matched(serial: 7, milliseconds: 1_000), 2),
    ([.starting, .watching, .noMatch, .noMatch, .noMatch, .ended(.tries)], .ended(.tries), 3),
    ([.watching, .noMatch, .ended(.off)], .ended(.off), 1),
    ([.watching, .ended(.time)], .ended(.time), 0),
    ([.watching, .noMatch, .ended(.noTouch)], .ended(.noTouch), 1),
  ]

  private static let unsound: [[FingerEvent]] = [
    [.noMatch], [match], [.starting, match], [.starting, .starting], [.starting, .noMatch],
    [.watching, .watching], [.watching, .starting],
    [.watching, .noMatch, .noMatch, .noMatch, match],
    [.watching, .noMatch, .noMatch, .noMatch, .noMatch],
    [.watching, match, match], [.watching, match, .ended(.time)], [.watching, match, .noMatch],
    [.ended(.time), .watching], [.ended(.time), match], [.ended(.time), .ended(.time)],
    [listed], [.watching, listed], [.present], [.watching, .present],
  ]

  @Test func whatComesInTurnIsRead() {
    for (events, state, misses) in Self.sound {
      let transcript = FingerTranscript(events.flatMap(\.bytes))
      #expect(transcript?.state == state)
      #expect(transcript?.misses == misses)
    }
  }

  @Test func whatComesOutOfTurnIsNoTranscript() {
    for events in Self.unsound {
      #expect(FingerTranscript(events.flatMap(\.bytes)) == nil, "\(events)")
    }
  }

  @Test func aPartOfAnEventIsNoTranscript() {
    let bytes = [FingerEvent.watching, Self.match].flatMap(\.bytes)
    for count in 0..<bytes.count where count % FingerEvent.length != 0 {
      #expect(FingerTranscript(Bytes(bytes.prefix(count))) == nil)
    }
  }

  @Test func noTranscriptIsLongerThanItSays() {
    let longest = Self.sound.map(\.0.count).max()
    #expect(longest == FingerTranscript.mostEvents)
  }

  @Test(
    arguments: [
      (1_000, 7), (1_001, 7), (11_000, 7), (11_001, nil), (999, nil), (0, nil), (.max, nil),
    ] as [(UInt64, UInt32?)])
  func aMatchIsWorthSomethingForTenSeconds(_ now: UInt64, _ serial: UInt32?) {
    let transcript = FingerTranscript([FingerEvent.watching, Self.match].flatMap(\.bytes))
    #expect(transcript?.freshMatch(now: now) == serial)
  }

  @Test func withoutAMatchThereIsNone() {
    for (events, state, _) in Self.sound {
      if case .matched = state { continue }
      #expect(FingerTranscript(events.flatMap(\.bytes))?.freshMatch(now: 1_000) == nil)
    }
  }

  @Test func `the end of the connection is no match, and takes none away`() {
    for (events, end) in [
      ([], .failed), ([.starting], .gone), ([.watching], .gone), ([.watching, .noMatch], .gone),
      ([.watching, .ended(.tries)], .tries),
    ] as [([FingerEvent], FingerEnd)] {
      var transcript = FingerTranscript()
      for event in events { _ = transcript.take(event) }
      transcript.lose()
      #expect(transcript.state == .ended(end) && transcript.freshMatch(now: 0) == nil)
    }
    var matched = FingerTranscript()
    _ = matched.take(.watching)
    _ = matched.take(.matched(serial: 7, milliseconds: 1))
    matched.lose()
    #expect(matched.freshMatch(now: 1) == 7)
  }

  /// The match is of 1,000; the prompt may have begun at most 30 s before it, and not after it.
  @Test(
    arguments: [(1_000, true), (0, true), (1_001, false), (30_000, false), (.max, false)] as [(UInt64, Bool)])
  func `a match from before the prompt is none`(_ begin: UInt64, _ isOne: Bool) {
    var transcript = FingerTranscript([FingerEvent.watching, Self.match].flatMap(\.bytes))
    transcript?.limit(toPromptFrom: begin, isForPerson: true)
    #expect((transcript?.freshMatch(now: 1_000) == 7) == isOne)
    #expect(isOne || transcript?.state == .ended(.time))
  }

  @Test(arguments: [(30_000, true), (30_001, false)] as [(UInt64, Bool)])
  func `a match from after the prompt's time is none`(_ age: UInt64, _ isOne: Bool) {
    let late = FingerEvent.matched(serial: 7, milliseconds: 5_000 + age)
    var transcript = FingerTranscript([FingerEvent.watching, late].flatMap(\.bytes))
    var onScreen = transcript
    transcript?.limit(toPromptFrom: 5_000, isForPerson: true)
    #expect((transcript?.freshMatch(now: 5_000 + age) == 7) == isOne)
    // A login screen has no such time, and no match from before it.
    onScreen?.limit(toPromptFrom: 5_000, isForPerson: false)
    #expect(onScreen?.freshMatch(now: 5_000 + age) == 7)
    onScreen?.limit(toPromptFrom: 5_001 + age, isForPerson: false)
    #expect(onScreen?.state == .ended(.time))
  }
}
