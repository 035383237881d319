// Why a code is weak, in words: for the person who chose it. `check-weak --json` has the same ones, in English.

extension Weakness {
  /// A whole sentence without a full stop.
  public var sentence: Sentence {
    switch self {
    case .sameDigit: "all its digits are the same"
    case .nearlySameDigit: "all its digits are the same, except one"
    case .repeated: "this is a group of digits, repeated"
    case .mirrored: "this reads the same backwards"
    case .doubled: "this is a series of doubled digits"
    case .run: "these digits follow one another"
    case .keypad: "this is a shape on the keypad"
    case .year: "this is a year"
    case .steppedPairs: "this counts in even steps"
    case .date: "this is a date"
    case .popularFour: "this is among the 1,000 most used codes"
    case .popularSix: "this is among the 3,000 most used codes"
    case .phone: "this is your phone number, or part of it"
    case .room: "this is your room number"
    case .fullName: "this is in your name"
    case .userName: "this is in your user name"
    case .userID: "this is your user number"
    case .spelledName: "this is your name, typed on a phone's keypad"
    case .home: "this is in the path of your home directory"
    case .nameYear: "this is a year in your user name or home directory"
    case .details: "this is in your account's details"
    case .siteList: "this is on your administrator's list"
    case .sameAsOld: "this is your old passcode"
    case .oldReversed: "this is your old passcode backwards"
    case .oldRotated: "this is your old passcode, starting at another digit"
    case .oldByOne: "this is your old passcode with one digit changed by one"
    case .oldContained: "this is your old passcode, longer or shorter"
    }
  }
}
