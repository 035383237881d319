internal import CSystem
internal import PasscodeBytes
internal import PasscodeSystem

/// A forked copy of this process that makes texts for it, one after the other, while this one does something else. For
/// programs with one thread.
///
///     length   4 bytes, the lowest first
///     text     so many bytes
///
/// What the copy hasn't sent this process has to make itself: so nothing is lost if it dies, or meets an error.
public final class Companion {
  private let pipe: Descriptor
  private let process: Int32

  private init(_ pipe: consuming Descriptor, _ process: pid_t) {
    self.pipe = pipe
    self.process = process
  }

  deinit {
    // In the copy itself there is nobody to end: 0 would be the process group.
    guard process > 0 else { return }
    // It has nothing more to say.
    kill(process, SIGKILL)
    _ = try? retrying { waitpid(process, nil, 0) }
  }

  /// Starts one; nil: none can be started. The corresponding C functions are `pipe` and `fork`.
  ///
  /// - Parameter work: what the copy does; it ends with that. `send` waits while 1 MiB is unread; false: nobody reads it.
  public static func start(_ work: (_ send: ([UInt8]) -> Bool) -> Void) -> Companion? {
    var end: Int32 = -1
    guard let child = try? retrying({ unsafe cs_fork_worker(&end) }) else { return nil }
    let companion = Companion(Descriptor(adopting: end), child)
    guard child == 0 else { return companion }
    cs_widen(companion.pipe.raw)
    work { companion.send($0) }
    _exit(0)
  }

  private func send(_ text: [UInt8]) -> Bool {
    writeAll(littleEndian(UInt64(text.count), 4), to: pipe.raw) && writeAll(text, to: pipe.raw)
  }

  /// Reads the next text of the companion process; nil at its end.
  public func next() -> [UInt8]? {
    guard let head = read(4) else { return nil }
    return read(Int(littleEndianNumber(head, 0, 4)))
  }

  private func read(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let start = done
      let got = try? retrying {
        // SAFETY: the buffer has count bytes, start < count.
        unsafe bytes.withUnsafeMutableBytes { buffer in
          unsafe CSystem.read(pipe.raw, buffer.baseAddress.map { unsafe $0 + start }, count - start)
        }
      }
      guard let got, got > 0 else { return nil }
      done += got
    }
    return bytes
  }
}
