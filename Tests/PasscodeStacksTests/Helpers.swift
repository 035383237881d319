import PasscodePolicy

func text(_ bytes: some Collection<UInt8>) -> String {
  String(decoding: bytes, as: UTF8.self)
}

func text(_ sentence: Text) -> String {
  text(sentence.bytes)
}
