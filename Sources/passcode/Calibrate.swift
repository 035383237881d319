internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `passcode calibrate`: measures which cost of hashing suits this machine, and prints it as lines for the configuration
/// file, or with `--write` puts them there.
func runCalibrate(_ session: Session) throws(Failure) -> ExitStatus {
  let configuration = try session.configuration()
  if session.has(.write), configuration.access == .helper { throw .onlyRoot }
  let sodium = try startSodium()
  let time = { (cost: Options.Cost) -> UInt64? in
    // The first hash also has to get its memory from the kernel, so it isn't the one that counts.
    guard hashingTime(operations: cost.operations, memory: cost.memory, sodium) != nil else { return nil }
    return hashingTime(operations: cost.operations, memory: cost.memory, sodium)
  }
  let largest = largestMemory(configuration.options.policy)
  let cost = Calibration.cost(target: session.target * 1_000, largest: largest, time: time)
  guard let taken = time(cost) else { throw .noMemoryToMeasure }
  let measured = Phrase.measured(cost, milliseconds: taken / 1_000)
  let operations = decimalDigits(cost.operations)
  let memory = Text("\(cost.memory >> 20)M").bytes
  guard session.has(.write) else {
    guard Stream.output.write("\(measured)\nopslimit=\(operations)\nmemlimit=\(memory)\n") else {
      throw .unwritable
    }
    return .done
  }
  try session.changeConfiguration {
    configurationText(
      configurationText($0, setting: "opslimit", to: operations), setting: "memlimit", to: memory)
  }
  session.say(measured)
  return .done
}

/// The most bytes that a hash may need, so that `max_parallel` hashes (with `auto` one for each processor, at least two)
/// fit into a quarter of the machine's memory.
private func largestMemory(_ policy: Options.Policy) -> UInt64 {
  let slots = policy.maxParallel > 0 ? policy.maxParallel : UInt64(max(2, Machine.processors))
  return Machine.memory / 4 / slots
}
