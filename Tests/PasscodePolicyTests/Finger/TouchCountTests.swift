import Testing

@testable import PasscodePolicy

struct TouchCountTests {
  @Test func afterFiveTouchesNoneCanBeCharged() {
    var count = TouchCount()
    for touches in 1...TouchCount.limit {
      #expect(!count.isOff)
      guard let charged = count.charged() else {
        Issue.record("touch \(touches) can't be charged")
        return
      }
      #expect(charged.touches == touches)
      #expect(charged.serial == count.serial + 1)
      count = charged
    }
    #expect(count.isOff)
    #expect(count.charged() == nil)
    #expect(count.cleared().charged()?.touches == 1)
  }

  /// A match must be used with the serial that its own charge left.
  @Test func everyWriteChangesTheSerial() {
    let charged = TouchCount().charged()
    let cleared = charged?.cleared()
    let again = cleared?.charged()
    let serials = [TouchCount(), charged, cleared, again].compactMap { $0?.serial }
    #expect(serials == [0, 1, 2, 3])
    let last = TouchCount([1, 2, 0, 0, 255, 255, 255, 255])
    #expect(last?.charged()?.serial == 0)
    #expect(last?.cleared().serial == 0)
  }

  /// A touch that nobody made: the count is as before, the serial never is.
  @Test func aTouchIsTakenBack() {
    let charged = TouchCount().charged()?.charged()
    #expect(charged?.takenBack().touches == 1 && charged?.takenBack().serial == 3)
    #expect(TouchCount().takenBack().touches == 0)
  }

  @Test func whatIsWrittenIsRead() {
    for touches in 0...TouchCount.limit {
      for serial in [0, 1, UInt64(UInt32.max)] {
        let bytes: Bytes = [1, touches, 0, 0] + littleEndian(serial, 4)
        #expect(TouchCount(bytes)?.bytes == bytes)
      }
    }
  }

  @Test func anEmptyFileIsNoTouch() {
    #expect(TouchCount([]) == TouchCount())
  }

  @Test(
    arguments: [
      [1], [1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0],
      [2, 0, 0, 0, 0, 0, 0, 0],
      [1, 6, 0, 0, 0, 0, 0, 0], [1, 255, 0, 0, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0, 0, 0],
      [1, 0, 0, 1, 0, 0, 0, 0],
    ] as [Bytes])
  func damageIsNoCount(_ bytes: Bytes) {
    #expect(TouchCount(bytes) == nil)
  }
}
