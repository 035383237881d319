internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// What `passcode check` says. Each sentence says what is wrong, and then what to do: in words, or after "; run: " by a
// command that can be run as it is. %1 stands for the path and the line, %2 and %3 for names, %d for a number.

extension CheckSkip {
  var text: Phrase {
    switch self {
    case .needsRoot: "not checked: only root can; run it with sudo"
    case .otherConfiguration: "not checked with --conf: this is about the installed system"
    case .badConfiguration: "not checked: correct the configuration first"
    case .afterErrors: "not asked: correct the errors first"
    case .noNobody:
      "skipped: there is no account \"nobody\" to run the helper as; run this as an ordinary user instead"
    case .notNobody: "skipped: can't switch to \"nobody\" here; run this as an ordinary user instead"
    }
  }
}

enum CheckDetail {
  static func key(isSealed: Bool) -> Phrase { isSealed ? "sealed by the TPM, and loaded" : "not sealed" }

  static var hiddenMessages: Phrase {
    "sudo hides PAM's messages; \"Defaults !pam_silent\" in sudoers would show them"
  }

  /// - Parameter milliseconds: of one hash.
  static func cost(milliseconds: UInt64, slots: Int) -> Phrase {
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
        .error, "%1: must belong to %2 alone; run: chown -h %2:root %1 && chmod go=,g-s %1", path,
        name: Installed.account)
    case .run(.notDirectory(let path)):
      told(.error, "%1: must be a directory; run: rm -f %1", path)
    // The helper makes it again. Other commands could follow a link; rm -r doesn't.
    case .run(.unsoundWaiting(let path)):
      told(
        .error, "%1: must be a file that belongs to %2 alone; run: rm -rf %1", path, name: Installed.account)
    case .line(let finding): finding.words
    case .rule(let finding): finding.words
    case .unread(let unread): (.warning, CheckWords(unread.sentence, path: unread.path))

    case .hiddenConfiguration(let path):
      told(.error, "%1: the helper can't read it; run: chmod a+r %1", path)
    case .slow(let milliseconds):
      told(.warning, "hashing takes %d ms: lower opslimit or memlimit in passcode.conf", number: milliseconds)
    case .noMemoryToHash(let bytes):
      told(.error, "not enough memory to hash (%d MiB): lower memlimit in passcode.conf", number: bytes >> 20)
    case .muchMemory(let bytes, let all):
      told(
        .warning, "max_parallel hashes can take %d of %2 MiB of memory: lower max_parallel or memlimit",
        name: decimalDigits(all >> 20), number: bytes >> 20)

    case .swapSpace(let path):
      told(
        .warning,
        "%1: unencrypted swap space could receive what the sealed key protects: encrypt it",
        path)
    case .hibernation(let path):
      told(
        .warning,
        "%1: hibernation would write the unsealed key there, unencrypted: encrypt it, or forbid hibernation",
        path)
    case .missingLibrary(let name):
      told(
        .warning, "%2: can't be loaded, and the key can't be unsealed without it: install its package",
        name: name)

    case .missingProgram(let path): told(.error, "%1: no such file: reinstall the package", path)
    case .otherVersion(let path):
      told(
        .error, "%1: not the same version as this program (%2): install both from one package", path,
        name: version.bytes)
    case .untrustedModule(let path):
      told(.error, "%1: only root may write to it: reinstall the package", path)
    case .unloadableModule(let path):
      told(.error, "%1: can't be loaded; to see what it lacks: ldd -r %1", path)
    case .otherModule(let path, let line, let module, true):
      told(
        .warning, "%1: %2 is not the installed module: write pam_passcode.so instead", path, line,
        name: module)
    case .otherModule(let path, let line, let module, false):
      told(.error, "%1: there is no module %2: write pam_passcode.so instead", path, line, name: module)
    case .helperMode(let path):
      told(
        .error,
        "%1: must be owned by %2:%2 with mode 6755; run: chown %2:%2 %1 && chmod 6755 %1", path,
        name: Installed.account)
    case .untrustedHelper(let path):
      told(.error, "%1: another account can write to it: reinstall the package", path)
    case .nosuid(let path):
      told(
        .error, "%1: its file system is mounted nosuid, so it can't become %2: mount that without nosuid",
        path, name: Installed.account)
    case .helperSilent(let path):
      told(.error, "%1: gives no answer: see the journal, and passcode-helper(8)", path)
    case .helperRefuses:
      told(
        .error, "the helper can't use the configuration, the key or the store: see its line in the journal")
    case .notConfined(let path):
      told(.warning, "%1: is not loaded: the helper runs unconfined; run: apparmor_parser -r %1", path)
    case .complaining:
      told(.warning, "the helper's profile is in complain mode; run: aa-enforce %2", name: Helper.path)

    case .noFingerProgram:
      told(.warning, "finger=yes needs a package that isn't installed; run: apt install passcode-finger")
    case .untrustedFingerProgram(let path):
      told(.error, "%1: only root may write to it; run: apt reinstall passcode-finger", path)
    case .fingerNeedsSystemd:
      told(.warning, "finger=yes needs systemd as PID 1: remove the option")
    case .fingerNotListening(let path):
      told(
        .warning,
        "%1: no such socket, so finger=yes has no effect; run: systemctl enable --now passcode-finger.socket",
        path)

    case .noFleetProgram:
      told(.error, "verifier= needs a package that isn't installed; run: apt install passcode-fleet")

    case .nobodyAsks:
      told(.warning, "no PAM service asks for the passcode; run: pam-auth-update --enable passcode")
    case .editedProfile(let path, let line):
      told(
        .warning, "%1: edited by hand, so pam-auth-update leaves it alone: move the line out of the block",
        path, line)
    case .lostProfile(let path):
      told(
        .warning, "%1: the profile is enabled, but its line is missing; run: pam-auth-update --force", path)
    case .polkitCannotWrite(let store):
      told(
        .error,
        "polkit can't write to %1: with \"systemctl edit polkit-agent-helper@.service\" add: [Service] ReadWritePaths=%1",
        store)
    case .noTmpfiles:
      told(.warning, "no tmpfiles.d/passcode.conf makes /run/passcode at boot: reinstall the package")
    case .member(let name):
      told(
        .error, "%2 is in the group %3 and can read the machine key; run: gpasswd -d %2 %3",
        name: name, other: Installed.account)
    }
  }
}

/// A finding's sentence with its parameters filled in.
@inline(never)
func told(
  _ level: CheckLevel, _ pattern: Pattern, _ path: Bytes = [], _ line: Int = 0, name: Bytes = [],
  other: Bytes = [], number: UInt64 = 0
) -> (CheckLevel, CheckWords) {
  let shown = printable(path)
  let place = line > 0 ? Text("\(shown):\(line)").bytes : shown
  let advice = Advice(
    Sentence(pattern, number, [place, printable(name), printable(other)]), exact: [path, name, other],
    in: Catalogue.translation)
  return (level, CheckWords(advice, path: path, line: UInt64(max(0, line))))
}

@inline(never)
func told(_ fault: Fault) -> (CheckLevel, CheckWords) {
  if let problem = fault.keyProblem {
    return (problem.isWarning ? .warning : .error, CheckWords(problem.advice(fault), path: fault.path))
  }
  let line = fault.reason.isOption ? fault.number : 0
  return (fault.reason.isNote ? .warning : .error, CheckWords(fault.advice, path: fault.path, line: line))
}

extension StoreFinding {
  fileprivate var words: (CheckLevel, CheckWords) {
    switch self {
    case .fault(let fault): told(fault)
    case .openStore(let path):
      told(.error, "%1: must belong to %2 alone; run: chmod -R go=,g-s %1", path, name: Installed.account)
    case .lowSpace(let path, let bytes):
      told(.warning, "%1: %d KiB free: make room, or no one can be enrolled", path, number: bytes >> 10)
    case .fewFiles(let path, let files):
      told(.warning, "%1: room for %d more files: make room, or no one can be enrolled", path, number: files)
    case .readOnly(let path):
      told(.error, "%1: mounted read-only, so no attempt can be counted: mount it writable", path)
    case .stray(let path): told(.warning, "%1: is not a record: move it elsewhere", path)
    case .damagedCopy(let path):
      told(.warning, "%1: one copy is damaged; the other is used, and the next attempt repairs it", path)
    case .orphan(let path, let uid):
      told(
        .warning, "%1: is the record of an account that doesn't exist; run: passcode remove %d", path,
        number: UInt64(uid))
    case .leftover(let path, let uid, let was):
      told(
        .warning, "%1: enrolled for %2, who has another uid now: nobody can use it; run: passcode remove %d",
        path,
        name: was, number: UInt64(uid))
    case .rollBack(let path):
      told(
        .warning,
        "%1: the disk is not encrypted, so an attacker can restore old records and regain used attempts: set first_login=deny",
        path)
    case .reused(let path, let was, let now) where !isPlain(was) || !isPlain(now):
      told(
        .warning,
        "%1: enrolled for %2, but the uid now belongs to %3: if the account was renamed, rename its record; if not, enrol again",
        path, name: was, other: now)
    case .reused(let path, let was, let now):
      told(
        .warning,
        "%1: enrolled for %2, but the uid now belongs to %3: if the account was renamed, run passcode rename %2 %3; if not, passcode enroll %3",
        path, name: was, other: now)
    }
  }
}
