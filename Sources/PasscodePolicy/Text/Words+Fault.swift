// A fault in words: in the log, always in English, and by the tool. One line each: what, where, and what to do.
//
// Each sentence is one literal, with %1 for the path, %2 for the name, %3 for the system's words and %d for the number.
// Of options %1 is the place, and %3 what it needs. Where `namesServiceAccount`, %3 is that account's name.

extension Words {
  /// A fault in words, in English: only those that a login can meet, for the module needs no others.
  ///
  /// - Parameter error: the system's words for the fault's errno; or the service account's name
  ///   (`namesServiceAccount`).
  public static func loginFault(_ fault: Fault, error: Bytes) -> Text {
    fill(Sentence(loginPattern(fault.reason)), fault, error, Sentence.inEnglish).text
  }

  /// A fault in words, in English: only those that the helper can meet.
  public static func helperFault(_ fault: Fault, error: Bytes) -> Text {
    fill(Sentence(helperPattern(fault.reason)), fault, error, Sentence.inEnglish).text
  }

  /// - Returns: nothing, where the helper can't meet it; WordsTests has which those are.
  static func helperPattern(_ reason: Fault.Reason) -> Pattern {
    switch reason {
    case .badCode: "%1: \"%2\" needs 4 or 6 digits"
    case .noPasswordService: "%1: no such file: without it passwords can't be checked; see passcode-helper(8)"
    case .noWeakList: "%1: no such file: create it, or change weak_list"
    case .nameTooLong: "%2: the account name is too long, or has control characters"
    case .vanishedRecord: "the record disappeared while it was being created: try again"
    case .expiredMeanwhile: "the passcode has expired in the meantime; nothing was changed"
    case .noMemoryToHash: "not enough memory to hash a passcode: free some, or lower memlimit (%d KiB)"
    // Everything else is a login's, too.
    default: loginPattern(reason)
    }
  }

  /// - Returns: nothing, where a login can't meet it; WordsTests has which those are.
  @inline(never)
  private static func loginPattern(_ reason: Fault.Reason) -> Pattern {
    filePattern(reason) ?? storePattern(reason) ?? machinePattern(reason) ?? ""
  }

  private static func filePattern(_ reason: Fault.Reason) -> Pattern? {
    switch reason {
    case .failed: "%1: %3"
    case .missing: "%1: no such file"
    case .notDirectory: "%1: must be a directory, not a link or a file"
    case .notRegularFile: "%1: must be a regular file"
    case .symbolicLink: "%1: must not be a symbolic link"
    case .wrongOwner: "%1: must be owned by %2; run: chown -h %2 %1"
    case .writableByOthers: "%1: must be writable by its owner only; run: chmod go-w %1"
    case .readableByAll: "%1: everyone can read it; run: chmod o-r %1"
    case .deniedToRoot:
      "%1: root is denied access: the program lacks CAP_DAC_OVERRIDE, or is confined; see pam_passcode(8)"
    case .deniedToService: "%1: %3 can't read it; see passcode-helper(8)"

    case .unknownOption: "%1: unknown option \"%2\""
    case .policyInModuleLine: "%1: \"%2\" belongs in the configuration file"
    case .optionTwice: "%1: \"%2\" is given twice"
    case .badLine: "%1: too long, or with control characters: \"%2\""
    case .fileTooLarge: "%1: the file is larger than 64 KiB"
    // Translators: %1 is a place in the configuration, %2 what stands there, %3 such as "1 to 64".
    case .badValue: "%1: \"%2\" needs %3"
    case .privilegedConfiguration: "a program with raised privileges can't use another configuration file"
    case .secondFactorOff: "the module line has second_factor: set second_factor=yes in %1, too"
    case .bothNeedsPassword:
      "%1: finger=both works neither with second_factor nor with verifier: remove one of them"
    case .inPasswordService: "%1: remove the pam_passcode line: this service checks passwords"
    default: nil
    }
  }

  private static func storePattern(_ reason: Fault.Reason) -> Pattern? {
    switch reason {
    case .noKey:
      "%1: no machine key: mount, restore or load it (passcode key load); while nobody is enrolled, run: passcode key init"
    case .keyLength: "%1: wrong size, or damaged: restore it from a backup"
    case .noStore: "%1: no such directory: mount it, or create it with: passcode key init"
    case .damagedRecord:
      "%1: the record is damaged: restore it from a backup, or run as root: passcode enroll %2"
    case .sealedOtherwise:
      """
      %1: was sealed under another machine key, or was altered: restore the key or the record from a backup, or \
      run as root: passcode enroll %2
      """
    case .laterVersion:
      "%1: written by a later version of pam_passcode (format %d): upgrade this one; nothing was changed"
    case .unwritableRecord: "%1: can't be written: %3"
    case .busyRecord: "%1: another attempt holds the record: try again later"
    case .changedMeanwhile: "the passcode has been changed or removed in the meantime; nothing was changed"
    case .notPlainRecord: "%1: must be a regular file with only one hard link"
    // Never chown or chmod: that would make a record valid that somebody else has written.
    case .foreignRecord:
      "%1: must be owned by %2: don't trust it, remove it and enrol again; run: rm %1"
    case .openRecord:
      "%1: must be writable by its owner only: don't trust it, remove it and enrol again; run: rm %1"

    case .accountLookup: "the account can't be looked up: %3"
    case .lostAccount: "uid %d can't be looked up; to see why, run: getent passwd %d"
    case .noAccount: "uid %d has no account"
    default: nil
    }
  }

  private static func machinePattern(_ reason: Fault.Reason) -> Pattern? {
    switch reason {
    case .noHashingSlot:
      "no hashing slot became free for 2 minutes: too many passcodes are being hashed; try again later"
    case .noMemoryToVerify: "not enough memory to verify a passcode (%d KiB): %3"
    case .hashingFailed: "hashing could not be completed (no memory); the attempt counts"
    case .noMemory: "not enough memory for a passcode"
    case .noBootID: "/proc/sys/kernel/random/boot_id can't be read, so lockout times are unknown: mount /proc"
    case .noBootClock: "the kernel has no CLOCK_BOOTTIME"

    case .noReply: "%1: ended without a reply; see passcode-helper(8)"
    case .invalidReply: "%1: invalid reply; see passcode-helper(8)"
    case .helperMode: "%1: must be owned by %3:%3 with mode 6755; see passcode-helper(8)"
    case .noServiceAccount: "%1: there is no account %3: reinstall the package"
    case .helperPrivilege:
      "%1: can't become %3: its mode is not 6755, it is mounted nosuid, or its caller has no_new_privs"
    case .helperForRoot: "%1: root must not run it; see passcode-helper(8)"
    case .notListed:
      "this workstation is not on the servers' list: add its name, as a server's log shows it, to %1 on each server"
    case .tooManyRequests: "too many requests at once: at most %d per caller"
    case .tooManyPasswords: "too many wrong passwords: wait a minute, and try again"

    case .damagedCopy: "one copy of a record is damaged; the other is used, and the next write repairs it"
    case .otherName: "the record was made for another account name: not enrolled"
    case .notReset: "granted, but the record could not be written: %3"
    case .noSlots: "hashing without a slot: %1: %3"
    case .stuckSlots: "other processes are stuck holding all hashing slots: hashing without a slot"
    default: nil
    }
  }

  @inline(never)
  static func fill(
    _ sentence: Sentence, _ fault: Fault, _ error: Bytes, _ translation: Translation
  ) -> Advice {
    var first = printable(fault.path)
    if fault.reason.isOption {
      first =
        fault.number == 0
        ? told("module line", translation) : first + Bytes(text: ":") + decimalDigits(fault.number)
    }
    let third = fault.reason == .badValue ? told(values(fault.name), translation) : error
    return Advice(
      sentence.with(fault.number, [first, printable(fault.name), third]),
      exact: [fault.path, fault.name, third],
      in: translation)
  }

  @inline(never)
  private static func told(_ pattern: Pattern, _ translation: Translation) -> Bytes {
    Sentence(pattern).text(in: translation).bytes
  }

  /// What the option that a text begins with may be set to.
  private static func values(_ text: Bytes) -> Pattern {
    let name = text.prefix { $0 != UInt8(ascii: "=") }.trimmed()
    let rows = OptionRow.all()
    return OptionRow.index(of: name, in: rows).map { rows[$0].values } ?? "an absolute path"
  }
}
