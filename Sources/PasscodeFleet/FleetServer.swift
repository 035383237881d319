internal import PasscodeFleetPolicy
public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
public import PasscodeVault

/// The files of a server of a fleet. Those in /etc/passcode MUST be root's, and nobody else's to write.
///                                                                               test_verifier_attacks.py
///
///     /etc/passcode/verifier.conf        FleetOptions
///     /etc/passcode/verifier.password    the password of its account in etcd, one line; 0440 root:_passcode
///     /etc/passcode/fleet.key            FleetKey; 0440 root:_passcode
///     /etc/passcode/workstations         the distinguished names that may ask, one whole name a line
///     /var/lib/passcode-verifier/        0700 _passcode: seen (FleetSeen), token, turns (FleetTurn),
///                                        leases (SpareLeases) and counts (ServerCounts)
public enum FleetServer {
  public static var optionsPath: Bytes { Bytes(text: "/etc/passcode/verifier.conf") }
  public static var passwordPath: Bytes { Bytes(text: "/etc/passcode/verifier.password") }
  public static var workstationsPath: Bytes { Bytes(text: "/etc/passcode/workstations") }
  public static var statePath: Bytes { Bytes(text: "/var/lib/passcode-verifier") }

  /// Opens a fleet on this server.
  ///
  /// - Parameters:
  ///   - start: what is done if this server has seen nothing of etcd yet.
  ///   - kept: the client for its etcd, if this process has asked it before.
  ///   - atWork: called before each request to etcd; a kept client goes on calling its own.
  public static func open(
    _ vault: Vault, _ start: SeenFile.Start = .refused, keeping kept: EtcdClient? = nil,
    atWork: @escaping () -> Void
  ) throws(Fault) -> FleetVault<EtcdClient> {
    let configuration = vault.configuration
    let options = try readOptions(configuration)
    let key = try FleetKey(FleetKey.usualPath, configuration)
    let seen = try SeenFile(SeenFile.usualPath, for: configuration.access, start)
    let etcd = kept ?? makeClient(options, configuration, atWork: atWork)
    let spares = SpareLeases(path: statePath + Bytes(text: "/leases"), access: configuration.access)
    let fleet = FleetVault(vault, options, key, etcd, seen, spares)
    fleet.digestOfList = { digestOfList(configuration) }
    return fleet
  }

  /// Whether etcd has something of any account, whichever key that needs; nil: not known, as where nothing is set up yet.
  public static func isInUse(_ configuration: Configuration) -> Bool? {
    guard let options = try? readOptions(configuration) else { return nil }
    let question = EtcdTransaction([.count(prefix: FleetKeys.accounts)])
    let outcome = makeClient(options, configuration, atWork: {}).commit(question)
    guard let outcome, outcome.succeeded else { return nil }
    return outcome.count(0) != 0
  }

  private static func readOptions(_ configuration: Configuration) throws(Fault) -> FleetOptions {
    guard let text = try read(optionsPath, .configuration, configuration) else {
      throw Fault(.missing, inConfiguration: true, path: optionsPath)
    }
    return try FleetOptions(file: text[...], path: optionsPath)
  }

  private static func makeClient(
    _ options: FleetOptions, _ configuration: Configuration, atWork: @escaping () -> Void
  ) -> EtcdClient {
    EtcdClient(
      port: options.port, user: options.user,
      password: { () throws(Fault) in try password(configuration) },
      token: TokenFile(path: statePath + Bytes(text: "/token"), access: configuration.access),
      atWork: atWork)
  }

  private static func password(_ configuration: Configuration) throws(Fault) -> Bytes {
    guard let text = try read(passwordPath, .key, configuration) else {
      throw Fault(.missing, path: passwordPath)
    }
    return Bytes(text.prefix { $0 != UInt8(ascii: "\n") })
  }

  /// Whether the list has this name. No part of it is looked at, and nothing is made of it: whole names only. However
  /// long the list is, that takes no time: a million names in some milliseconds.
  public static func lists(_ name: Bytes, _ configuration: Configuration) throws(Fault) -> Bool {
    let list = try openList(configuration)
    guard !name.isEmpty else { return false }
    do throws(Errno) { return try list.hasLine(name) } catch {
      throw Fault(.failed, path: workstationsPath, error: error.code)
    }
  }

  /// The names on the list. Of those that have joined, lines with "#" in front say which invitations were carried out.
  public static func workstations(_ configuration: Configuration) throws(Fault) -> [Bytes] {
    let list = try openList(configuration)
    do throws(Errno) {
      let text = try list.read(max(0, try list.status().size), at: 0)
      let comment = UInt8(ascii: "#")
      let lines = text[...].parts(between: UInt8(ascii: "\n"))
      return lines.filter { ($0.first ?? comment) != comment }.map { Bytes($0) }
    } catch {
      throw Fault(.failed, path: workstationsPath, error: error.code)
    }
  }

  private static func openList(_ configuration: Configuration) throws(Fault) -> Descriptor {
    switch try configuration.trust(.configuration).open(workstationsPath) {
    case .found(let file, _): return file
    case .missing: throw Fault(.missing, inConfiguration: true, path: workstationsPath)
    }
  }

  /// By which servers see whether their lists are the same; empty: it can't be read.
  private static func digestOfList(_ configuration: Configuration) -> Bytes {
    guard let list = try? openList(configuration), let status = try? list.status(),
      let text = try? list.read(max(0, status.size), at: 0)
    else { return [] }
    return blake2b(text[...])
  }

  /// What tells a workstation from all others in etcd's keys.
  public static func workstation(_ name: Bytes) -> Bytes { blake2b(name[...]) }

  private static func read(
    _ path: Bytes, _ subject: Trust.Subject, _ configuration: Configuration
  ) throws(Fault) -> Bytes? {
    switch try configuration.trust(subject).open(path) {
    case .missing: return nil
    case .found(let file, let status):
      guard status.size <= 1 << 20 else { throw Fault(.fileTooLarge, path: path) }
      do throws(Errno) { return try file.read(max(0, status.size), at: 0) } catch {
        throw Fault(.failed, path: path, error: error.code)
      }
    }
  }
}
