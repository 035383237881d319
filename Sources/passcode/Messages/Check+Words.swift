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
  // MARK: - Configuration and cost

  /// The helper can't read the configuration.
  static func hiddenConfiguration(_ path: Bytes) -> CheckFinding {
    told(.error, "%1: the helper can't read it; run: chmod a+r %1", path)
  }

  static func unknownPreset(_ path: Bytes, _ line: Int, _ name: Bytes) -> CheckFinding {
    told(.warning, "%1: there is no preset %2: correct or remove the comment", path, line, name: name)
  }

  /// - Parameter line: of the option, or of the comment that names the preset.
  static func presetDiffers(_ path: Bytes, _ line: Int, _ option: Bytes, _ preset: Bytes) -> CheckFinding {
    told(
      .warning,
      "%1: %2 is not as in the preset %3, which the file names; run: passcode configure --preset %3", path,
      line, name: option, other: preset)
  }

  static func withoutPassword(_ path: Bytes, _ account: Bytes) -> CheckFinding {
    told(
      .error, "%1: password_every and finger=both need passwords, and %2 has none: set one", path, 0,
      name: account)
  }

  static func slow(milliseconds: UInt64) -> CheckFinding {
    told(.warning, "hashing takes %d ms: lower opslimit or memlimit in passcode.conf", number: milliseconds)
  }

  static func noMemoryToHash(bytes: UInt64) -> CheckFinding {
    told(.error, "not enough memory to hash (%d MiB): lower memlimit in passcode.conf", number: bytes >> 20)
  }

  /// - Parameters:
  ///   - bytes: what all hashing slots together may take.
  ///   - all: the machine's memory.
  static func muchMemory(bytes: UInt64, of all: UInt64) -> CheckFinding {
    told(
      .warning, "max_parallel hashes can take %d of %2 MiB of memory: lower max_parallel or memlimit",
      name: decimalDigits(all >> 20), number: bytes >> 20)
  }

  // MARK: - The key

  /// - Parameter path: where memory is swapped out to.
  static func swapSpace(_ path: Bytes) -> CheckFinding {
    told(
      .warning, "%1: unencrypted swap space could receive what the sealed key protects: encrypt it", path)
  }

  /// - Parameter path: where a hibernated machine's memory goes.
  static func hibernation(_ path: Bytes) -> CheckFinding {
    told(
      .warning,
      "%1: hibernation would write the unsealed key there, unencrypted: encrypt it, or forbid hibernation",
      path)
  }

  /// A library is missing, without which systemd-creds can't reach the TPM.
  static func missingLibrary(_ name: Bytes) -> CheckFinding {
    told(
      .warning, "%2: can't be loaded, and the key can't be unsealed without it: install its package",
      name: name)
  }

  // MARK: - Programs

  static func missingProgram(_ path: Bytes) -> CheckFinding {
    told(.error, "%1: no such file: reinstall the package", path)
  }

  static func otherVersion(_ path: Bytes) -> CheckFinding {
    told(
      .error, "%1: not the same version as this program (%2): install both from one package", path,
      name: version.bytes)
  }

  /// The module belongs to someone else, or others can write to it.
  static func untrustedModule(_ path: Bytes) -> CheckFinding {
    told(.error, "%1: others can write to it: reinstall the package", path)
  }

  static func unloadableModule(_ path: Bytes) -> CheckFinding {
    told(.error, "%1: can't be loaded; to see what it lacks: ldd -r %1", path)
  }

  /// A line names another file than the installed module.
  ///
  /// - Parameter isThere: whether that file exists.
  static func otherModule(_ path: Bytes, _ line: Int, module: Bytes, isThere: Bool) -> CheckFinding {
    isThere
      ? told(
        .warning, "%1: %2 is not the installed module: write pam_passcode.so instead", path, line,
        name: module)
      : told(.error, "%1: there is no module %2: write pam_passcode.so instead", path, line, name: module)
  }

  static func helperMode(_ path: Bytes) -> CheckFinding {
    told(
      .error, "%1: must be owned by %2:%2 with mode 6755; run: chown %2:%2 %1 && chmod 6755 %1", path,
      name: Installed.account)
  }

  /// The helper isn't a file of root or `_passcode`, or others can write to it.
  static func untrustedHelper(_ path: Bytes) -> CheckFinding {
    told(.error, "%1: another account can write to it: reinstall the package", path)
  }

  static func nosuid(_ path: Bytes) -> CheckFinding {
    told(
      .error, "%1: its file system is mounted nosuid, so it can't become %2: mount that without nosuid",
      path, name: Installed.account)
  }

  /// The helper gives no answer, and the reason isn't known.
  static func helperSilent(_ path: Bytes) -> CheckFinding {
    told(.error, "%1: gives no answer: see the journal, and passcode-helper(8)", path)
  }

  static var helperRefuses: CheckFinding {
    told(.error, "the helper can't use the configuration, the key or the store: see its line in the journal")
  }

  static func notConfined(_ path: Bytes) -> CheckFinding {
    told(.warning, "%1: is not loaded: the helper runs unconfined; run: apparmor_parser -r %1", path)
  }

  static var complaining: CheckFinding {
    told(
      .warning, "the helper's profile is in complain mode; run: aa-enforce %2",
      name: Installed.path(of: .helper))
  }

  // MARK: - Other packages' programs

  /// A service has `finger=yes`.
  static var noFingerProgram: CheckFinding {
    told(.warning, "finger=yes needs a package that isn't installed; run: apt install passcode-finger")
  }

  static func untrustedFingerProgram(_ path: Bytes) -> CheckFinding {
    told(.error, "%1: others can write to it; run: apt reinstall passcode-finger", path)
  }

  static var fingerNeedsSystemd: CheckFinding {
    told(.warning, "finger=yes needs systemd as PID 1: remove the option")
  }

  /// The socket of passcode-finger isn't there.
  static func fingerNotListening(_ path: Bytes) -> CheckFinding {
    told(
      .warning,
      "%1: no such socket, so finger=yes has no effect; run: systemctl enable --now passcode-finger.socket",
      path)
  }

  /// `verifier=` is set, and the package passcode-fleet is missing.
  static var noFleetProgram: CheckFinding {
    told(.error, "verifier= needs a package that isn't installed; run: apt install passcode-fleet")
  }

  // MARK: - Services

  static var nobodyAsks: CheckFinding {
    told(.warning, "no PAM service asks for the passcode; run: pam-auth-update --enable passcode")
  }

  static func editedProfile(_ path: Bytes, _ line: Int) -> CheckFinding {
    told(
      .warning, "%1: edited by hand, so pam-auth-update leaves it alone: move the line out of the block",
      path, line)
  }

  static func lostProfile(_ path: Bytes) -> CheckFinding {
    told(
      .warning, "%1: the profile is enabled, but its line is missing; run: pam-auth-update --force", path)
  }

  /// The unit of polkit's helper may not write to this directory.
  static func polkitCannotWrite(_ store: Bytes) -> CheckFinding {
    told(
      .error,
      "polkit can't write to %1: systemctl edit polkit-agent-helper@.service, and add two lines: [Service] and ReadWritePaths=%1",
      store)
  }

  static var noTmpfiles: CheckFinding {
    told(.warning, "no tmpfiles.d/passcode.conf makes /run/passcode at boot: reinstall the package")
  }

  static func member(_ name: Bytes) -> CheckFinding {
    told(
      .error, "%2 is in the group %3 and can read the machine key; run: gpasswd -d %2 %3",
      name: name, other: Installed.account)
  }
}

extension CheckFinding {
  static func noRunFolder(_ path: Bytes) -> CheckFinding {
    told(.warning, "%1: no such directory; run: systemd-tmpfiles --create passcode.conf", path)
  }

  static func sharedRunFolder(_ path: Bytes) -> CheckFinding {
    told(
      .error, "%1: must belong to %2 alone; run: chown -h %2:root %1 && chmod go=,g-s %1", path,
      name: Installed.account)
  }

  static func runIsNoFolder(_ path: Bytes) -> CheckFinding {
    told(.error, "%1: must be a directory; run: rm -f %1", path)
  }

  // The helper makes it again. Other commands could follow a link; rm -r doesn't.
  static func unsoundWaiting(_ path: Bytes) -> CheckFinding {
    told(.error, "%1: must be a file that belongs to %2 alone; run: rm -rf %1", path, name: Installed.account)
  }

  static func store(_ finding: StoreFinding) -> CheckFinding {
    switch finding {
    case .fault(let fault): .fault(fault)
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
