internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool

/// What an administrator may ask for.
enum Command: CaseIterable {
  case initialize, restored, seen, check, metrics, list, status, enroll, invite, remove, unlock, disable,
    enable

  var name: Text {
    switch self {
    case .initialize: "init"
    case .restored: "restored"
    case .seen: "seen"
    case .check: "check"
    case .metrics: "metrics"
    case .list: "list"
    case .status: "status"
    case .enroll: "enroll"
    case .invite: "invite"
    case .remove: "remove"
    case .unlock: "unlock"
    case .disable: "disable"
    case .enable: "enable"
    }
  }

  var takesUser: Bool {
    switch self {
    case .initialize, .restored, .seen, .check, .metrics, .list: false
    case .status, .enroll, .invite, .remove, .unlock, .disable, .enable: true
    }
  }

  /// Besides those of all commands.
  var options: [Order.Option] {
    switch self {
    case .initialize, .restored, .metrics: []
    case .seen: [.first, .atLeast]
    case .check: [.json]
    case .list: [.since, .json]
    case .status: [.json, .workstation]
    case .enroll: [.stdin, .length, .generate, .skipEnrolled, .batch, .json, .output, .show]
    case .invite: [.expires, .withdraw, .batch, .json, .output, .show]
    case .unlock: [.batch, .json, .workstation]
    case .remove, .disable, .enable: [.batch, .json]
    }
  }

  /// The act of a command that changes somebody's passcode; nil for the others.
  var act: Act? {
    switch self {
    case .initialize, .restored, .seen, .check, .metrics, .list, .status: nil
    case .enroll: .enrolled
    case .invite: .invited
    case .remove: .removed
    case .unlock: .unlocked
    case .disable: .disabled
    case .enable: .enabled
    }
  }
}

/// A command line that was understood: the command, its user and its options.
struct Order {
  enum Option: CaseIterable {
    case help, version, quiet, json, stdin, length, generate, batch, output, show, skipEnrolled, expires,
      withdraw, first, workstation, since, atLeast

    static let everywhere: [Option] = [.help, .version, .quiet]

    var entry: Arguments.Option {
      switch self {
      case .help: Arguments.Option("help")
      case .version: Arguments.Option("version")
      case .quiet: Arguments.Option("quiet")
      case .json: Arguments.Option("json")
      case .stdin: Arguments.Option("stdin")
      case .length: Arguments.Option("length", "4|6")
      case .generate: Arguments.Option("generate")
      case .batch: Arguments.Option("batch", "FILE|-")
      case .output: Arguments.Option("output", "FILE")
      case .show: Arguments.Option("show")
      case .skipEnrolled: Arguments.Option("skip-enrolled")
      case .expires: Arguments.Option("expires", "TIME")
      case .withdraw: Arguments.Option("withdraw")
      case .first: Arguments.Option("first")
      case .workstation: Arguments.Option("workstation", "NAME")
      case .since: Arguments.Option("since", "TIME")
      case .atLeast: Arguments.Option("at-least", "SEEN")
      }
    }
  }

  let command: Command
  /// The user that the command is about; empty where it names none.
  let user: Bytes
  private(set) var options: [Option] = []
  private(set) var length: Int?
  /// A list of users; "-": standard input.
  private(set) var list: Bytes?
  /// Where passcodes or codes go; empty: standard output.
  private(set) var output = Bytes()
  /// A workstation's distinguished name, in place of a user; empty: none.
  private(set) var workstation = Bytes()
  /// Only passcodes that were set, used or mistyped within so many seconds; nil: all.
  private(set) var since: UInt64?
  /// How far other servers have seen etcd come; nil: not told.
  private(set) var least: FleetSeen?
  /// Seconds that a one-time code is valid.
  private(set) var seconds = KeptCode.usualSeconds

  func has(_ option: Option) -> Bool { options.contains(option) }

  /// Secrets are made up, and told.
  var tellsSecrets: Bool { has(.generate) || command == .invite && !has(.withdraw) }

  init(_ command: Command, _ operands: ArraySlice<Bytes>, _ given: [(index: Int, value: Bytes)])
    throws(Failure)
  {
    self.command = command
    user = operands.first ?? []
    for (index, value) in given { try take(Option.allCases[index], value) }
    if has(.workstation), !operands.isEmpty || list != nil || has(.json) { throw .workstationOnly }
    let wanted = command.takesUser && list == nil && !has(.workstation) ? 1 : 0
    guard list == nil || operands.isEmpty else { throw .notWithBatch }
    guard operands.count == wanted else { throw .operands(command) }
    if command.takesUser && user.spells("root") { throw .root }
    try check()
  }

  private mutating func take(_ option: Option, _ value: Bytes) throws(Failure) {
    guard (command.options + Option.everywhere).contains(option) else { throw .notItsOption(command, option) }
    options.append(option)
    switch option {
    case .length:
      guard value.spells("4") || value.spells("6") else { throw .lengthValue }
      length = value.spells("4") ? 4 : 6
    case .batch: list = value
    case .output: output = value
    case .workstation: workstation = value
    case .expires:
      guard let seconds = NewTerms.seconds(value), seconds <= KeptCode.longestSeconds else {
        throw .expiresValue
      }
      self.seconds = seconds
    case .since:
      guard let seconds = duration(value[...]) else { throw .sinceValue }
      since = seconds
    case .atLeast:
      guard let seen = FleetSeen(text: value) else { throw .leastValue }
      least = seen
    // A contract is in one language, and so is what goes with it.
    case .json: Catalogue.useEnglish()
    case .help, .version, .quiet, .stdin, .generate, .show, .skipEnrolled, .withdraw, .first: break
    }
  }

  private func check() throws(Failure) {
    if list == nil {
      if has(.output) || has(.show) || has(.skipEnrolled) { throw .needsBatch }
      if has(.json) && command != .list && command != .status && command != .check { throw .needsBatch }
    } else {
      if has(.stdin) { throw .notWithBatch }
      if !tellsSecrets && (has(.output) || has(.show) || has(.length)) { throw .outputNeedsSecrets }
      if tellsSecrets && has(.json) && output.isEmpty { throw .jsonNeedsOutput }
    }
    if has(.withdraw) && has(.expires) { throw .withdrawOnly }
  }
}
