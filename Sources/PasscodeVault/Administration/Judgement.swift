public import PasscodePolicy
public import PasscodeSystem

extension Vault {
  /// Whether the new passcode may be chosen: asked here wherever one is chosen.
  ///
  /// `enroll` asks it, too; programs ask before, to tell a person at once.
  ///
  /// - Throws: a fault if the administrator's list can't be read whole: it would refuse less than it says.
  public func judge(_ account: Account, _ change: borrowing PasscodeChange) throws(Fault) -> Choice {
    guard policy.lengths.allow(change.new.passcode.count) else { return .refused(.length) }
    guard let weakness = try weakness(account, change) else { return .accepted }
    return policy.weak == .refuse ? .refused(.weak(weakness)) : .easy(weakness)
  }

  private func weakness(_ account: Account, _ change: borrowing PasscodeChange) throws(Fault) -> Weakness? {
    guard policy.weak != .allow else { return nil }
    let surroundings = try surroundings(account)
    return change.read { Weakness.of($0, replacing: $1, in: surroundings) }
  }

  /// What codes are judged by: the year, the administrator's list, and the account's own data, if one is given.
  public func surroundings(_ account: Account?) throws(Fault) -> Surroundings {
    let site = try weakList()
    guard let account else { return Surroundings(now: clock.wall(), site: site) }
    let details = account.details()
    let person = PersonalData(
      userName: account.name, gecos: details.gecos, uid: account.uid, home: details.home)
    return Surroundings(now: clock.wall(), person: person, site: site)
  }

  private func weakList() throws(Fault) -> WeakList {
    let path = policy.weakList
    if path.isEmpty { return WeakList() }
    switch try configuration.trust(.configuration).open(path) {
    case .missing: throw Fault(.noWeakList, path: path)
    case .found(let file, let status):
      let content: Bytes
      do throws(Errno) {
        content = try file.read(min(max(0, status.size), WeakList.largestFile + 1), at: 0)
      } catch {
        throw Fault(.failed, inConfiguration: true, path: path, error: error.code)
      }
      return try WeakList(content[...], path: path)
    }
  }
}
