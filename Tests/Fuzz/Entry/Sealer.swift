@testable import PasscodePolicy
@testable import PasscodeSystem
@testable import PasscodeVault

/// Makes sealed credentials as the Vault does, and knows what is in each.
final class Sealer {
  static let key = Bytes(repeating: UInt8(ascii: "K"), count: Length.key)
  static let otherKey = Bytes(repeating: UInt8(ascii: "L"), count: Length.key)
  nonisolated(unsafe) static let shared = Sealer()

  struct Content: Hashable {
    var code: Bytes
    var uid: UInt32
    var name: Bytes
    var isUnderOtherKey = false
    var hasOtherCost = false
  }

  private var sealed: [Content: Bytes] = [:]
  private var contents: [Bytes: Content] = [:]

  func seal(_ content: Content) -> Bytes {
    if let known = sealed[content] { return known }
    guard let sodium = Sodium(), var secrets = Secrets(sodium) else { fatalError("no memory") }
    let isTaken = secrets.line.take(content.code, count: content.code.count)
    precondition(isTaken && secrets.passcode.copy(secrets.line))
    let key = content.isUnderOtherKey ? Sealer.otherKey : Sealer.key
    for index in 0..<Length.key { secrets.unsealed.key.start[index] = key[index] }
    let cost = Options.Cost(
      operations: content.hasOtherCost ? 2 : 1, memory: content.hasOtherCost ? 16_384 : 8_192)
    precondition(Credential.make(secrets.passcode, &secrets.unsealed, cost, sodium))
    let record = Record(uid: content.uid, name: content.name, generation: 1)
    let bytes = Credential.seal(&secrets.unsealed, record, sodium)
    sealed[content] = bytes
    contents[bytes] = content
    return bytes
  }

  /// nil: nothing that was made here.
  func content(of sealed: Bytes) -> Content? { contents[sealed] }
}
