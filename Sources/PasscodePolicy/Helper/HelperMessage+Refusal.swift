extension HelperReply {
  /// Why a new passcode is refused; nil where it is another answer, or if there is any doubt.
  public var refusal: Choice.Refusal? {
    guard kind == .refused else { return nil }
    return Choice.Refusal.all.first { $0.number == number(0) }
  }
}

extension Choice.Refusal {
  /// Every refusal, for the tests.
  static var all: [Choice.Refusal] {
    [.length] + weaknesses.map { .weak($0) }
  }

  private static var weaknesses: [Weakness] {
    [
      .sameDigit, .nearlySameDigit, .repeated, .mirrored, .doubled, .run, .keypad, .year, .steppedPairs,
      .date,
      .popular(length: 4), .popular(length: 6), .personal(.phone), .personal(.room), .personal(.fullName),
      .personal(.userName), .personal(.userID), .personal(.spelledName), .personal(.home),
      .personal(.nameYear), .personal(.details), .siteList, .variation(.same), .variation(.reversed),
      .variation(.rotated), .variation(.oneDigitByOne), .variation(.contained),
    ]
  }
}
