internal import PasscodeFleetPolicy
public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem
public import PasscodeVault

/// The key of a fleet, under which its credentials are sealed; the same file on each of its servers, and nowhere else:
/// root on a workstation could otherwise search everybody's codes.
///
///     offset 0     key      32 bytes    random
///     offset 32    epoch     8 bytes    little-endian; raised after etcd was restored from a snapshot: passcodes that
///                                       were set or unlocked in an earlier epoch stay locked out until they are unlocked
///
/// It MUST be made only by `create`, which an administrator asks for.                                FleetKeyTests
/// It MUST be in guarded memory only.                                                      test_core_images.py
public struct FleetKey {
  static let length = Length.key + 8

  private let path: Bytes
  private let configuration: Configuration
  public let epoch: UInt64

  public static var usualPath: Bytes { Bytes(text: "/etc/passcode/fleet.key") }

  /// Opens the key's file, and reads which epoch the key is of.
  ///
  /// - Throws: `missing`; or another fault if it is not to be trusted.
  public init(_ path: Bytes, _ configuration: Configuration) throws(Fault) {
    self.path = path
    self.configuration = configuration
    let file = try FleetKey.open(path, configuration)
    do throws(Errno) {
      let bytes = try file.read(8, at: Length.key)
      epoch = bytes.count == 8 ? littleEndianNumber(bytes, 0, 8) : 0
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
    guard epoch > 0, epoch < 1 << 62 else { throw Fault(.keyLength, path: path) }
  }

  /// The fault of an epoch in etcd that is later than this key's.
  var later: Fault { Fault(.fleetEpoch, path: path, error: Errno.stale.code) }

  private static func open(_ path: Bytes, _ configuration: Configuration) throws(Fault) -> Descriptor {
    switch try configuration.trust(.key).open(path) {
    case .found(let file, let status):
      guard status.size == FleetKey.length else { throw Fault(.keyLength, path: path) }
      return file
    case .missing:
      throw Fault(.missing, path: path)
    }
  }

  func load(_ key: inout SecretKey) throws(Fault) {
    let file = try FleetKey.open(path, configuration)
    do throws(Errno) {
      if try key.read(file) { return }
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
    throw Fault(.keyLength, path: path)
  }

  /// Makes it, in epoch 1; an error if there is one already. For root.
  public static func create(_ path: Bytes, group: UInt32?, _ sodium: Sodium) throws(Fault) {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return }
    guard var secrets = Secrets(sodium) else { throw Fault(.noMemory) }
    secrets.unsealed.key.makeUp(sodium)
    do throws(Errno) {
      let directory = try Descriptor.open(Bytes(path[..<slash]), .directory)
      let file = try directory.createNameless(mode: 0o400)
      if let group { try file.setOwner(0, group: group) }
      try file.setMode(group == nil ? 0o400 : 0o440)
      try secrets.unsealed.key.write(file)
      try file.write(littleEndian(1, 8), at: Length.key)
      try file.sync()
      try directory.link(file, as: Bytes(path[(slash + 1)...]))
      try directory.sync()
    } catch {
      throw Fault(error == .exists ? .keyExists : .failed, path: path, error: error.code)
    }
  }

  /// Declares every passcode locked out until it is unlocked. For root.
  ///
  /// - Parameter epoch: a later one; nil: the next one.
  public func raiseEpoch(to epoch: UInt64? = nil) throws(Fault) {
    do throws(Errno) {
      let file = try Descriptor.open(path, .readWrite)
      try file.write(littleEndian(epoch ?? self.epoch + 1, 8), at: Length.key)
      try file.sync()
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
  }
}
