import Testing

@testable import PasscodeFleetPolicy
@testable import PasscodePolicy

struct OneTimeCodeTests {
  @Test func `there are 24 letters, and none looks like another character`() {
    #expect(OneTimeCode.letters.count == 24 && Set(OneTimeCode.letters).count == 24)
    #expect(!OneTimeCode.letters.contains { Bytes(text: "IO01").contains($0) })
    for byte in UInt8.min...UInt8.max {
      let letter = OneTimeCode.letter(byte)
      switch byte {
      case 0x20, 0x2d: #expect(letter == 0)
      case let byte where OneTimeCode.letters.contains(byte): #expect(letter == byte)
      case 0x61...0x7a where byte != 0x69 && byte != 0x6f: #expect(letter == byte - 32)
      default: #expect(letter == nil)
      }
    }
  }

  @Test(arguments: ["", "KTMXRWP", "KTMXRWPBB", "ktmxrwpb", "KTMXRWPI", "KTMX-WPB", "12345678"])
  func `what isn't 8 of them is no code`(text: String) {
    let (other, code) = (Bytes(text: text), Bytes(text: "KTMXRWPB"))
    let (isOther, isCode) = (OneTimeCode.isCode(other.span), OneTimeCode.isCode(code.span))
    #expect(!isOther && isCode)
  }

  @Test func `what is kept is read as it was written, and in no other spelling`() {
    let code = KeptCode(epoch: 3, sealed: [1, 0xab])
    #expect(KeptCode(code.encoded) == code)
    for text in [
      "", "passcode_code=2\nepoch=3\nsealed=01ab\n", "passcode_code=1\nepoch=03\nsealed=01ab\n",
      "passcode_code=1\nepoch=3\nsealed=01AB\n", "passcode_code=1\nepoch=3\nsealed=01ab\n\n",
      "passcode_code=1\nepoch=3\nsealed=01ab", "epoch=3\npasscode_code=1\nsealed=01ab\n",
    ] {
      #expect(KeptCode(Bytes(text: text)) == nil)
    }
  }

  @Test func `a request with a code is one, and nothing else has eight letters`() {
    for operation in HelperOperation.allCases {
      let row = operation.row
      for passcode in [0, 4, 6, 8] {
        let lengths = HelperRequest.Lengths(
          passcode: passcode, new: row.setsPasscode ? 4 : 0,
          password: row.proof == .password || row.proof == .passcodeOrPassword && passcode == 0 ? 5 : 0)
        let request = HelperRequest(operation, uid: 1_000, lengths: lengths)
        let isOne = HelperRequest(head: request.head()) == request
        #expect(isOne == row.accepts(lengths))
        if passcode == 8 { #expect(isOne == (operation == .enrollByCode)) }
      }
    }
    #expect(!HelperOperation.enrollByCode.permits(caller: 0, account: 1_000))
    #expect(HelperReply(HelperReply(.noCode).bytes)?.verdict == nil)
  }
}
