import PasscodePolicy
import Testing

@testable import PasscodeFleetPolicy

struct ServerNoteTests {
  private let note = ServerNote(
    version: Bytes(text: "0.3"), time: 1_795_390_776,
    mark: Bytes(repeating: 0xab, count: ServerNote.markLength))

  @Test func `a note is read as it was written, and in one spelling only`() {
    #expect(ServerNote(note.encoded) == note)
    let text = String(decoding: note.encoded, as: UTF8.self)
    for (old, new) in [
      ("server=1", "server=2"), ("version=0.3", "version="), ("version=0.3", "version=0 3"),
      ("time=1", "time=01"), ("time=1", "time=-1"), ("abab\n", "ab\n"), ("abab\n", "ABAB\n"),
      ("abab\n", "abab\n\n"),
    ] {
      let other = text.replacing(old, with: new)
      #expect(other != text && ServerNote(Bytes(text: other)) == nil, "\(new)")
    }
    #expect(ServerNote(note.encoded.dropLast()) == nil)
  }

  @Test func `its key has the host name in hexadecimal`() {
    let key = FleetKeys.server(Bytes(text: "a/b"))
    #expect(key == Bytes(text: "/passcode/1/v/612f62"))
    #expect(FleetKeys.server(in: key) == Bytes(text: "a/b"))
    #expect(FleetKeys.server(in: Bytes(text: "/passcode/1/u/612f62")) == nil)
  }
}
