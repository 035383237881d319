import Foundation
import PasscodeSystem
import Testing

/// The limits of waiting, with short ones; the real 10 s are tried in test_helper_time.py.
struct HelperProcessTests {
  /// What a helper does, and whether movement keeps it waited for.
  private static let helpers: [(program: String, moves: Bool)] = [
    ("exec sleep 4", false),
    ("(sleep 4; kill -KILL $$) & kill -STOP $$", false),
    ("printf x; exec sleep 4", false),
    ("ulimit -t 3; while :; do :; done", true),
    ("ulimit -t 3; while printf x; do :; done", true),
    ("for i in $(seq 80); do printf x; sleep 0.05; done", true),
  ]

  @Test(arguments: helpers)
  func `waiting ends when nothing moves, or when it takes too long`(program: String, moves: Bool) throws {
    let start = ContinuousClock.now
    #expect(throws: Errno(110)) {
      let helper = try started(program)
      _ = try helper.reply(limit: 1 << 22, pause: pause, .init(withoutMovement: 500, altogether: 1_500))
    }
    // The rest is for reaping, which takes a second where it doesn't end.
    let seconds = start.duration(to: .now)
    #expect(seconds > .milliseconds(moves ? 1_400 : 450) && seconds < .seconds(moves ? 4 : 3))
  }

  @Test(arguments: ["printf abcd; exec sleep 2", "printf ab; sleep 0.2; printf cd; exec sleep 2"])
  func `a reply ends before a pause, and then another question may be asked`(program: String) throws {
    let helper = try started(program)
    let reply = try helper.reply(
      limit: 100, pause: .init(length: 4, secondByte: UInt8(ascii: "b")),
      .init(withoutMovement: 3_000, altogether: 5_000))
    #expect(reply == Array("abcd".utf8))
    let isWaiting = helper.isWaiting
    #expect(isWaiting)
  }

  private var pause: HelperProcess.Pause { .init(length: 42, secondByte: 0) }

  /// Where another test forks while the script is being written, its child still has it open for a moment.
  private func started(_ program: String) throws -> HelperProcess {
    let path = try script(program)
    while true {
      do { return try HelperProcess(path) } catch Errno(26) { usleep(1_000) }
    }
  }

  private func script(_ program: String) throws -> [UInt8] {
    let path = "/tmp/passcode-helper-\(UUID().uuidString)"
    try "#!/bin/sh\nrm \(path)\n{ \(program); } >&0\n".write(toFile: path, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    return Array(path.utf8)
  }
}
