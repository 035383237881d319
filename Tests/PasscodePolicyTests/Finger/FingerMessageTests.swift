import Testing

@testable import PasscodePolicy

struct FingerMessageTests {
  private static let events: [FingerEvent] =
    [
      .starting, .watching, .noMatch, .present, .matched(serial: 0, milliseconds: 0),
      .matched(serial: .max, milliseconds: .max),
    ]
    + FingerEnd.allCases.map { .ended($0) }
    + (0..<1024).compactMap { Fingers(bits: $0) }.map { .listed($0) }

  private static let places: [FingerRequest.Place] =
    [.session] + (0...UInt8.max).map { .terminal(FingerRequest.Terminal(code: $0)) }

  @Test func noTwoPlacesAreTheSameBytes() {
    #expect(Set(Self.places.map { FingerRequest(.watch, uid: 0, at: $0).bytes }).count == Self.places.count)
    for (person, terminal) in [(1, 1), (1, 255), (2, 0), (2, 1)] as [(UInt8, UInt8)] {
      #expect(FingerRequest([2, 1, person, terminal, 0, 0, 0, 0]) == nil)
    }
  }

  @Test(arguments: FingerRequest.Operation.allCases)
  func aRequestComesBackAsItWas(_ operation: FingerRequest.Operation) {
    for uid in [0, 1_000, UInt32.max] {
      for place in Self.places {
        let request = FingerRequest(operation, uid: uid, at: place)
        #expect(request.bytes.count == FingerRequest.length)
        #expect(FingerRequest(request.bytes) == request)
      }
    }
  }

  @Test func anEventComesBackAsItWas() {
    for event in Self.events {
      #expect(event.bytes.count == FingerEvent.length)
      #expect(FingerEvent(event.bytes) == event)
    }
  }

  @Test func noTwoEventsAreTheSameBytes() {
    #expect(Set(Self.events.map(\.bytes)).count == Self.events.count)
  }

  /// What decodes must encode to the same bytes: nothing that a byte says is dropped.
  @Test func everyByteCounts() {
    for message in [FingerRequest(.watch, uid: 1_000).bytes, FingerRequest(.list, uid: 0).bytes] {
      for changed in changes(of: message) where FingerRequest(changed)?.bytes != changed {
        #expect(FingerRequest(changed) == nil)
      }
    }
    for event in Self.events.prefix(9) {
      for changed in changes(of: event.bytes) where FingerEvent(changed)?.bytes != changed {
        #expect(FingerEvent(changed) == nil)
      }
    }
  }

  @Test func whatAKindDoesNotUseMustBeZero() {
    for index in 2..<FingerEvent.length {
      var bytes = FingerEvent.watching.bytes
      bytes[index] = 1
      #expect(FingerEvent(bytes) == nil)
    }
    for index in [3, 4, 7, 8, 15] {
      var bytes = FingerEvent.ended(.off).bytes
      bytes[index] = 1
      #expect(FingerEvent(bytes) == nil)
    }
    // Of a person's program: there is no terminal.
    for (index, value) in [(2, 2), (2, 255), (3, 1), (3, 64), (3, 255)] as [(Int, UInt8)] {
      var bytes = FingerRequest(.watch, uid: 7, at: .session).bytes
      bytes[index] = value
      #expect(FingerRequest(bytes) == nil)
    }
  }

  @Test func anotherLengthVersionOrKindIsNone() {
    #expect(FingerEvent([]) == nil)
    #expect(FingerEvent(Bytes(FingerEvent.watching.bytes.dropLast())) == nil)
    #expect(FingerEvent(FingerEvent.watching.bytes + [0]) == nil)
    #expect(FingerEvent([2] + FingerEvent.watching.bytes.dropFirst()) == nil)
    for kind in [0, 8, 255] as Bytes {
      #expect(FingerEvent([1, kind] + Bytes(repeating: 0, count: 14)) == nil)
    }
    for end in [0, 15, 255] as Bytes {
      #expect(FingerEvent([1, 5, end] + Bytes(repeating: 0, count: 13)) == nil)
    }
    #expect(FingerEvent([1, 6, 0, 4] + Bytes(repeating: 0, count: 12)) == nil, "an eleventh finger")
    for operation in [0, 4, 255] as Bytes { #expect(FingerRequest([1, operation, 0, 0, 0, 0, 0, 0]) == nil) }
    #expect(FingerRequest(FingerRequest(.watch, uid: 0).bytes + [0]) == nil)
  }

  @Test func onlyOnesOwnListIsForAnyone() {
    for operation in FingerRequest.Operation.allCases {
      let request = FingerRequest(operation, uid: 1_000)
      #expect(request.isOwnList(1_000) == (operation == .list) && !request.isOwnList(1_001))
    }
  }

  @Test func fingersAreNamedAsFprintdNamesThem() {
    let names = ["right-index-finger", "left-thumb"].map { Bytes(text: $0) }
    let fingers = Fingers(named: names)
    #expect(fingers?.bits == 0b100_0001)
    #expect(fingers?.names == names.reversed())
    #expect(Fingers(named: [])?.isEmpty == true)
    for wrong in ["any", "", "right-index-finge", "right-index-finger "] {
      #expect(Fingers(named: [Bytes(text: wrong)]) == nil)
    }
  }

  @Test func everyEndHasAWordOfItsOwn() {
    #expect(Set(FingerEnd.allCases.map(\.word)).count == FingerEnd.allCases.count)
    for end in FingerEnd.allCases { #expect("\(end)" == "\(FingerOutcome(end))") }
  }

  /// Each bit of each byte, flipped.
  private func changes(of message: Bytes) -> [Bytes] {
    message.indices.flatMap { index in
      (0..<8).map { bit in
        var changed = message
        changed[index] ^= 1 << bit
        return changed
      }
    }
  }
}
