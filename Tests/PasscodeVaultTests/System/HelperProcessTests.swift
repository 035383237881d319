import CSystem
import Foundation
import Testing

@testable import PasscodeSystem

/// The limits of waiting, with short ones; the real 10 s are tried in test_helper_time.py.
struct HelperProcessTests {
  /// A machine under load runs nobody on time. So each of these limits is far from the other: what ends the wait
  /// shows, however late it does.
  @Test(arguments: [
    "exec sleep 30", "(sleep 20; kill -KILL $$) & kill -STOP $$", "printf x; exec sleep 30",
  ])
  func `waiting ends when nothing moves`(program: String) throws {
    let milliseconds = try waited(program, (withoutMovement: 500, altogether: 60_000))
    #expect(milliseconds >= 500 && milliseconds < 60_000)
  }

  @Test(arguments: [
    "ulimit -t 6; while :; do :; done", "ulimit -t 6; while printf x; do :; done",
    "for i in $(seq 600); do printf x; sleep 0.05; done",
  ])
  func `waiting goes on while something moves, and ends when it takes too long`(program: String) throws {
    let milliseconds = try waited(program, (withoutMovement: 3_000, altogether: 5_000))
    #expect(milliseconds >= 5_000)
  }

  /// How long it took until the wait was given up; without the reaping, which takes a second where it doesn't end. Rounded
  /// up: the wait's own clock has whole milliseconds, and may see its limit reached within the last of them.
  private func waited(_ program: String, _ patience: HelperProcess.Patience) throws -> Int {
    let helper = try started(program)
    let start = ContinuousClock.now
    #expect(throws: Errno(110)) { _ = try helper.reply(limit: 1 << 24, pause: pause, patience) }
    let milliseconds = start.duration(to: .now) / .milliseconds(1)
    withExtendedLifetime(helper) {}
    return Int(milliseconds.rounded(.up))
  }

  @Test(arguments: ["printf abcd; exec sleep 2", "printf ab; sleep 0.2; printf cd; exec sleep 2"])
  func `a reply ends before a pause, and then another question may be asked`(program: String) throws {
    let helper = try started(program)
    let reply = try helper.reply(
      limit: 100, pause: (length: 4, secondByte: UInt8(ascii: "b")),
      (withoutMovement: 3_000, altogether: 5_000))
    #expect(reply == Array("abcd".utf8))
    let isWaiting = helper.isWaiting
    #expect(isWaiting)
  }

  /// Another byte than fits is the end, however long the program goes on.
  @Test func `what is too long is not waited for`() throws {
    let helper = try started("printf abcd; exec sleep 20")
    let reply = try helper.reply(limit: 3, pause: pause, (withoutMovement: 5_000, altogether: 10_000))
    #expect(reply == Array("abcd".utf8))
  }

  @Test func `nothing is sent to a file that got the connection's number, or read from it`() throws {
    let helper = try started("cat >/dev/null")
    var ends: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    #expect(write(ends[1], "abc", 3) == 3)
    #expect(dup2(ends[0], helper.connection.raw) == helper.connection.raw)
    helper.send([1, 2, 3])
    #expect(try helper.reply(limit: 100, pause: pause, (withoutMovement: 5_000, altogether: 10_000)) == [])
    var bytes = [UInt8](repeating: 0, count: 4)
    #expect(recv(ends[1], &bytes, 4, Int32(MSG_DONTWAIT)) == -1, "nothing was sent")
    #expect(recv(ends[0], &bytes, 4, Int32(MSG_DONTWAIT)) == 3, "and nothing was read")
    for file in [helper.connection.raw] + ends { close(file) }
  }

  private var pause: HelperProcess.Pause { (length: 42, secondByte: 0) }

  /// Where another test forks while the script is being written, its child still has it open for a moment.
  private func started(_ program: String) throws -> HelperProcess {
    let path = try script(program)
    while true {
      do throws(Errno) { return try HelperProcess(path) } catch {
        guard error == Errno(26) else { throw error }
        usleep(1_000)
      }
    }
  }

  private func script(_ program: String) throws -> [UInt8] {
    let path = "/tmp/passcode-helper-\(UUID().uuidString)"
    try "#!/bin/sh\nrm \(path)\n{ \(program); } >&0\n".write(toFile: path, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    return Array(path.utf8)
  }
}
