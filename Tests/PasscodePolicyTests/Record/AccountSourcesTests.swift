import Testing

@testable import PasscodePolicy

struct AccountSourcesTests {
  @Test(arguments: [
    "passwd: files", "passwd:files", "passwd:\tfiles\tsystemd\n", "passwd:  files \t systemd  ", "passwd:",
    "group: files ldap\npasswd: files\nshadow: sss\n", "# passwd: ldap\npasswd: systemd",
  ])
  func `files and systemd name everybody`(text: String) {
    #expect(passNamesEveryAccount(nsswitch: Bytes(text: text)))
  }

  @Test(arguments: [
    "", "group: files", " passwd: files", "passwd files", "PASSWD: files", "passwd: files\npasswd: files",
    "passwd: files sss", "passwd: ldap", "passwd: files [NOTFOUND=return] systemd", "passwd: file",
    "passwd: files # systemd", "passwd: files\u{0}",
  ])
  func `what else there is, or can't be told, may not`(text: String) {
    #expect(!passNamesEveryAccount(nsswitch: Bytes(text: text)))
  }
}
