import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleetPolicy

struct Base64Tests {
  @Test func `every length is written as Foundation writes it, and read again`() {
    var generator = SystemRandomNumberGenerator()
    for count in 0..<200 {
      let raw = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      #expect(base64(raw) == Bytes(Data(raw).base64EncodedString().utf8))
      #expect(bytes(base64: base64(raw)[...]) == raw)
    }
  }

  @Test(arguments: [
    "A", "AA", "AAA", "AA=A", "AA==AAAA", "====", "AB==", "AAB=", "AA-_", "AAAA\n", " AAA", "é",
  ])
  func `another spelling is none`(text: String) {
    #expect(bytes(base64: slice(text)) == nil)
  }
}
