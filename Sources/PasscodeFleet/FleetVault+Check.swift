public import PasscodeFleetPolicy
public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

// What the servers of a fleet know of each other: notes in etcd, by which `check` compares them. Nothing else looks at them.

/// A server of the fleet, by the note that it left in etcd.
public struct FleetPeer: Sendable {
  /// The server's host name.
  public let name: Bytes
  public let note: ServerNote
}

extension FleetVault {
  /// Notes this server. If that fails, `check` on the others says that it is missing.
  func noteServer() {
    guard let note = ownNote(), let host = FleetPeer.ownName,
      let lease = try? lease(seconds: ServerNote.lease)
    else { return }
    _ = try? commit(EtcdTransaction([.put(FleetKeys.server(host), value: note.encoded, lease: lease)]))
  }

  /// What this server would note of itself now; nil: it can't read its fleet key.
  public func ownNote() -> ServerNote? {
    guard var secrets = Secrets(vault.sodium), (try? key.load(&secrets.unsealed.key)) != nil else {
      return nil
    }
    defer { secrets.unsealed.wipe() }
    let context = Bytes(text: "passcode fleet key\n") + blake2b((options.shared + digestOfList())[...])
    guard let mark = secrets.digestOfKey(context) else { return nil }
    return ServerNote(
      version: Bytes(ProgramVersion().text), time: vault.clock.wall(),
      mark: Bytes(mark.prefix(ServerNote.markLength)))
  }

  /// The servers that have reported to etcd in the last 10 minutes.
  public func peers() throws(Fault) -> [FleetPeer] {
    let list = EtcdTransaction([.list(from: FleetKeys.servers, prefix: FleetKeys.servers, limit: 100)])
    guard let outcome = try commit(list), outcome.succeeded,
      case .entries(let entries, _)? = outcome.results.first
    else { throw Fault.noEtcd }
    var peers: [FleetPeer] = []
    for entry in entries {
      guard let name = FleetKeys.server(in: entry.key), let note = ServerNote(entry.value) else {
        throw Fault(.damagedRecord, path: entry.key)
      }
      peers.append(FleetPeer(name: name, note: note))
    }
    return peers
  }
}

extension FleetPeer {
  /// The host name of the machine that this process runs on.
  public static var ownName: Bytes? {
    guard let text = try? readKernelFile(Bytes(text: "/proc/sys/kernel/hostname")) else { return nil }
    let name = Bytes(text.prefix { $0 != UInt8(ascii: "\n") })
    return (1...64).contains(name.count) ? name : nil
  }
}

extension FleetVault where Etcd == EtcdClient {
  /// Whether the schedule allows more guesses than a fleet's should.
  public var isWeak: Bool { options.lockout.isWeak }

  /// Whether etcd's accounts are used.
  public var namesUser: Bool { !options.user.isEmpty }
}

extension Secrets {
  /// Keyed by the fleet key's 32 random bytes, it tells nothing of them.
  fileprivate mutating func digestOfKey(_ context: Bytes) -> Bytes? {
    unsealed.digest.keyed(unsealed.key, context, unsealed.credential, passcode)
  }
}
