public import PasscodePolicy

// How a verifier reads what FleetMessage.swift draws. The passcodes follow, which only guarded memory may hold.
//
// `next` takes so many bytes of what comes; nil: there are no more. Each part is bounded before it is taken, and each
// function gives nil unless it is well-formed and complete.                                                      FuzzFleet

extension FleetRequest {
  /// What the relay says first: who asks.
  public static func readName(_ next: (Int) -> Bytes?) -> Bytes? {
    guard let head = next(3), head[0] == relayVersion,
      let name = next(min(Int(littleEndianNumber(head, 1, 2)), longestName + 1)), isName(name)
    else { return nil }
    return name
  }

  /// Reads the name of the account that the request is about.
  public static func readAccount(_ next: (Int) -> Bytes?) -> Bytes? {
    guard let start = next(2), start[0] == version, start[1] > 0, let account = next(Int(start[1])),
      Record.canKeep(name: account)
    else { return nil }
    return account
  }

  /// What is asked, and for which service.
  public static func readHead(_ next: (Int) -> Bytes?) -> (head: HelperRequest, service: Bytes)? {
    guard let bytes = next(HelperRequest.headLength), let head = HelperRequest(head: bytes), allows(head),
      let service = next(head.serviceLength), Record.serviceName(service) == service
    else { return nil }
    return (head, service)
  }
}
