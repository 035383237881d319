import PasscodePolicy
import Testing

@testable import PasscodeStacks

private func stack(_ file: String) -> PAMStack {
  var stack = PAMStack()
  for line in PAMFile(Bytes(text: file)).lines {
    guard case .module(let module, let control, let arguments) = line.rule else { continue }
    stack.entries.append(
      PAMStack.Entry(
        role: PAMStack.role(module, arguments), control: control, path: [], line: line.number, level: 0))
  }
  return stack
}

/// The last passcode line of the file.
private func needsBoth(_ file: String) -> Bool {
  let stack = stack(file)
  let index = stack.entries.lastIndex { if case .passcode = $0.role { true } else { false } }
  return index.map { stack.needsBoth(passcodeAt: $0) } ?? false
}

struct PAMStackTests {
  @Test(arguments: [
    "auth requisite pam_unix.so\nauth required pam_passcode.so",
    "auth required pam_unix.so\nauth requisite pam_passcode.so",
    "auth required pam_passcode.so\nauth required pam_unix.so",
    "auth required pam_sss.so\nauth [success=ok default=die] pam_passcode.so",
    "auth requisite pam_ldap.so\nauth [success=done default=die] pam_passcode.so nullok",
    "auth requisite /lib/security/pam_krb5.so\nauth [success=1 default=bad] pam_passcode.so\nauth requisite pam_deny.so\n"
      + "auth required pam_permit.so",
    "auth requisite pam_winbind.so\nauth sufficient pam_passcode.so\nauth required pam_deny.so",
    // Debian's common-auth, and the passcode behind it; and with the passcode in it, too.
    "auth [success=1 default=ignore] pam_unix.so\nauth requisite pam_deny.so\nauth required pam_permit.so\n"
      + "auth optional pam_cap.so\nauth required pam_passcode.so",
    "auth [success=2 default=ignore] pam_passcode.so\nauth [success=1 default=ignore] pam_unix.so\n"
      + "auth requisite pam_deny.so\nauth required pam_permit.so\nauth required pam_passcode.so",
    "auth sufficient pam_rootok.so\nauth required pam_unix.so\nauth required pam_passcode.so",
    "auth required pam_faillock.so preauth\nauth [success=1 default=bad] pam_unix.so\n"
      + "auth [default=die] pam_faillock.so authfail\nauth required pam_passcode.so",
  ])
  func `password and passcode are both needed`(file: String) {
    #expect(needsBoth(file))
  }

  @Test(arguments: [
    "auth required pam_passcode.so",
    "auth sufficient pam_passcode.so\nauth required pam_unix.so",
    "auth sufficient pam_unix.so\nauth required pam_passcode.so",
    "auth optional pam_unix.so\nauth required pam_passcode.so",
    "auth required pam_unix.so\nauth optional pam_passcode.so",
    "auth required pam_unix.so\nauth [success=ok default=ignore] pam_passcode.so",
    "auth required pam_u2f.so\nauth required pam_passcode.so",
    "auth [success=2 default=ignore] pam_unix.so\nauth [success=1 default=die] pam_passcode.so\n"
      + "auth requisite pam_deny.so\nauth required pam_permit.so",
    "auth [success=2 default=ignore] pam_passcode.so\nauth [success=1 default=ignore] pam_unix.so\n"
      + "auth requisite pam_deny.so\nauth required pam_permit.so",
    // Nobody gets in at all.
    "auth required pam_unix.so\nauth required pam_passcode.so\nauth required pam_deny.so",
    "auth required pam_unix.so\nauth [success=2 default=bad] pam_passcode.so",
    "auth required pam_unix.so\nauth [success=end default=ignore] pam_passcode.so",
  ])
  func `one of them is enough, or none`(file: String) {
    #expect(!needsBoth(file))
  }
}

/// Files by their paths, and what is told about them.
private func report(_ files: [String: String], _ options: Options = Options()) -> PAMReport {
  var stacks = PAMStacks()
  for (path, content) in files.sorted(by: { $0.key < $1.key }) {
    stacks.add(Bytes(text: path), .found(PAMFile(Bytes(text: content))))
  }
  while let path = stacks.wanted() { stacks.add(path, .missing) }
  return stacks.report(options)
}

/// Its option's words, or the name of the problem.
private func words(_ finding: PAMFinding) -> String {
  if case .option(let fault) = finding.problem { return text(Words.fault(fault, error: [])) }
  return "\(text(finding.path)):\(finding.line): \(finding.problem)"
}

private func words(_ unread: PAMUnread) -> String {
  "\(text(unread.path)): \(unread.reason)"
}

private func groups(_ groups: [PAMReport.Group]) -> [String] {
  groups.map { group in
    "\(text(group.path)): \(group.services.map { text($0) }.joined(separator: " "))"
  }
}

private let profile = """
  auth [success=2 default=ignore] pam_passcode.so
  auth [success=1 default=ignore] pam_unix.so try_first_pass
  auth requisite pam_deny.so
  auth required pam_permit.so
  """

struct PAMStacksTests {
  @Test(arguments: [
    (["/etc/pam.d/sudo": "auth required pam_unix.so"], []),
    (["/etc/pam.d/sudo": "auth sufficient pam_passcode.so"], ["/etc/pam.d/sudo: sudo"]),
    (["/etc/pam.d/sudo": "auth sufficient /opt/pam_passcode.so quiet"], ["/etc/pam.d/sudo: sudo"]),
    (["/etc/pam.d/sudo": "session optional pam_passcode.so\n#auth required pam_passcode.so"], []),
    (
      [
        "/etc/pam.d/common-auth": profile, "/etc/pam.d/su": "@include common-auth",
        "/etc/pam.d/login": "auth include common-auth",
        "/etc/pam.d/sudo": "auth substack common-auth", "/etc/pam.d/cron": "session include common-auth",
      ],
      ["/etc/pam.d/common-auth: login su sudo"]
    ),
    // Included only; copies; folders of their own.
    (["/etc/pam.d/common-auth": profile], []),
    (
      ["~", ".dpkg-old", ".bak", ".rpmsave", ".rpmnew", ".ucf-old", ".ucf-dist", ".orig", ".pam-old"].reduce(
        into: ["/etc/pam.d/.su.swp": profile, "/etc/pam.d/Su": profile]) {
          $0["/etc/pam.d/su\($1)"] = profile
        }, []
    ),
    // A name in the first folder hides the second; includes look into both.
    (
      [
        "/etc/pam.d/kde": "auth required pam_unix.so", "/usr/lib/pam.d/kde": profile,
        "/usr/lib/pam.d/polkit-1": "@include a",
        "/usr/lib/pam.d/a": "@include /opt/b", "/opt/b": profile,
      ],
      ["/opt/b: a polkit-1"]
    ),
    (["/etc/pam.d/a": "@include b\n\(profile)", "/etc/pam.d/b": profile], ["/etc/pam.d/b: a b"]),
    // A file that isn't there.
    (["/etc/pam.d/a": "auth include nothing\n\(profile)"], ["/etc/pam.d/a: a"]),
    (["/etc/pam.d/a": "@include nothing\n\(profile)"], []),
    // Remote logins are refused without a prompt.
    (["/etc/pam.d/sshd": "auth required pam_passcode.so"], []),
    (["/etc/pam.d/sshd": "auth required pam_passcode.so remote=allow"], ["/etc/pam.d/sshd: sshd"]),
  ])
  func `it is known which services ask`(files: [String: String], expected: [String]) {
    #expect(groups(report(files).groups) == expected)
    #expect(report(files).unknown.isEmpty && report(files).offering.isEmpty)
  }

  @Test(arguments: [
    ("finger", true, true), ("finger=yes either", true, true), ("finger=no", false, false),
    ("", false, true),
    // What isn't known.
    ("finger=yes conf=/etc/x", false, false), ("finger=perhaps", false, false),
    ("finger=yes colour", false, false),
  ])
  func `it is known which services offer the finger`(options: String, isOffered: Bool, byFile: Bool) {
    let files = [
      "/etc/pam.d/common-auth": "auth sufficient pam_passcode.so \(options)",
      "/etc/pam.d/su": "@include common-auth",
      "/etc/pam.d/login": "auth required pam_passcode.so finger=no\n@include common-auth",
    ]
    let expected = ["/etc/pam.d/common-auth: login su"]
    #expect(groups(report(files).offering) == (isOffered ? expected : []))
    var file = Options()
    file.door.finger = true
    #expect(groups(report(files, file).offering) == (byFile ? expected : []))
  }

  @Test(arguments: [
    ("auth sufficient pam_passcode.so", []),
    ("auth sufficient pam_passcode.so either quiet conf=/etc/other [prompt=Your PIN:]", []),
    ("auth sufficient pam_passcode.so first-login=deny", [#"1: unknown option "first-login=deny""#]),
    ("\nauth required pam_passcode.so store=/x", [#"2: "store=/x" belongs in the configuration file"#]),
    (
      "auth required pam_passcode.so fail_delay=99 x=y",
      [#"1: "fail_delay=99" needs 0 to 60 seconds"#, #"1: unknown option "x=y""#]
    ),
    ("auth required pam_passcode.so debug debug", [#"1: "debug" is given twice"#]),
    ("auth required pam_passcode.so conf=x", [#"1: "conf=x" needs an absolute path"#]),
    ("account required pam_passcode.so x", []),
  ])
  func `a bad option of a line is told with its value`(file: String, expected: [String]) {
    #expect(
      report(["/etc/pam.d/a": file]).findings.map { words($0) } == expected.map { "/etc/pam.d/a:\($0)" })
  }

  @Test(arguments: [
    ("success=1 auth_err=die default=ignore", "", true),
    ("success=done default=ignore auth_err=die", "quiet", true),
    ("success=1 auth_err=die default=ignore", "either", false),
    ("success=1 auth_err=die default=ignore", "either=no", true),
    ("success=1 default=ignore", "", false), ("success=1 default=die", "", false),
    // Another file may say so.
    ("success=1 auth_err=die default=ignore", "conf=/etc/other", false),
  ])
  func `a line that dies of a wrong passcode wants either`(control: String, argument: String, isTold: Bool) {
    let files = ["/etc/pam.d/a": "auth [\(control)] pam_passcode.so \(argument)\nauth required pam_unix.so"]
    var either = Options()
    either.door.either = true
    #expect(report(files).findings.contains { words($0) == "/etc/pam.d/a:1: noWayToThePassword" } == isTold)
    #expect(report(files, either).findings.isEmpty == (argument != "either=no"))
  }

  @Test func `a second factor wants its mark, wherever it is included`() {
    func told(_ line: String) -> [String] {
      let files = [
        "/etc/pam.d/a": "auth substack common-auth\nauth include second", "/etc/pam.d/b": "@include a",
        "/etc/pam.d/common-auth": "auth sufficient pam_unix.so\nauth required pam_deny.so",
        "/etc/pam.d/second": line,
      ]
      return report(files).findings.map { words($0) }.filter { $0.contains("unmarkedSecondFactor") }
    }
    #expect(told("\nauth required pam_passcode.so").map { $0.hasPrefix("/etc/pam.d/second:2: ") } == [true])
    #expect(told("auth [success=ok auth_err=die default=bad] pam_passcode.so").count == 1)
    #expect(told("auth required pam_passcode.so second_factor=no").count == 1)
    #expect(told("auth required pam_passcode.so second_factor") == [])
    #expect(told("auth required pam_passcode.so second_factor=yes") == [])
    #expect(told("auth optional pam_passcode.so") == [])
  }

  @Test func `a substack ends in itself, and is one line to jump over`() {
    func needsBoth(_ file: String, _ substack: String) -> Bool {
      !report(["/etc/pam.d/a": file, "/etc/pam.d/common-s": substack]).findings.isEmpty
    }
    let sufficient = "auth sufficient pam_unix.so\nauth required pam_deny.so"
    let behind = "\nauth required pam_passcode.so"
    #expect(needsBoth("auth substack common-s" + behind, sufficient))
    #expect(!needsBoth("auth include common-s" + behind, sufficient))
    let jump = "auth [success=1 default=die] pam_unix.so\nauth substack common-s"
    #expect(needsBoth(jump + behind, "auth required pam_deny.so\nauth required pam_deny.so"))
    #expect(!needsBoth(jump, "auth required pam_passcode.so"))
    let passcode = "auth required pam_passcode.so\nauth requisite pam_unix.so"
    #expect(needsBoth("auth substack common-s", passcode))
    #expect(!needsBoth("auth substack common-s\nauth [default=reset] pam_deny.so", passcode))
  }

  @Test(arguments: [
    (["/etc/pam.d/a": "@include a"], ["/etc/pam.d/a: tooDeep"]),
    (
      ["/etc/pam.d/a": "auth include b", "/etc/pam.d/b": "auth substack a"],
      [
        "/etc/pam.d/a: tooDeep",
        "/etc/pam.d/b: tooDeep",
      ]
    ),
    (
      ["/etc/pam.d/a": String(repeating: "auth optional pam_x.so\n", count: 1_001)],
      ["/etc/pam.d/a: tooManyLines(1000)"]
    ),
  ])
  func `what can't be followed is told, and nothing is guessed`(files: [String: String], expected: [String]) {
    let report = report(files.merging(["/etc/pam.d/z": "auth optional pam_passcode.so"]) { one, _ in one })
    #expect(report.unknown.map { words($0) } == expected)
    #expect(groups(report.groups) == ["/etc/pam.d/z: z"])
  }

  @Test func `includes that multiply are bounded`() {
    var files = ["/etc/pam.d/a0": "auth required pam_x.so"]
    for depth in 1...15 {
      files["/etc/pam.d/a\(depth)"] = String(repeating: "@include a\(depth - 1)\n", count: 1_000)
    }
    #expect(report(files).unknown.isEmpty == false)
  }

  @Test func `what an unread file of too many says is not guessed`() {
    var stacks = PAMStacks()
    for number in 0..<1_000 { stacks.add(Bytes(text: "/etc/pam.d/common-\(number)"), .missing) }
    stacks.add(Bytes(text: "/etc/pam.d/a"), .found(PAMFile(Bytes(text: "@include /etc/b"))))
    #expect(stacks.wanted() == nil)
    #expect(
      stacks.report(Options()).unknown.map { words($0) } == ["/etc/b: tooManyFiles"])
  }

  @Test func `a file that can't be read hides no other, and is named once`() {
    var stacks = PAMStacks()
    stacks.add(Bytes(text: "/etc/pam.d/a"), .unreadable(.failed(13)))
    stacks.add(Bytes(text: "/usr/lib/pam.d/a"), .found(PAMFile(Bytes(text: profile))))
    stacks.add(Bytes(text: "/etc/pam.d/b"), .found(PAMFile(Bytes(text: "@include a"))))
    #expect(stacks.wanted() == nil)
    let report = stacks.report(Options())
    #expect(report.unknown.map { words($0) } == ["/etc/pam.d/a: failed(13)"])
    #expect(report.groups.isEmpty)
  }
}
