internal import CSystem

/// The helper's own side: its connection, and its privilege.
public enum HelperService {
  /// Whether standard input is a stream of this machine, and not somebody's terminal or file. A datagram socket can
  /// be filled with a request and then be connected to somebody who would take our reply for ours: the system's
  /// log, for one. The corresponding C function is `getsockopt`.
  public static func isConnected() -> Bool {
    option(SO_DOMAIN) == AF_UNIX && option(SO_TYPE) == Int32(SOCK_STREAM.rawValue)
  }

  private static func option(_ name: Int32) -> Int32? {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return unsafe getsockopt(0, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
  }

  /// Lays down everything that was inherited from the caller: descriptors (but the connection), environment,
  /// working folder, umask, signal mask and dispositions, timers, limits; and the right to be dumped or traced.
  ///
  /// - Parameter limit: as `limitTime`, and from before anything that could take long.
  public static func layDownInheritance(limit seconds: UInt32) throws(Errno) {
    let error = cs_lay_down_inheritance(seconds)
    if error != 0 { throw Errno(error) }
  }

  /// Becomes the account for good: real, effective and saved ids, a session of its own. From here on the caller
  /// can neither signal, trace nor slow this process. The corresponding C functions are `setsid`, `setresgid`
  /// and `setresuid`; `sched_setaffinity`, `sched_setscheduler` and others for its share of the machine.
  public static func become(_ account: Account) throws(Errno) {
    let error = cs_become_wholly(account.uid, account.gid)
    if error != 0 { throw Errno(error) }
  }

  /// The kernel ends this process after so many seconds. The corresponding C function is `alarm`.
  public static func limitTime(seconds: UInt32) {
    alarm(seconds)
  }

  /// So many bytes of the request; nil where it ends before. Bounded by `limitTime`.
  public static func receive(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    // SAFETY: the buffer has count bytes.
    let isWhole = unsafe bytes.withUnsafeMutableBytes { unsafe fill($0.baseAddress, count) }
    return isWhole ? bytes : nil
  }

  /// Waits for more of the request, or for another one; false: the stream ends here. Takes nothing from it.
  public static func hasMore() -> Bool {
    var byte: UInt8 = 0
    return (try? retrying { unsafe recv(0, &byte, 1, Int32(MSG_PEEK)) }) != 0
  }

  static func fill(_ memory: UnsafeMutableRawPointer?, _ count: Int) -> Bool {
    var done = 0
    while done < count {
      let start = done
      // SAFETY: the memory has count bytes, start < count.
      let got = try? retrying { unsafe recv(0, memory.map { unsafe $0 + start }, count - start, 0) }
      guard let got, got > 0 else { return false }
      done += got
    }
    return true
  }

  /// Says on standard error what can't be told otherwise. The corresponding C function is `write`.
  public static func complain(_ sentence: [UInt8]) {
    _ = unsafe write(2, sentence, sentence.count)
  }

  /// Sends a whole reply. The corresponding C function is `send`.
  public static func reply(_ bytes: [UInt8]) {
    _ = unsafe CSystem.send(0, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// Ends the stream, even if a process that the host forked at the wrong moment has our end of it, too (`shutdown`).
  public static func endReplies() {
    shutdown(0, Int32(SHUT_RDWR))
  }
}

/// The effective group of this process: the one that a setgid bit gave it. The corresponding C function is `getegid`.
public func effectiveGroup() -> UInt32 {
  getegid()
}
