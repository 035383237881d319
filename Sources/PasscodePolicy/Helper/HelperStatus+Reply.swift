extension HelperStatus {
  /// nil if the reply is another, or makes no sense.
  public init?(_ reply: HelperReply) {
    let flags = reply.number(0)
    let length = Int(flags >> 4 & 7)
    guard reply.kind == .status || reply.kind == .statusWithTerms, flags < 512,
      let state = State(rawValue: flags & 7),
      length == 0 || Answer.isLength(length), reply.number(1) <= UInt64(UInt32.max),
      reply.number(2) <= Schedule.longestDelay * 1_000, Record.serviceName(reply.text) == reply.text
    else { return nil }
    self.init(state, isEnrolled: flags & 8 != 0)
    if length > 0 { self.length = length }
    failures = UInt32(reply.number(1))
    milliseconds = reply.number(2)
    enrolledAt = reply.number(3)
    lastSuccess = reply.number(4)
    lastFailure = reply.number(5)
    failureService = reply.text
    mustChange = flags & 128 != 0
    isFingerOff = flags & 256 != 0
    if reply.kind == .statusWithTerms { expiresAt = reply.number(6) }
    guard self.reply == reply else { return nil }
  }
}
