import Foundation
import PasscodePolicy
import Testing

@testable import PasscodePrograms
@testable import PasscodeSystem

struct LinesTests {
  @Test func `of a file without an end the first MiB is read`() throws {
    #expect(try readKernelFile(Bytes(text: "/dev/zero")).count == 1_048_576)
  }

  private func has(_ line: String, in text: String) throws -> Bool {
    let path = NSTemporaryDirectory() + "/lines-\(UUID().uuidString)"
    #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8)))
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try Descriptor.open(Bytes(text: path), .read).hasLine(Bytes(text: line))
  }

  @Test(arguments: ["CN=ws1\nCN=ws2\n", "CN=ws2", "\n\nCN=ws2\n", "CN=ws22\nCN=ws2"])
  func `a whole line is found, wherever it is`(text: String) throws {
    #expect(try has("CN=ws2", in: text))
  }

  /// In the order of sort(1) it takes a few reads, otherwise one of the whole.
  @Test(arguments: [true, false])
  func `each line of a long list is found, and no other`(isSorted: Bool) throws {
    var names = (0..<3_000).map { "CN=ws\($0 * 7)" }
    if isSorted { names.sort { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) } }
    let text = "# 0123 ws0\n" + names.joined(separator: "\n") + "\n"
    for number in stride(from: 0, to: 21_000, by: 61) {
      #expect(try has("CN=ws\(number)", in: text) == (number % 7 == 0), "\(number)")
    }
    for name in [names[0], names[2_999]] { #expect(try has(name, in: text)) }
    for name in ["CN=w", "CN=ws", "CN=x", "A", "", "# 0123"] { #expect(try !has(name, in: text), "\(name)") }
  }

  @Test(arguments: ["", "\n", "CN=ws22\n", "xCN=ws2\n", "CN=ws2 \n", "CN=ws\n2\n", "CN=ws2\r\n"])
  func `a part of a line is none`(text: String) throws {
    #expect(try !has("CN=ws2", in: text))
  }

  /// Blocks of 64 KiB: the name begins, or ends, at each place around a border.
  @Test func `a line across the border of two blocks is found, and only as a whole`() throws {
    for filled in 65_520...65_540 {
      let before = String(repeating: "x", count: filled) + "\n"
      let block = String(repeating: "CN=another\n", count: 5_000) + String(before.dropFirst(55_000))
      #expect(try has("CN=ws2", in: block + "CN=ws2\nCN=ws3\n"))
      #expect(try !has("CN=ws2", in: block + "CN=ws22\nCN=ws\n2"))
    }
  }

  @Test func `the last of 100,000 is found, and one that isn't there is not`() throws {
    let text = (0..<100_000).map { "CN=ws\($0)\n" }.joined()
    #expect(try has("CN=ws99999", in: text))
    #expect(try !has("CN=ws100000", in: text))
  }

  @Test func `a line that is longer than a block is an error`() throws {
    #expect(throws: Errno.self) { try has("CN=ws2", in: String(repeating: "x", count: 70_000)) }
  }
}
