internal import PasscodePolicy
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeVault

// What `passcode check` says. Each sentence says what is wrong, and then what to do: in words, or after "; run: " by a
// command that can be run as it is. %1 stands for the path and the line, %2 and %3 for names, %d for a number.

/// A finding in words.
struct CheckWords {
  let path: Bytes
  /// 0: none.
  let line: UInt64
  /// Without the command.
  let sentence: Text
  /// As root; empty: none.
  let command: Text

  init(_ text: Text, path: Bytes = [], line: UInt64 = 0) {
    self.path = path
    self.line = line
    let mark = "; run: "
    let bytes = text.bytes
    if let place = bytes.indices.first(where: { bytes[$0...].begins(with: mark) }) {
      sentence = Text(Bytes(bytes[..<place]))
      command = Text(Bytes(bytes[(place + mark.utf8.count)...]))
    } else {
      sentence = text
      command = ""
    }
  }

  func line(_ check: Text, _ level: CheckLevel) -> Text {
    var text: Text = "\(level.mark) \(check)"
    if !sentence.bytes.isEmpty { text += ": \(sentence)" }
    return command.bytes.isEmpty ? text + "\n" : text + "\n    run: \(command)\n"
  }
}

extension CheckLevel {
  fileprivate var mark: Text {
    switch self {
    case .ok: "✓"
    case .warning: "!"
    case .error: "✗"
    case .skipped: "-"
    }
  }
}

extension CheckSkip {
  var text: Text {
    switch self {
    case .needsRoot: "not checked: only root can; run it with sudo"
    case .otherConfiguration: "not checked with --conf: it is about the system"
    case .badConfiguration: "not checked: correct the configuration first"
    case .afterErrors: "not asked: correct the errors first"
    }
  }
}

enum CheckDetail {
  /// - Parameter milliseconds: of one hash.
  static func cost(milliseconds: UInt64, slots: Int) -> Text {
    slots == 1
      ? "hashing takes \(milliseconds) ms; one at a time"
      : "hashing takes \(milliseconds) ms; \(slots) at a time"
  }
}

extension CheckFinding {
  var words: (CheckLevel, CheckWords) {
    switch self {
    case .fault(let fault): told(fault)
    case .store(let finding): finding.words
    case .run(.missing(let path)):
      told(.warning, "%1: no such directory; run: systemd-tmpfiles --create passcode.conf", path)
    case .run(.notItsOwn(let path)):
      told(
        .error, "%1: must be _passcode's alone; run: chown -h _passcode:root %1 && chmod go=,g-s %1", path)
    case .line(let finding): finding.words
    case .rule(let finding): finding.words
    case .unread(let unread): (.warning, CheckWords(unread.sentence, path: unread.path))

    case .hiddenConfiguration(let path):
      told(.error, "%1: the helper can't read it; run: chmod a+r %1", path)
    case .slow(let milliseconds):
      told(.warning, "hashing takes %d ms: lower opslimit or memlimit in passcode.conf", number: milliseconds)
    case .noMemoryToHash(let bytes):
      told(.error, "no memory to hash (%d MiB): lower memlimit in passcode.conf", number: bytes >> 20)
    case .muchMemory(let bytes, let all):
      told(
        .warning, "max_parallel hashes can take %d MiB of %2 MiB memory: lower max_parallel or memlimit",
        name: decimalDigits(all >> 20), number: bytes >> 20)

    case .missingProgram(let path): told(.error, "%1: no such file: reinstall the package", path)
    case .otherVersion(let path):
      told(
        .error, "%1: of another version than this program (%2): install all from one package", path,
        name: version.bytes)
    case .untrustedModule(let path):
      told(.error, "%1: only root may write to it; run: chown root: %1 && chmod 0644 %1", path)
    case .unloadableModule(let path):
      told(.error, "%1: can't be loaded; to see what it lacks: ldd -r %1", path)
    case .otherModule(let path, let line, let module, true):
      told(.warning, "%1: %2 is not the installed module: name pam_passcode.so", path, line, name: module)
    case .otherModule(let path, let line, let module, false):
      told(.error, "%1: %2: no such module: name pam_passcode.so", path, line, name: module)
    case .helperMode(let path):
      told(
        .error,
        "%1: must be _passcode's with mode 6755; run: chown _passcode:_passcode %1 && chmod 6755 %1", path)
    case .nosuid(let path):
      told(.error, "%1: it is mounted nosuid, and can't become _passcode: mount it without nosuid", path)
    case .helperSilent(let path):
      told(.error, "%1: gives no answer: see the journal, and passcode-helper(8)", path)
    case .helperRefuses:
      told(.error, "the helper can't use configuration, key or store: see its line in the journal")
    case .notConfined(let path):
      told(.warning, "%1: is not loaded: the helper runs unconfined; run: apparmor_parser -r %1", path)
    case .complaining:
      told(.warning, "the helper's profile only complains; run: aa-enforce /usr/libexec/passcode-helper")

    case .nobodyAsks:
      told(.warning, "no PAM service asks for the passcode; run: pam-auth-update --enable passcode")
    case .editedProfile(let path, let line):
      told(
        .warning, "%1: edited by hand, so pam-auth-update leaves it alone: move the line out of the block",
        path, line)
    case .lostProfile(let path):
      told(
        .warning, "%1: the profile is enabled, and its line isn't there; run: pam-auth-update --force", path)
    case .polkitCannotWrite(let store):
      told(
        .error,
        "polkit can't write to %1: \"systemctl edit polkit-agent-helper@.service\": [Service] ReadWritePaths=%1",
        store)
    case .noTmpfiles:
      told(.warning, "no tmpfiles.d/passcode.conf makes /run/passcode at boot: reinstall the package")
    case .member(let name):
      told(
        .error, "%2 is in the group _passcode and can read the machine key; run: gpasswd -d %2 _passcode",
        name: name)
    }
  }
}

/// A sentence of ours with its parameters.
@inline(never)
private func told(
  _ level: CheckLevel, _ pattern: String, _ path: Bytes = [], _ line: Int = 0, name: Bytes = [],
  other: Bytes = [], number: UInt64 = 0
) -> (CheckLevel, CheckWords) {
  let shown = printable(path)
  let place = line > 0 ? Text("\(shown):\(line)").bytes : shown
  let text = Words.fill(pattern, number, place, printable(name), printable(other))
  return (level, CheckWords(text, path: path, line: UInt64(max(0, line))))
}

@inline(never)
private func told(_ fault: Fault) -> (CheckLevel, CheckWords) {
  let line = fault.reason.isOption ? fault.number : 0
  return (fault.reason.isNote ? .warning : .error, CheckWords(fault.text, path: fault.path, line: line))
}

extension StoreFinding {
  fileprivate var words: (CheckLevel, CheckWords) {
    switch self {
    case .fault(let fault): told(fault)
    case .openStore(let path):
      told(.error, "%1: must be _passcode's alone; run: chmod -R go=,g-s %1", path)
    case .lowSpace(let path, let bytes):
      told(.warning, "%1: %d KiB free: make room, or no one can be enrolled", path, number: bytes >> 10)
    case .fewFiles(let path, let files):
      told(.warning, "%1: room for %d more files: make room, or no one can be enrolled", path, number: files)
    case .readOnly(let path):
      told(.error, "%1: mounted read-only, so no attempt can be counted: mount it writable", path)
    case .stray(let path): told(.warning, "%1: is not a record: move it elsewhere", path)
    case .damagedCopy(let path):
      told(.warning, "%1: one copy is damaged, the other serves: the next attempt writes it again", path)
    case .orphan(let path, let uid):
      told(
        .warning, "%1: of an account that doesn't exist; run: passcode remove %d", path, number: UInt64(uid))
    case .reused(let path, let was, let now):
      told(
        .warning, "%1: enrolled for %2, but the uid now belongs to %3; run: passcode remove %2", path,
        name: was, other: now)
    }
  }
}

extension PAMFinding {
  fileprivate var words: (CheckLevel, CheckWords) {
    switch problem {
    case .option(let fault): told(fault)
    case .unmarkedSecondFactor:
      told(
        .error,
        "%1: password and passcode are required, but the password alone can set the passcode: add second_factor",
        path, line)
    case .noWayToThePassword:
      told(
        .warning,
        "%1: auth_err=die without either: after a wrong passcode the password isn't asked for: add either",
        path,
        line)
    }
  }
}

extension PAMRuleFinding {
  fileprivate var words: (CheckLevel, CheckWords) {
    let (level, pattern, name) = rule.words
    return told(level, pattern, path, line, name: name)
  }
}

extension PAMRule {
  fileprivate var words: (CheckLevel, String, Bytes) {
    switch self {
    case .badLine: (.error, "%1: libpam can't read this line, and refuses: correct it", [])
    case .badControl:
      (.error, "%1: libpam doesn't know this control, and refuses: correct it, see pam.conf(5)", [])
    case .missingFile(let name): (.error, "%1: %2: no such file, so libpam refuses: correct the line", name)
    case .wrongType:
      (.error, "%1: the module has only auth and session, so libpam refuses: remove the line", [])
    case .neverLetsIn:
      (.error, "%1: a right passcode is refused: its success must skip the lines that refuse", [])
    case .decidesNothing:
      (.warning, "%1: the passcode decides nothing here: put the line before the password's", [])
    case .letsAnyoneIn: (.error, "%1: this stack lets anyone in: end it with pam_deny.so", [])
    case .nullokLetsAnyoneIn:
      (.error, "%1: nullok lets users without a passcode in without any secret: remove nullok", [])
    case .nullokRefuses:
      (.warning, "%1: nullok, but the control refuses PAM_IGNORE: add ignore=ignore to it", [])
    case .rootNeedsPasscode(true):
      (
        .warning,
        "%1: no service takes the password alone: if root's passcode is locked, root is locked out: keep another way",
        []
      )
    case .rootNeedsPasscode(false):
      (
        .error,
        "%1: no service takes the password alone, and root has no passcode; run: passcode enroll root", []
      )
    case .rootNeedsPasscode(nil):
      (.warning, "%1: no service takes the password alone: root may be locked out: keep another way", [])
    case .passwordFirst:
      (.warning, "%1: the password is asked for first, and gets what is typed: put this line before it", [])
    case .askedTwice: (.warning, "%1: the stack asks for the passcode twice: remove one of its lines", [])
    case .fingerAfterEither:
      (.warning, "%1: after a password pam_fprintd waits for a finger: put its line before this one", [])
    case .faillockCounts:
      (
        .warning,
        "%1: pam_faillock counts a wrong passcode as a wrong password: use auth_err=die, see examples/faillock",
        []
      )
    case .needsPassword(let module):
      (
        .warning,
        "%1: %2 needs the password, typed once after each boot: set first_login=deny in passcode.conf",
        module
      )
    case .secondFactorOff:
      (.error, "%1: second_factor refuses every login until passcode.conf has second_factor=yes", [])
    case .notSecond:
      (.error, "%1: second_factor, but the passcode alone is enough: require the password, too", [])
    case .onlyFactor:
      (.warning, "%1: passcode.conf has second_factor=yes, but here the passcode alone is enough", [])
    case .remoteDenied:
      (
        .error, "%1: these logins are remote, and refused without remote=allow: add it, or remove the line",
        []
      )
    case .remoteUseless:
      (
        .warning,
        "%1: these logins are remote, and never asked without remote=allow: add it, or remove the line", []
      )
    case .noSessionLine:
      (
        .error,
        "%1: first_login=deny, and no service notes a login: add \"session optional pam_passcode.so\" where people log in",
        []
      )
    case .firstLoginRefused:
      (.error, "%1: first_login=deny, and no password to log in with first: add first_login=allow", [])
    case .asksInPasswordService:
      (.error, "%1: this service must ask for the password alone: name pam_unix.so or the like", [])
    case .passwordServiceOpen:
      (.error, "%1: takes any password: name pam_unix.so or the like as required", [])
    }
  }
}
