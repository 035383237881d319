import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeVault

struct TokenFileTests {
  private let bed: TestBed
  private var folder: URL { bed.folder }
  private var path: Bytes { Bytes(text: folder.path + "/token") }

  init() throws {
    bed = try TestBed(enrolled: false)
  }

  private func file() -> TokenFile { TokenFile(path: path, access: .person(getuid())) }

  @Test func `a crowd without a token asks for one, and all have it`() throws {
    nonisolated(unsafe) var asked = 0
    nonisolated(unsafe) var tokens: [Bytes?] = []
    let lock = NSLock()
    let path = path
    DispatchQueue.concurrentPerform(iterations: 40) { _ in
      let file = TokenFile(path: path, access: .person(getuid()))
      let token = file.next(after: nil, whileWaiting: {}) {
        lock.withLock { asked += 1 }
        usleep(50_000)
        return Bytes(text: "fresh.7")
      }
      lock.withLock { tokens.append(token) }
    }
    #expect(asked == 1)
    #expect(tokens == Array(repeating: Bytes(text: "fresh.7"), count: 40))
  }

  @Test func `one that got no answer is replaced once`() throws {
    let stale = file().next(after: nil, whileWaiting: {}) { Bytes(text: "old.1") }
    var asked = 0
    for _ in 0..<3 {
      let token = file().next(after: stale, whileWaiting: {}) {
        asked += 1
        return Bytes(text: "new.\(asked)")
      }
      #expect(token == Bytes(text: "new.1"))
    }
    #expect(asked == 1)
  }

  @Test func `where none comes, the next one asks, and nothing is kept`() throws {
    #expect(file().next(after: nil, whileWaiting: {}) { nil } == nil)
    #expect(file().read() == nil)
    #expect(file().next(after: nil, whileWaiting: {}) { Bytes(text: "a.1") } == Bytes(text: "a.1"))
  }

  @Test func `who asks and never ends holds nobody up for longer than 3 s, with signs of work`() throws {
    let path = path
    let isHeld = DispatchSemaphore(value: 0)
    let ends = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      _ = TokenFile(path: path, access: .person(getuid())).next(after: nil, whileWaiting: {}) {
        isHeld.signal()
        ends.wait()
        return nil
      }
    }
    isHeld.wait()
    var signs = 0
    let started = Date()
    #expect(file().next(after: nil, whileWaiting: { signs += 1 }) { Bytes(text: "a.1") } == nil)
    ends.signal()
    #expect((2.9...8).contains(Date().timeIntervalSince(started)) && signs > 10)
  }

  @Test func `where it can't be kept, there is one all the same`() throws {
    let nowhere = TokenFile(path: Bytes(text: folder.path + "/none/token"), access: .person(getuid()))
    #expect(nowhere.next(after: nil, whileWaiting: {}) { Bytes(text: "a.1") } == Bytes(text: "a.1"))
  }

  @Test func `one that others may read, that has a second name, or that isn't a token is none`() throws {
    let text = folder.path + "/token"
    for (mode, content) in [(0o644, "a.1"), (0o600, "a b"), (0o600, "a\n")] {
      try? FileManager.default.removeItem(atPath: text)
      _ = FileManager.default.createFile(
        atPath: text, contents: Data(content.utf8), attributes: [.posixPermissions: mode])
      #expect(file().read() == nil, "\(content)")
    }
    try? FileManager.default.removeItem(atPath: text)
    _ = file().next(after: nil, whileWaiting: {}) { Bytes(text: "a.1") }
    #expect(file().read() == Bytes(text: "a.1"))
    try FileManager.default.linkItem(atPath: text, toPath: text + "2")
    #expect(file().read() == nil)
  }
}
