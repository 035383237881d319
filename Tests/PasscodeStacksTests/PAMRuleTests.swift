import PasscodePolicy
import Testing

@testable import PasscodeStacks

private let profile = """
  auth [success=2 auth_err=die conv_err=die default=ignore] pam_passcode.so either
  auth [success=1 default=ignore] pam_unix.so nullok try_first_pass
  auth requisite pam_deny.so
  auth required pam_permit.so

  """

/// Of these files of /etc/pam.d: `file:line rule`.
private func findings(
  _ files: [(String, String)], options: Options = Options(),
  _ surroundings: PAMSurroundings = PAMSurroundings()
) -> [String] {
  var stacks = PAMStacks()
  for (name, content) in files {
    stacks.add(Bytes(text: "/etc/pam.d/" + name), .found(PAMFile(Bytes(text: content))))
  }
  while let path = stacks.wanted() { stacks.add(path, .missing) }
  return stacks.check(options, surroundings).map {
    "\(text(fileName($0.path))):\($0.line) \(String(describing: $0.rule).prefix { $0 != "(" })"
  }
}

private func options(_ text: String) -> Options {
  var parser = OptionParser()
  try? parser.take(file: Bytes(text: text)[...], path: [])
  return parser.options
}

/// For root.
private let otherWay = [("su", "auth required pam_unix.so")]

private let installed: PAMSurroundings = {
  var surroundings = PAMSurroundings()
  surroundings.modules = ["pam_kwallet5.so", "pam_mount.so", "pam_fprintd.so"].map { Bytes(text: $0) }
  return surroundings
}()

struct PAMRuleTests {
  @Test(arguments: [
    ("sudo", "auth sufficient pam_passcode.so\nauth", "sudo:2 badLine"),
    ("sudo", "auth sometimes pam_passcode.so\nauth sufficient pam_passcode.so conf=/x", "sudo:1 badControl"),
    ("sudo", "auth sufficient pam_passcode.so\nauth include nothing", "sudo:2 missingFile"),
    ("sudo", "password required pam_passcode.so\n" + profile, "sudo:1 wrongType"),
    ("sudo", "auth required pam_passcode.so\nauth required pam_deny.so", "sudo:1 neverLetsIn"),
    ("sudo", "auth [success=9 default=ignore] pam_passcode.so", "sudo:1 neverLetsIn"),
    ("sudo", "auth optional pam_passcode.so\nauth required pam_unix.so", "sudo:1 decidesNothing"),
    ("sudo", "auth required pam_passcode.so\n" + profile, "sudo:2 askedTwice"),
    (
      "x", "auth requisite pam_unix.so\nauth required pam_passcode.so\nauth required pam_passcode.so",
      "x:3 askedTwice"
    ),
    ("sudo", profile + "auth required pam_passcode.so", "sudo:5 askedTwice"),
    ("sudo", "auth optional pam_passcode.so\nauth required pam_permit.so", "sudo:1 letsAnyoneIn"),
    (
      "sudo",
      "auth [success=done auth_err=die default=ignore] pam_passcode.so either\nauth required pam_permit.so",
      "sudo:1 letsAnyoneIn"
    ),
    (
      "sudo",
      "auth [success=done auth_err=die user_unknown=die default=ignore] pam_passcode.so either\n"
        + "auth required pam_permit.so",
      "sudo:1 letsAnyoneIn"
    ),
    ("sudo", "@include nothing\nauth sufficient pam_passcode.so", "sudo:1 missingFile"),
    // What asks for no secret doesn't make a line sufficient.
    (
      "sudo", "auth required pam_succeed_if.so user != root quiet\nauth sufficient pam_passcode.so",
      "sudo:2 letsAnyoneIn"
    ),
    ("sudo", "auth required pam_faillock.so preauth\nauth sufficient pam_passcode.so", "sudo:2 letsAnyoneIn"),
    (
      "sudo",
      "auth [success=ok user_unknown=ignore default=die] pam_passcode.so\nauth required pam_permit.so",
      "sudo:1 letsAnyoneIn"
    ),
    (
      "kiosk", "auth required pam_shells.so\nauth required pam_passcode.so nullok",
      "kiosk:2 nullokLetsAnyoneIn"
    ),
    (
      "kiosk", "auth required pam_passcode.so nullok\nauth required pam_permit.so",
      "kiosk:1 nullokLetsAnyoneIn"
    ),
    ("kiosk", "auth [success=ok default=die] pam_passcode.so nullok", "kiosk:1 nullokRefuses"),
    ("login", "auth required pam_passcode.so", "login:1 rootNeedsPasscode"),
    (
      "sudo", "auth sufficient pam_unix.so\nauth sufficient pam_passcode.so\nauth required pam_deny.so",
      "sudo:2 passwordFirst"
    ),
    (
      "i3lock",
      "auth requisite pam_faillock.so preauth\nauth sufficient pam_passcode.so\nauth required pam_unix.so",
      "i3lock:2 faillockCounts"
    ),
    (
      "sddm",
      "auth [success=1 default=ignore] pam_passcode.so\nauth requisite pam_unix.so\n"
        + "auth required pam_permit.so\nauth optional pam_mount.so", "sddm:1 needsPassword"
    ),
    (
      "sudo",
      "auth sufficient pam_passcode.so either\nauth sufficient pam_fprintd.so\nauth required pam_unix.so",
      "sudo:1 fingerAfterEither"
    ),
    (
      "login",
      "auth sufficient pam_fprintd.so\nauth sufficient pam_passcode.so finger=yes\nauth required pam_unix.so",
      "login:2 fingerTwice"
    ),
    (
      "login",
      "auth sufficient pam_passcode.so either finger\nauth sufficient pam_fprintd.so\nauth required pam_unix.so",
      "login:1 fingerTwice"
    ),
    ("sudo", "auth sufficient pam_passcode.so second_factor\nauth required pam_unix.so", "sudo:1 notSecond"),
    ("x", "auth requisite pam_unix.so\nauth required pam_passcode.so second_factor", "x:2 secondFactorOff"),
    ("ppp", "auth required pam_passcode.so", "ppp:1 remoteDenied"),
    ("sshd", "auth sufficient pam_passcode.so\nauth required pam_unix.so", "sshd:1 remoteUseless"),
    ("x", "auth sufficient pam_passcode.so first_login=deny\nauth required pam_unix.so", "x:1 noSessionLine"),
    ("passcode", "auth required pam_passcode.so", "passcode:1 asksInPasswordService"),
    ("passcode", "auth required pam_permit.so", "passcode:0 passwordServiceOpen"),
  ])
  func `a fault has one finding`(name: String, content: String, expected: String) {
    #expect(findings([(name, content)] + (name == "login" ? [] : otherWay), installed) == [expected])
  }

  @Test(arguments: [
    ("sudo", "auth sufficient pam_passcode.so\nauth required pam_unix.so"),
    ("sudo", "auth sufficient pam_rootok.so\n" + profile + "auth optional pam_cap.so"),
    ("kiosk", "auth required pam_passcode.so"),
    ("kiosk", "auth required pam_u2f.so\nauth [success=ignore default=die] pam_passcode.so"),
    ("sudo", "auth sufficient pam_u2f.so\nauth sufficient pam_passcode.so\nauth required pam_deny.so"),
    ("sudo", "auth required pam_u2f.so\nauth required pam_permit.so\nauth required pam_passcode.so"),
    (
      "sudo",
      "auth [success=1 default=ignore] pam_succeed_if.so user = x\nauth sufficient pam_passcode.so\n"
        + "auth sufficient pam_passcode.so prompt=PIN:\nauth required pam_unix.so"
    ),
    (
      "sudo",
      "auth sufficient pam_unix.so\nauth sufficient pam_passcode.so use_first_pass\nauth required pam_deny.so"
    ),
    ("sudo", "auth [success=2 default=ignore] pam_fprintd.so\n" + profile),
    ("sudo", "auth sufficient pam_passcode.so finger=yes\nauth required pam_unix.so"),
    ("swaylock", profile.replacing("success=2", with: "success=done")),
    (
      "swaylock",
      "auth requisite pam_faillock.so preauth\n"
        + "auth [success=done auth_err=die conv_err=die default=ignore] pam_passcode.so either\n"
        + "auth [success=1 default=ignore] pam_unix.so try_first_pass\nauth [default=die] pam_faillock.so authfail\n"
        + "auth required pam_faillock.so authsucc"
    ),
    ("sshd", "auth required pam_passcode.so remote=allow"),
    ("sshd", "@include common-auth"),
    ("gdm-password", profile + "auth optional pam_gnome_keyring.so\nauth optional pam_gdm.so"),
    ("sddm", profile + "-auth optional pam_kwallet.so"),
    ("sddm", "auth sufficient pam_passcode.so\nauth required pam_unix.so\nauth optional pam_mount.so"),
    (
      "x",
      "auth sufficient pam_passcode.so first_login=deny\nauth required pam_unix.so\nsession optional pam_passcode.so"
    ),
    ("passcode", "auth required pam_sss.so"),
    ("passcode", "auth required pam_kanidm.so"),
    ("old.dpkg-old", "account required pam_passcode.so"),
  ])
  func `what is only unusual has none`(name: String, content: String) {
    #expect(findings([(name, content), ("common-auth", profile)] + otherWay, installed) == [])
  }

  @Test func `root's way in is a service that takes the password alone, or root's own passcode`() {
    let common = [("common-auth", "auth required pam_passcode.so"), ("login", "@include common-auth")]
    var surroundings = PAMSurroundings()
    for has in [nil, true, false] as [Bool?] {
      surroundings.rootHasPasscode = has
      #expect(findings(common, surroundings) == ["common-auth:1 rootNeedsPasscode"])
    }
    #expect(findings(common + [("su", "auth sufficient pam_rootok.so\nauth required pam_unix.so")]) == [])
    #expect(findings([("login", "auth required pam_passcode.so nullok\nauth required pam_unix.so")]) == [])
    #expect(findings([("vlock", "auth required pam_passcode.so")]) == [])
  }

  @Test func `a second factor needs both, and the configuration`() {
    let both = [("x", "auth requisite pam_unix.so\nauth required pam_passcode.so second_factor")]
    #expect(findings(both, options: options("second_factor=yes")) == [])
    #expect(findings([("x", profile)], options: options("second_factor=yes")) == ["x:1 onlyFactor"])
    #expect(
      findings([("x", "auth sufficient pam_passcode.so conf=/y\n")], options: options("second_factor=yes"))
        == [])
  }

  @Test func `a file that ends in a line that goes on is refused, and so is what includes it as it is`() {
    let cut = "auth sufficient pam_permit.so\nauth required pam_passcode.so\\"
    #expect(findings([("su", "auth sufficient pam_passcode.so\n\\\n\n")]) == ["su:2 badLine"])
    #expect(findings([("su", "auth required pam_passcode.so\n@include b"), ("b", cut)]) == ["b:2 badLine"])
    func opens(_ control: String) -> Bool? {
      var stacks = PAMStacks()
      stacks.add(
        Bytes(text: "/etc/pam.d/a"), .found(PAMFile(Bytes(text: "auth required pam_unix.so\n\(control) b"))))
      stacks.add(Bytes(text: "/etc/pam.d/b"), .found(PAMFile(Bytes(text: cut))))
      return try? stacks.stack(of: Bytes(text: "a")).opens(password: true, passcodeAt: nil)
    }
    #expect(opens("@include") == false)
    #expect(opens("-@include") == false)
    #expect(opens("auth include") == true)
    #expect(opens("auth substack") == false)
  }

  /// libpam returns what the module returned, and keeps it: a later success doesn't replace it.
  @Test(arguments: [
    ("auth [success=done auth_err=die default=done] pam_passcode.so", false),
    ("auth [success=done auth_err=die default=ok] pam_passcode.so", false),
    ("auth [success=done default=ignore] pam_passcode.so", true),
    // A jump too far is a failure, and no end: `reset` forgets it.
    ("auth [default=9] pam_passcode.so\nauth [default=reset] pam_deny.so", false),
    ("auth substack b\nauth [default=reset] pam_deny.so", true),
  ])
  func `a failure that is ok remains a failure`(text: String, opens: Bool) {
    var stacks = PAMStacks()
    stacks.add(
      Bytes(text: "/etc/pam.d/a"), .found(PAMFile(Bytes(text: text + "\nauth required pam_permit.so"))))
    stacks.add(Bytes(text: "/etc/pam.d/b"), .found(PAMFile(Bytes(text: "auth [default=9] pam_passcode.so"))))
    #expect(
      (try? stacks.stack(of: Bytes(text: "a")))?.opens(password: false, passcodeAt: nil, refusal: .unasked)
        == opens)
  }

  @Test func `an @include that fails has the service refused, unless a line of one type reads it`() {
    func opens(_ a: String, _ b: String? = nil) -> Bool? {
      var stacks = PAMStacks()
      for (name, text) in [("a", a), ("b", b)] {
        guard let text else { continue }
        stacks.add(Bytes(text: "/etc/pam.d/\(name)"), .found(PAMFile(Bytes(text: text))))
      }
      return try? stacks.stack(of: Bytes(text: "a")).opens(password: true, passcodeAt: nil)
    }
    let enough = "auth sufficient pam_unix.so\n"
    #expect(opens(enough + "@include z") == false)
    #expect(opens(enough + "@include b", "@include z") == false)
    #expect(opens(enough + "auth include z") == true)
    #expect(opens(enough + "auth include b", "@include z") == true)
    #expect(findings([("su", "auth required pam_passcode.so\n@include z")]) == ["su:2 missingFile"])
  }

  @Test func `words and blanks are libpam's`() {
    let password = "auth required pam_unix.so\n"
    #expect(
      findings([("su", "auth [\r success=ok\u{b}default \u{c}= ignore] pam_passcode.so either\n" + password)])
        == ["su:1 decidesNothing"])
    #expect(
      findings([("su", "auth include [b\nauth required pam_passcode.so\n"), ("b", password)]) == [
        "su:1 missingFile"
      ])
    #expect(
      findings([("su", "-@include b\n"), ("b", "auth [x] pam_passcode.so\n" + password)]) == [
        "b:1 badControl"
      ])
  }

  @Test func `a password that may be valid once only is told where it would have to be proven`() {
    var client = PAMSurroundings()
    client.hasFreeIPA = true
    let proof = "auth optional pam_passcode.so proven\n"
    for (module, isTold, isToldOnClient) in [
      ("unix", false, false), ("sss", false, true), ("radius_auth", true, true),
    ] {
      let stack = profile.replacing("pam_unix.so", with: "pam_\(module).so")
      let service = "auth required pam_\(module).so\n"
      for (machine, told) in [(PAMSurroundings(), isTold), (client, isToldOnClient)] {
        #expect(findings([("su", stack)] + otherWay, machine) == [])
        #expect(findings([("su", stack + proof)], machine) == (told ? ["su:2 validOnce"] : []), "\(module)")
        #expect(findings([("passcode", service)], machine) == (told ? ["passcode:1 validOnce"] : []))
      }
    }
  }

  @Test func `the configuration counts for the lines`() {
    #expect(findings([("sddm", profile)], options: options("first_login=deny")) == ["sddm:1 noSessionLine"])
    let required = options("password_every=3d")
    #expect(findings([("sddm", profile)], options: required) == ["sddm:1 noProofLine"])
    #expect(findings([("sddm", profile + "auth optional pam_passcode.so proven\n")], options: required) == [])
    let proof = "auth optional pam_passcode.so proven\n"
    let alone = [("su", "auth required pam_passcode.so\n"), ("sddm", profile + proof)]
    #expect(findings(alone, options: required) == ["su:1 dueWithoutPassword"])
    #expect(
      findings([("su", "auth sufficient pam_passcode.so conf=/x\nauth required pam_unix.so\n" + proof)])
        == ["su:1 proofElsewhere"])
    for line in ["conf=/x", "conf=/etc/security/passcode.conf"] {
      let isFound = line == "conf=/x"
      #expect(
        findings([("su", profile.replacing("either", with: "either " + line)), ("sddm", profile + proof)])
          == (isFound ? ["su:1 proofElsewhere"] : []))
    }
    #expect(findings([("su", "auth sufficient pam_passcode.so conf=/x\nauth required pam_unix.so\n")]) == [])
    let other = "session optional pam_passcode.so proven\nauth optional pam_unix.so proven\n"
    #expect(findings([("sddm", profile + other)], options: required) == ["sddm:1 noProofLine"])
    let session = "session optional pam_passcode.so\n"
    #expect(findings([("sddm", profile + session)], options: options("first_login=deny")) == [])
    #expect(
      findings(
        [("sddm", "auth required pam_passcode.so\n" + session), ("su", profile)],
        options: options("first_login=deny"))
        == ["sddm:1 firstLoginRefused"])
    #expect(
      findings(
        [("sshd", "auth required pam_passcode.so"), ("su", profile)], options: options("remote=allow")) == [])
  }

  @Test func `passcode and finger want a password where none can be taken`() {
    let both = options("finger=both")
    #expect(findings([("sddm", profile)], options: both) == [])
    #expect(
      findings([("kiosk", "auth required pam_passcode.so\n"), ("su", profile)], options: both)
        == ["kiosk:1 bothWithoutPassword"])
    let due = options("finger=both\nfinger_for=72h")
    #expect(findings([("sddm", profile)], options: due) == ["sddm:1 noProofLine"])
    #expect(findings([("sddm", profile + "auth optional pam_passcode.so proven\n")], options: due) == [])
  }

  @Test func `a home that systemd-homed manages needs the password`() {
    var surroundings = PAMSurroundings()
    let stack = "auth [success=3 default=ignore] pam_systemd_home.so\n" + profile
    #expect(findings([("login", stack)], surroundings) == [])
    surroundings.hasManagedHomes = true
    #expect(findings([("login", stack)], surroundings) == ["login:2 needsPassword"])
  }

  @Test(arguments: [
    ("success=2", 0), ("success=7", 0), ("success=done", 2),
  ])
  func `pam-auth-update knows its lines by control and module`(jump: String, line: Int) {
    let file = """
      auth x y
      # here are the per-package modules (the "Primary" block)
      auth\t[\(jump) default=ignore]\tpam_passcode.so either more
      # here's the fallback if no module succeeds
      auth requisite pam_deny.so
      """
    let saved = "Module: passcode\n[success=end default=ignore]\tpam_passcode.so either\n"
    #expect(editedLine(Bytes(text: file), saved: Bytes(text: saved)) == (line == 0 ? nil : line + 1))
    #expect(editedLine(Bytes(text: file), saved: []) == 3)
    #expect(editedLine(Bytes(text: "auth x"), saved: []) == nil)
  }
}
