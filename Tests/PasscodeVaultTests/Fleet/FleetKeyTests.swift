import Foundation
import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeFleet
@testable import PasscodeVault

struct FleetKeyTests {
  @Test func `it is made once, in epoch 1, for its reader only`() throws {
    let bed = try FleetBed(enrolled: false)
    let path = String(decoding: bed.keyPath, as: UTF8.self)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 40)
    #expect(try FleetKey(bed.keyPath, bed.bed.vault.configuration).epoch == 1)
    let sodium = try #require(Sodium())
    #expect(throws: Fault(.keyExists, path: bed.keyPath, error: EEXIST)) {
      try FleetKey.create(bed.keyPath, group: nil, sodium)
    }
  }

  @Test(arguments: [0, 32, 39, 41])
  func `one of another length is refused`(length: Int) throws {
    let bed = try FleetBed(enrolled: false)
    let url = URL(fileURLWithPath: String(decoding: bed.keyPath, as: UTF8.self))
    try FileManager.default.removeItem(at: url)
    try Data(repeating: 1, count: length).write(to: url)
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: url.path)
    #expect(throws: Fault(.keyLength, path: bed.keyPath)) {
      try FleetKey(bed.keyPath, bed.bed.vault.configuration)
    }
  }

  @Test(
    arguments: [(0o404, .readableByAll), (0o420, .writableByOthers), (0o402, .writableByOthers)]
      as [(Int, Fault.Reason)])
  func `one that others can read or write is refused`(mode: Int, why: Fault.Reason) throws {
    let bed = try FleetBed(enrolled: false)
    let path = String(decoding: bed.keyPath, as: UTF8.self)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    #expect(reason { try FleetKey(bed.keyPath, bed.bed.vault.configuration) } == why)
  }
}
