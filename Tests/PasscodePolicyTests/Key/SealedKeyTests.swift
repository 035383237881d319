import Testing

@testable import PasscodeFleetPolicy
@testable import PasscodePolicy

struct SealedKeyTests {
  @Test(arguments: [
    // The beginning of what systemd-creds 252 and 257 made of --tpm2-pcrs=7, of 16, and of none.
    ("DHzAexF2RZGcSwvqCLwg/iAAAAABAAAADAAAABAAAACfbmA0B2MfgjaC9Ol3AAAAgAAAAAAAAAALACMA", "7"),
    ("DHzAexF2RZGcSwvqCLwg/iAAAAABAAAADAAAABAAAABURSWb4X1Rh1fEXEgAAAAAAAABAAAAAAALACMA", "16"),
    ("DHzAexF2RZGcSwvqCLwg/iAAAAABAAAADAAAABAAAAAo2zNC6r4F0YotRJoAAAAAAAAAAAAAAAALACMA", ""),
  ])
  func `a sealed key tells its PCRs`(sealed: String, pcrs: String) {
    #expect(SealedKey.pcrs(Bytes(text: sealed)).map { text($0) } == pcrs)
  }

  @Test(arguments: ["", "DHzAexF2RZGcSwvq", String(repeating: "\n", count: 90)])
  func `something else tells none`(sealed: String) {
    #expect(SealedKey.pcrs(Bytes(text: sealed)) == nil)
  }

  @Test(arguments: [
    ("7", true), ("0+7+23", true), ("16", true), ("", false), ("24", false), ("7+", false), ("7,8", false),
    ("-1", false), ("7 8", false), ("18446744073709551616", false),
  ])
  func `PCRs are numbers with plus signs`(text: String, isPCRs: Bool) {
    #expect(SealedKey.isPCRs(Bytes(text: text)) == isPCRs)
  }

  @Test(arguments: [
    ("DHzAexF2RZGcSwvqCLwg/iAAAAABAAAADAAAABAAAACf", true), ("DHzAexF2RZGcSwvqCLwg", true),
    ("DHzAexF2RZGcSwvqCLwh/iAAAAABAAAADAAAABAAAACf", false), ("", false), ("DHzA", false),
    ("Zm9vYmFy", false),
  ])
  func `what a newer systemd seals isn't known`(sealed: String, isKnown: Bool) {
    #expect(SealedKey.isKnown(Bytes(text: sealed)) == isKnown)
  }

  /// The policy's bytes at each of the three places that Base64 knows, in lines; and one bit of it changed.
  @Test(arguments: 0...2)
  func `bound to PCR 16 at 0 is told from another value`(offset: Int) {
    let policy: Bytes = [
      0xbf, 0xf2, 0xd5, 0x8e, 0x98, 0x13, 0xf9, 0x7c, 0xef, 0xc1, 0x4f, 0x72, 0xad, 0x81, 0x33, 0xbc,
      0x70, 0x92, 0xd6, 0x52, 0xb7, 0xc8, 0x77, 0x95, 0x92, 0x54, 0xaf, 0x14, 0x0c, 0x84, 0x1f, 0x36,
    ]
    let whole = Bytes(repeating: 0xbf, count: 60 + offset) + policy + [1, 2, 3]
    #expect(SealedKey.isBoundToZero(base64(whole)))
    var other = whole
    other[61 + offset] ^= 1
    #expect(!SealedKey.isBoundToZero(base64(other)))
    #expect(!SealedKey.isBoundToZero(base64(Bytes(whole.dropLast(4)))))
    #expect(!SealedKey.isBoundToZero([]))
  }

  private func base64(_ bytes: Bytes) -> Bytes {
    let letters = Bytes(text: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var result = Bytes()
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let part = bytes[start..<min(start + 3, bytes.count)]
      let bits = (0..<3).reduce(0) { $0 << 8 | Int($1 < part.count ? part[start + $1] : 0) }
      for place in 0...part.count { result.append(letters[bits >> (18 - 6 * place) & 63]) }
      if result.count % 80 == 0 { result.append(10) }
    }
    return result
  }
}
