internal import PasscodePolicy

/// What a line's control says of a module's results.
public struct PAMControl: Equatable, Sendable {
  public enum Action: Equatable, Sendable {
    case ok, done, bad, die, ignore, reset
    /// Skips so many lines.
    case jump(Int)
  }

  public let success: Action
  /// What follows PAM_AUTH_ERR.
  public let failure: Action
  /// What follows PAM_USER_UNKNOWN: no passcode is set.
  public let unasked: Action
  /// What follows PAM_IGNORE.
  public let ignored: Action
  /// What follows PAM_PERM_DENIED, which is libpam's own result, too, for a line that it doesn't understand.
  public let denied: Action
  /// Not by a word or a default: `auth_err=die` is written there.
  public let diesOnFailure: Bool
  /// Whether libpam accepts the control.
  public let isUnderstood: Bool

  /// - Parameter text: `required`, or what stands in brackets: `success=1 default=ignore`. What libpam doesn't
  ///   understand is bad for it, whatever the result.
  init(_ text: Bytes) {
    let word = lowercased(text)
    if word.spells("required") {
      self.init(.ok, .bad)
    } else if word.spells("requisite") {
      self.init(.ok, .die)
    } else if word.spells("optional") {
      self.init(.ok, .ignore)
    } else if word.spells("sufficient") {
      self.init(.done, .ignore)
    } else {
      self = PAMControl(values: text) ?? PAMControl.notUnderstood
    }
  }

  /// - Parameter failure: also for what isn't told.
  init(
    _ success: Action, _ failure: Action, unasked: Action? = nil, ignored: Action = .ignore,
    denied: Action? = nil, diesOnFailure: Bool = false,
    isUnderstood: Bool = true
  ) {
    self.success = success
    self.failure = failure
    self.unasked = unasked ?? failure
    self.ignored = ignored
    self.denied = denied ?? failure
    self.diesOnFailure = diesOnFailure
    self.isUnderstood = isUnderstood
  }

  static var notUnderstood: PAMControl {
    PAMControl(.bad, .bad, ignored: .bad, isUnderstood: false)
  }

  private init?(values text: Bytes) {
    let known: Literal = "success auth_err user_unknown ignore perm_denied"
    var actions = [Action?](repeating: nil, count: 5)
    var diesOnFailure = false
    var rest = PAMControl.withoutSpace(text[...])
    while !rest.isEmpty {
      guard let name = PAMControl.takeResult(&rest), rest.first == UInt8(ascii: "=") else { return nil }
      rest = PAMControl.withoutSpace(rest.dropFirst())
      guard let action = PAMControl.takeAction(&rest) else { return nil }
      if let index = number(of: name, among: known) {
        actions[index] = action
        if index == 1 { diesOnFailure = action == .die }
      } else if name.spells("default") {
        // For what wasn't named before it.
        for index in actions.indices { actions[index] = actions[index] ?? action }
      }
    }
    self.init(
      actions[0] ?? .bad, actions[1] ?? .bad, unasked: actions[2] ?? .bad, ignored: actions[3] ?? .bad,
      denied: actions[4] ?? .bad, diesOnFailure: diesOnFailure)
  }

  /// What follows the space at the beginning, which is more to libpam here than between words: isspace(3).
  @inline(never)
  private static func withoutSpace(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while let first = text.first, first == UInt8(ascii: " ") || 9...13 ~= first { text.removeFirst() }
    return text
  }

  /// Takes the name of a result of PAM's, or `default`, and the blanks behind it.
  private static func takeResult(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    let names: Literal = """
      success open_err symbol_err service_err system_err buf_err perm_denied auth_err cred_insufficient \
      authinfo_unavail user_unknown maxtries new_authtok_reqd acct_expired session_err cred_unavail cred_expired \
      cred_err no_module_data conv_err authtok_err authtok_recover_err authtok_lock_busy authtok_disable_aging \
      try_again ignore abort authtok_expired module_unknown bad_item conv_again incomplete default
      """
    for name in Bytes(text: names)[...].words() where rest.starts(with: name) {
      rest = withoutSpace(rest.dropFirst(name.count))
      return name
    }
    return nil
  }

  /// Takes an action, and the blanks behind it.
  private static func takeAction(_ rest: inout ArraySlice<UInt8>) -> Action? {
    let actions: [(Literal, Action)] = [
      ("ignore", .ignore), ("ok", .ok), ("done", .done), ("bad", .bad), ("die", .die), ("reset", .reset),
    ]
    for (word, action) in actions where rest.begins(with: word) {
      rest = withoutSpace(rest.dropFirst(word.count))
      return action
    }
    let digits = rest.prefix { isDigit($0) }
    rest = withoutSpace(rest.dropFirst(digits.count))
    guard let lines = decimal(digits.drop { $0 == UInt8(ascii: "0") }), (1...2_147_483_647).contains(lines)
    else {
      return nil
    }
    return .jump(Int(lines))
  }
}
