import Glibc
import PasscodePolicy

/// The text as the slice that parsers take.
func slice(_ text: String) -> ArraySlice<UInt8> {
  Bytes(text: text)[...]
}

func text(_ bytes: some Collection<UInt8>) -> String {
  String(decoding: bytes, as: UTF8.self)
}

func text(_ literal: Literal) -> String {
  text(Bytes(text: literal))
}

func text(_ sentence: Text) -> String {
  text(sentence.bytes)
}

/// A moment of the boot that the tests run in, and of another one.
func now(_ milliseconds: UInt64) -> Instant {
  Instant(boot: BootID(high: 1, low: 2), milliseconds: milliseconds)
}

func elsewhere(_ milliseconds: UInt64) -> Instant {
  Instant(boot: BootID(high: 3, low: 4), milliseconds: milliseconds)
}

/// Stands in for BLAKE2b: four FNV-1a hashes with different beginnings, 32 bytes. Any single changed byte
/// changes all four (each step of FNV-1a is a bijection), which is what the codec's tests need of it.
func testChecksum(_ bytes: some Sequence<UInt8>) -> Bytes {
  (0..<4).flatMap { (lane: UInt64) -> Bytes in
    let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 &+ lane &* 0x9e37_79b9_7f4a_7c15) { hash, byte in
      (hash ^ UInt64(byte)) &* 0x0100_0000_01b3
    }
    return (0..<8).map { UInt8(truncatingIfNeeded: hash >> ($0 * 8)) }
  }
}

/// The fault in words.
func sentence(_ fault: Fault?) -> String {
  fault.map { text(Words.fault($0, error: Bytes(text: "Permission denied"))) } ?? ""
}

/// What this thread has used: the other tests run beside it.
func processorTime() -> Duration {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

extension [UInt8] {
  /// The UTF-8 of a text that a test puts together; the sources have literals only.
  init(text: String) {
    self = Array(text.utf8)
  }
}
