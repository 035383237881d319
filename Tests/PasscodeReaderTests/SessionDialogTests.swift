import PasscodePolicy
import Testing

@testable import PasscodeReader

struct SessionDialogTests {
  private static let logind = ":1.3"
  private static let driver = "org.freedesktop.DBus"

  /// Sound answers: who sends them, and what they say.
  private static let answers: [(String, [BusMessage.Value])] = [
    (driver, [.text(Bytes(text: logind))]),
    (driver, [.number(0)]),
    (logind, [.text(Bytes(text: "/org/freedesktop/login1/session/_37"))]),
    (logind, [.flag(false)]),
  ]

  /// The last step, where each answer is what `change` makes of the sound one.
  private func run(
    _ change: (Int, (String, [BusMessage.Value])) -> (String, [BusMessage.Value]) = { $1 }
  ) -> SessionDialog.Step {
    var dialog = SessionDialog(Bytes(text: "7"))
    var step = SessionDialog.Step.call(dialog.first)
    for (index, answer) in Self.answers.enumerated() {
      guard case .call = step else { return step }
      dialog.sent(serial: UInt64(index))
      let (sender, values) = change(index, answer)
      step = dialog.receive(BusMessage(.methodReturn(UInt64(index)), sender: Bytes(text: sender), values))
    }
    return step
  }

  @Test func aSessionWithoutALockedScreenIsUnlocked() {
    #expect(run() == .unlocked)
  }

  @Test func anythingElseIsRefused() {
    let others: [[BusMessage.Value]] = [
      [], [.flag(true)], [.number(1)], [.number(0)], [.flag(false), .flag(false)], [.text([])], [.texts([])],
    ]
    for index in Self.answers.indices {
      for values in others where values != Self.answers[index].1 {
        let step = run { $0 == index ? ($1.0, values) : $1 }
        if index == 2, values == [.text([])] { continue }  // sd-bus refuses to ask for no object
        #expect(step == .refused, "\(index) \(values)")
      }
    }
  }

  @Test func anAnswerFromSomebodyElseIsRefused() {
    for index in Self.answers.indices {
      #expect(run { $0 == index ? (":1.6", $1.1) : $1 } == .refused)
    }
  }

  @Test func anErrorIsRefusedAndAnotherCallsAnswerIsNone() {
    var dialog = SessionDialog(Bytes(text: "7"))
    dialog.sent(serial: 5)
    let sender = Bytes(text: Self.driver)
    #expect(dialog.receive(BusMessage(.methodReturn(4), sender: sender, [.number(0)])) == .nothing)
    let signal = BusMessage.Kind.signal(interface: sender, member: Bytes(text: "NameOwnerChanged"))
    #expect(dialog.receive(BusMessage(signal, sender: sender)) == .nothing)
    #expect(dialog.receive(BusMessage(.error(5, name: []), sender: sender)) == .refused)
    #expect(dialog.receive(BusMessage(.methodReturn(5), sender: sender, [.number(0)])) == .nothing)
  }
}
