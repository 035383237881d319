import PasscodePolicy

func text(_ bytes: some Collection<UInt8>) -> String {
  String(decoding: bytes, as: UTF8.self)
}

func text(_ sentence: Text) -> String {
  text(sentence.bytes)
}

extension [UInt8] {
  /// The UTF-8 of a text that a test puts together; the sources have literals only.
  init(text: String) {
    self = Array(text.utf8)
  }
}
