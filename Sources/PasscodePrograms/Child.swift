internal import CSystem
internal import PasscodeSystem

/// How long Ctrl-C, Ctrl-Z, a closed window and the like concern a new process only, and not the one that made it.
public enum Shield: Equatable, Sendable {
  case whileItRuns, forGood
}

/// Runs `body` in a new process, and waits for it.
///
/// For programs with one thread only (the tool). Where the new process is stopped, this one stops after it: not
/// before it, which may have the terminal to put back first.
/// - Returns: what `body` returned (0 to 255), or nil if the process could not be made or was ended by a signal.
@inline(never)
public func inNewProcess(shielded: Shield, _ body: () -> UInt8) -> UInt8? {
  let child = fork()
  if child == 0 { _exit(Int32(body())) }
  guard child > 0 else { return nil }
  var before = cs_dispositions()
  // SAFETY: it writes what it is given; below, it is read.
  unsafe cs_ignore_interrupts(&before)
  defer { if shielded == .whileItRuns { unsafe cs_restore_interrupts(&before) } }
  var status: Int32 = 0
  // SAFETY: waitpid writes one number.
  while (try? retrying({ unsafe waitpid(child, &status, WUNTRACED) })) != nil {
    let ending = status & 0x7f
    if ending == 0 { return UInt8(truncatingIfNeeded: status >> 8) }
    guard ending == 0x7f else { return nil }
    raise(SIGSTOP)
    kill(child, SIGCONT)
  }
  return nil
}

/// Runs a program with one argument, our environment and our terminal, and waits for it. The corresponding C function is
/// `execv`.
///
/// - Returns: its exit status: 127 if it could not be started; nil if it was ended by a signal.
public func run(_ program: [UInt8], _ argument: [UInt8]) -> UInt8? {
  let path = withNUL(program)
  let word = withNUL(argument)
  return inNewProcess(shielded: .whileItRuns) {
    // SAFETY: both end in NUL, and it reads no further.
    _ = unsafe cs_execute(path, word)
    return 127
  }
}
