import PasscodePolicy
import Testing

@testable import PasscodeFleetPolicy

struct EtcdHealthTests {
  private static let status =
    #""header":{"cluster_id":"9","member_id":"7","revision":"12","raft_term":"3"},"version":"3.4.23","dbSize":"20480""#

  private func health(_ rest: String) -> EtcdHealth? {
    EtcdHealth(Bytes(text: "{\(EtcdHealthTests.status)\(rest)}"))
  }

  @Test func `size, leader and complaints are read`() {
    let well = health(#","leader":"7","raftIndex":"40","raftTerm":"3","dbSizeInUse":"16384""#)
    #expect(well?.size == 20_480 && well?.hasLeader == true && well?.complaints == [])
    #expect(well?.term == 3)
    let ill = health(#","errors":["memberID:7 alarm:NOSPACE ","etcdserver: no leader"]"#)
    #expect(ill?.hasLeader == false)
    #expect(
      ill?.complaints == [Bytes(text: "memberID:7 alarm:NOSPACE "), Bytes(text: "etcdserver: no leader")])
    #expect(health(#","leader":"0""#)?.hasLeader == false)
  }

  @Test(arguments: ["{}", "[]", "{\"header\":{}}", "{\"dbSize\":\"1\"}", "{\"header\":{},\"dbSize\":\"-1\"}"])
  func `what isn't a status is none`(body: String) {
    #expect(EtcdHealth(Bytes(text: body)) == nil)
  }

  @Test func `members are listed by name`() {
    let two = #"{"header":{},"members":[{"ID":"1","name":"server1"},{"ID":"2","peerURLs":["x"]}]}"#
    #expect(EtcdHealth.members(Bytes(text: two)) == [Bytes(text: "server1"), []])
    for none in ["{}", "{\"members\":[]}", "{\"members\":7}", "x"] {
      #expect(EtcdHealth.members(Bytes(text: none)) == nil)
    }
  }

  @Test(arguments: [
    ("", 2 << 30), ("ETCD_NAME=a\nETCD_QUOTA_BACKEND_BYTES=4096\n", 4_096),
    ("ETCD_QUOTA_BACKEND_BYTES=\"8192\"\n", 8_192), ("ETCD_QUOTA_BACKEND_BYTES=0\n", 2 << 30),
    ("#ETCD_QUOTA_BACKEND_BYTES=1\n", 2 << 30), ("ETCD_QUOTA_BACKEND_BYTES=x\n", 2 << 30),
    ("ETCD_QUOTA_BACKEND_BYTES=1\nETCD_QUOTA_BACKEND_BYTES=2\n", 2),
  ])
  func `the quota is what the settings say, or etcd's own`(settings: String, quota: UInt64) {
    #expect(EtcdHealth.quota(settings: Bytes(text: settings)) == quota)
  }
}
