import PasscodePolicy
import Testing

@testable import PasscodeStacks

/// A file, and its lines as `described` has them.
private struct Reading: Sendable, CustomTestStringConvertible {
  let file: String
  let lines: [String]

  init(_ file: String, _ lines: String...) {
    self.file = file
    self.lines = lines
  }

  var testDescription: String { file.debugDescription }

  static let all = [
    Reading(""),
    Reading("\n \t\n#auth required pam_unix.so\n   # more\n"),
    Reading("auth required pam_unix.so", "1 auth pam_unix.so"),
    Reading("\tauth\trequired \t pam_unix.so\t\n", "1 auth pam_unix.so"),
    Reading("\n\naccount sufficient pam_a.so\n", "3 account pam_a.so"),
    Reading("-session optional pam_systemd.so", "1 session pam_systemd.so"),
    Reading("PASSWORD Required pam_unix.so Obscure", "1 password pam_unix.so <Obscure>"),
    Reading("auth required pam_unix.so nullok # a comment", "1 auth pam_unix.so <nullok>"),
    Reading("auth required pam_unix.so#nullok", "1 auth pam_unix.so"),
    Reading(
      "auth [success=1 default=ignore] pam_unix.so nullok try_first_pass",
      "1 auth pam_unix.so <nullok> <try_first_pass>"),
    // Bracketed words, and what only looks like one.
    Reading("auth required pam_x.so [prompt=Your PIN:]", "1 auth pam_x.so <prompt=Your PIN:>"),
    Reading(#"auth required pam_x.so [a\]b\c [d] e[f g]"#, #"1 auth pam_x.so <a]b\c [d> <e[f> <g]>"#),
    Reading("auth required pam_x.so [never closed", "1 auth pam_x.so <never closed>"),
    Reading(
      "auth required pam_x.so [never closed\nauth required pam_y.so", "1 auth pam_x.so <never closed\n>",
      "2 auth pam_y.so"),
    Reading("auth required pam_x.so [never closed#\n", "1 auth pam_x.so <never closed>"),
    Reading("auth required pam_x.so []b", "1 auth pam_x.so <> <b>"),
    // Lines that go on.
    Reading(
      "auth \\\n required\\\n\tpam_x.so a\nauth optional pam_y.so", "1 auth pam_x.so <a>", "4 auth pam_y.so"),
    Reading("auth required \\ \t\npam_x.so", "1 auth pam_x.so"),
    Reading("auth required \\\n\n# between\npam_x.so", "1 auth pam_x.so"),
    Reading(
      "auth required pam_x.so \\ # ends here\nauth required pam_y.so", #"1 auth pam_x.so <\>"#,
      "2 auth pam_y.so"),
    Reading("auth required pam_y.so\nauth required pam_x.so \\", "1 auth pam_y.so"),
    Reading("auth required pam_x.so C:\\dir", #"1 auth pam_x.so <C:\dir>"#),
    // Includes.
    Reading("@include common-auth", "1 every include common-auth"),
    Reading("  @Include\tcommon-auth  more", "1 every include common-auth"),
    Reading("auth include system-auth", "1 auth include system-auth"),
    Reading("-auth SUBSTACK system-auth", "1 auth substack system-auth"),
    // What libpam refuses.
    Reading("auth", "1 auth broken"),
    Reading("auth required", "1 auth broken"),
    Reading("auth include", "1 auth broken"),
    Reading("@include", "1 every broken"),
    Reading("auht required pam_unix.so", "1 auth broken"),
    Reading("--auth required pam_unix.so", "1 auth broken"),
    Reading("account required", "1 account broken"),
  ]
}

private func described(_ line: PAMLine) -> String {
  let rule =
    switch line.rule {
    case .include(let name, let isSubstack): "\(isSubstack ? "substack" : "include") \(text(name))"
    case .module(let module, _, let arguments):
      ([text(module)] + arguments.map { "<\(text($0))>" }).joined(separator: " ")
    case .broken: "broken"
    }
  return "\(line.number) \(line.kind) \(rule)"
}

struct PAMFileTests {
  @Test(arguments: Reading.all)
  fileprivate func `a file is read as libpam reads it`(reading: Reading) {
    #expect(PAMFile(Bytes(text: reading.file)).lines.map(described) == reading.lines)
  }

  @Test(arguments: [
    ("required", PAMControl(.ok, .bad)), ("requisite", PAMControl(.ok, .die)),
    ("Optional", PAMControl(.ok, .ignore)), ("SUFFICIENT", PAMControl(.done, .ignore)),
    ("success=1 default=ignore", PAMControl(.jump(1), .ignore)),
    ("success=ok default=die", PAMControl(.ok, .die)),
    ("success=done auth_err=die default=ignore", PAMControl(.done, .die, diesOnFailure: true)),
    ("default=ignore auth_err=die success=12", PAMControl(.jump(12), .die, diesOnFailure: true)),
    ("auth_err=die auth_err=reset", PAMControl(.bad, .reset)),
    ("  success = ok\tdefault  =  bad ", PAMControl(.ok, .bad)),
    ("success=ok", PAMControl(.ok, .bad)), ("default=ok", PAMControl(.ok, .ok)),
    ("user_unknown=ignore success=done", PAMControl(.done, .bad)), ("", PAMControl(.bad, .bad)),
    // libpam refuses: bad, whatever the result.
    ("success=end default=ignore", PAMControl(.bad, .bad)), ("success=0 default=ok", PAMControl(.bad, .bad)),
    ("default=ok success", PAMControl(.bad, .bad)), ("default=ok success=", PAMControl(.bad, .bad)),
    ("default=ok success=-1", PAMControl(.bad, .bad)), ("mandatory", PAMControl(.bad, .bad)),
    ("default=ok success=99999999999999999999", PAMControl(.bad, .bad)),
  ])
  func `a control says what success and failure lead to`(control: String, expected: PAMControl) {
    let read = PAMControl(Bytes(text: control))
    #expect(read.success == expected.success && read.failure == expected.failure)
    #expect(read.diesOnFailure == expected.diesOnFailure)
  }

  @Test(arguments: [
    ("required", PAMControl(.ok, .bad)), ("sufficient", PAMControl(.done, .ignore)),
    ("default=die", PAMControl(.die, .die, ignored: .die)),
    ("success=ok", PAMControl(.ok, .bad, ignored: .bad)),
    ("success=ok ignore=ignore default=bad", PAMControl(.ok, .bad, ignored: .ignore)),
    (
      "success=done auth_err=die default=ignore",
      PAMControl(
        .done, .die, unasked: .ignore, ignored: .ignore, denied: .ignore, diesOnFailure: true)
    ),
    ("ignore=ok success=2 auth_err=bad", PAMControl(.jump(2), .bad, ignored: .ok)),
    (
      "success=done user_unknown=ignore perm_denied=2 default=die",
      PAMControl(.done, .die, unasked: .ignore, ignored: .die, denied: .jump(2))
    ),
    ("success=2147483647", PAMControl(.jump(2_147_483_647), .bad, ignored: .bad)),
    ("success=2147483648", PAMControl(.bad, .bad, ignored: .bad, isUnderstood: false)),
    ("mandatory", PAMControl(.bad, .bad, ignored: .bad, isUnderstood: false)),
    ("success=end default=ignore", PAMControl(.bad, .bad, ignored: .bad, isUnderstood: false)),
    ("sucess=ok default=ignore", PAMControl(.bad, .bad, ignored: .bad, isUnderstood: false)),
    ("success=0", PAMControl(.bad, .bad, ignored: .bad, isUnderstood: false)),
  ])
  func `a control says what every other result leads to`(control: String, expected: PAMControl) {
    #expect(PAMControl(Bytes(text: control)) == expected)
  }
}
