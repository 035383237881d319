internal import PasscodeBus
internal import PasscodePolicy
internal import PasscodeReader
internal import PasscodeSystem
internal import PasscodeVault

// What is charged, and when: see TouchCount.

extension Session {
  /// A touch is charged before the reader waits for it.
  mutating func verify(_ prompt: inout Prompt, _ bus: borrowing SystemBus) -> Progress {
    // Now that the reader is ours nobody enrols a finger on it.
    if haveChanged { return .over(.printsChanged) }
    guard let charged = charge() else { return .over(.failed) }
    guard let count = charged else { return .over(.off) }
    prompt.charge = count
    return handle(prompt.dialog.verify(), &prompt, bus)
  }

  mutating func touched(_ isMatch: Bool, _ prompt: inout Prompt, _ bus: borrowing SystemBus) -> Progress {
    guard let settled = settle(isMatch, &prompt) else { return .over(.failed) }
    guard let count = settled else { return .over(.off) }
    if isMatch {
      guard remaining(prompt.latest) > 0 else { return .over(.time) }
      guard isPresent(bus, now + Session.readyWithin) else { return .over(.noSession) }
      tellMatch(serial: count.serial, milliseconds: prompt.drained)
      return .over(nil)
    }
    tell(.noMatch)
    prompt.misses += 1
    if prompt.misses == FingerTranscript.mostMisses { return .over(.tries) }
    if count.isOff { return .over(.off) }
    if isAtEnter { return .over(.noTouch) }
    return handle(prompt.dialog.again(), &prompt, bus)
  }

  /// Charges the touch that was decided, unless its charge still stands. One that matched is no longer charged: the person who
  /// can match may give up as often as they like.
  private func settle(_ isMatch: Bool, _ prompt: inout Prompt) -> TouchCount?? {
    let charged = charge(unless: prompt.charge.take())
    guard isMatch, let count = charged ?? nil else { return charged }
    return counter.takeBack(count)
  }

  /// nil: it couldn't be charged; nil within: the finger is off.
  private func charge(unless earlier: TouchCount? = nil) -> TouchCount?? {
    do throws(Errno) { return .some(try counter.charge(unless: earlier)) } catch { return nil }
  }

  /// Frees the reader, and takes back the charge where nobody touched it, as far as fprintd ever said.
  func finish(_ prompt: inout Prompt, _ bus: borrowing SystemBus) {
    free(&prompt, bus)
    if prompt.dialog.isUntouched, let charge = prompt.charge.take() { counter.takeBack(charge) }
  }

  private func free(_ prompt: inout Prompt, _ bus: borrowing SystemBus) {
    let deadline = now + Session.finishedWithin
    var step: ReaderDialog.Step? = prompt.dialog.finish()
    while true {
      switch step {
      case .call(let call): if !prompt.send(call, bus) { return }
      case .touched(let isMatch): _ = settle(isMatch, &prompt)
      case .finished, .ended: return
      case .nothing, .start, .claim, .ready, .watching, .absent, .listed, nil: break
      }
      let left = remaining(deadline)
      if left == 0 { return }
      step = prompt.next(bus)
      if step == nil { Caller.waitForMessages(from: bus, milliseconds: left) }
    }
  }
}
