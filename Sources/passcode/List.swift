internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `passcode list`: in the order of the uids, and in bounded memory. If there are many records and several processors, a
/// copy of this process makes every other part of the text.                         test_figures.py
func runList(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  var table = ListTable(session)
  var everybody = try reporting { () throws(Fault) in try vault.list() }
  while true {
    let parts = everybody.nextPortion()
    guard parts > 0 else { break }
    let companion =
      parts >= ListTable.fewParts && Machine.processors > 1 ? companion(&everybody, parts, session) : nil
    for part in 0..<parts {
      if part % 2 == 1, let text = companion?.next() {
        everybody.skipPart()
        table.add(part: Text(text))
      } else {
        try reporting { () throws(Fault) in try everybody.tellPart { table.add($0) } }
      }
      table.write(unlessShort: true)
    }
  }
  table.write(unlessShort: false)
  guard table.isWritten else { throw .unwritable }
  return .done
}

/// Starts a copy of this process that makes every second part of the list. After an error the copy ends, and this process
/// meets the same error.
private func companion(_ everybody: inout StatusList, _ parts: Int, _ session: Session) -> Companion? {
  Companion.start { send in
    everybody.lockAgain()
    var table = ListTable(session, hasHeading: false)
    for part in 0..<parts {
      guard part % 2 == 1 else {
        everybody.skipPart()
        continue
      }
      do throws(Fault) { try everybody.tellPart { table.add($0) } } catch { return }
      guard send(table.text.bytes) else { return }
      table.text.removeAll()
    }
  }
}

private struct ListTable {
  /// The most parts of a list for which no second process is started.
  static let fewParts = 4

  private let session: Session
  private let isColoured: Bool
  var text: Text = ""
  private(set) var isWritten = true

  init(_ session: Session, hasHeading: Bool = true) {
    self.session = session
    isColoured = Stream.output.isTerminal && environment("NO_COLOR") == nil
    if hasHeading, !session.wantsJSON { text += Status.heading }
  }

  mutating func add(_ status: Status) {
    guard status.isAsked(session) else { return }
    text += session.wantsJSON ? status.json : status.row(isColoured: isColoured)
  }

  /// Writes a part that the companion made, after everything before it.
  mutating func add(part: Text) {
    write(unlessShort: false)
    isWritten = isWritten && Stream.output.write(part)
  }

  mutating func write(unlessShort: Bool) {
    guard !unlessShort || text.bytes.count > 1 << 16 else { return }
    isWritten = isWritten && Stream.output.write(text)
    text.removeAll()
  }
}
