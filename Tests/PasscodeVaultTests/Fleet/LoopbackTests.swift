import CSystem
import Foundation
import PasscodePolicy
import Testing

@testable import PasscodePrograms
@testable import PasscodeSystem

/// A connection to this process itself.
struct LoopbackTests {
  private let door: Int32
  private let port: UInt16

  init() throws {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let opened = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(file, $0, size) == 0 && listen(file, 8) == 0 && getsockname(file, $0, &size) == 0
      }
    }
    guard opened else { throw POSIXError(.EADDRINUSE) }
    door = file
    port = UInt16(bigEndian: address.sin_port)
  }

  @Test func `the kernel says of a connection what its table says`() throws {
    defer { close(door) }
    let connection = try LoopbackConnection(port: port)
    let deadline = try #require(SystemClock.bootMilliseconds()) + 10_000
    let waiting = try #require(connection.askForRow())
    #expect(waiting == connection.readRow(until: deadline))
    #expect(waiting.isEstablished && !waiting.isAccepted)
    let other = accept(door, nil, nil)
    #expect(fcntl(other, F_SETFD, FD_CLOEXEC) == 0)
    let accepted = try #require(connection.askForRow())
    #expect(accepted == connection.readRow(until: deadline))
    #expect(accepted.isAccepted && accepted.user == getuid())
    close(other)
    // A process that another test is starting may hold it for a moment.
    var closed = try #require(connection.askForRow())
    while closed.isAccepted, try #require(SystemClock.bootMilliseconds()) < deadline {
      SystemClock.sleep(microseconds: 1_000)
      closed = try #require(connection.askForRow())
    }
    // Meanwhile the kernel may have put it among those that only wait (TIME_WAIT), which are root's.
    for row in [closed, try #require(connection.readRow(until: deadline))] {
      #expect(!row.isEstablished && !row.isAccepted)
    }
  }

  @Test func `it belongs to those who have accepted it, and to nobody before`() throws {
    let connection = try LoopbackConnection(port: port)
    #expect(!connection.isOwned(by: [getuid(), 0]), "nobody accepts it for 2 s")
    let other = accept(door, nil, nil)
    defer { close(other) }
    #expect(connection.isOwned(by: [getuid()]))
    #expect(!connection.isOwned(by: [getuid() + 1]))
    // What listens there isn't the connection's other end.
    close(door)
    #expect(connection.isOwned(by: [getuid()]))
  }
}
