internal import CPAM
internal import CSystem
public import PasscodeSystem

/// The application's side of PAM, for `passcode try`.
public enum PAMClient {
  public enum Message: Sendable {
    /// A question whose answer isn't shown: fill in the line.
    case hidden
    /// Information, or an error.
    case notice
  }

  /// Answers one message; false cancels the conversation.
  public typealias Converse = (Message, [UInt8], inout TypedLine) -> Bool

  /// The result of pam_authenticate, as libpam's number and its text.
  public struct Outcome: Sendable {
    public let code: Int32
    public let text: [UInt8]
    public var isSuccess: Bool { code == PAM_SUCCESS }
  }

  /// Lives as long as the call below; the C side holds a pointer to it.
  @safe private final class Conversation {
    let line: UnsafeMutablePointer<TypedLine>
    let converse: Converse

    init(_ line: UnsafeMutablePointer<TypedLine>, _ converse: @escaping Converse) {
      unsafe self.line = line
      self.converse = converse
    }
  }

  /// Authenticates `user` with a service file of a private directory. The corresponding C functions are
  /// `pam_start_confdir`, `pam_authenticate` and `pam_end`.
  ///
  /// - Parameter line: where answers are kept until libpam has its copy.
  public static func authenticate(
    service: [UInt8], user: [UInt8], directory: [UInt8], _ line: inout TypedLine,
    _ converse: @escaping Converse
  ) -> Outcome {
    unsafe withUnsafeMutablePointer(to: &line) {
      unsafe authenticate(service, user, directory, Conversation($0, converse))
    }
  }

  private static func authenticate(
    _ service: [UInt8], _ user: [UInt8], _ directory: [UInt8], _ conversation: Conversation
  ) -> Outcome {
    // SAFETY: `conversation` outlives pam_end, after which libpam holds no pointer to it.
    var conv = unsafe pam_conv(
      conv: answerAll, appdata_ptr: Unmanaged.passUnretained(conversation).toOpaque())
    var handle: OpaquePointer?
    var code = unsafe withCString(service) { service in
      unsafe withCString(user) { user in
        unsafe withCString(directory) { unsafe pam_start_confdir(service, user, &conv, $0, &handle) }
      }
    }
    if code == PAM_SUCCESS, let handle = unsafe handle {
      code = unsafe pam_authenticate(handle, 0)
      unsafe pam_end(handle, code)
    }
    let text = unsafe bytes(pam_strerror(nil, code))
    return withExtendedLifetime(conversation) { Outcome(code: code, text: text) }
  }

  /// pam_conv(3): one response for each message, in memory that libpam's modules free.
  private static let answerAll:
    @convention(c) (
      CInt, UnsafeMutablePointer<UnsafePointer<pam_message>?>?,
      UnsafeMutablePointer<UnsafeMutablePointer<pam_response>?>?,
      UnsafeMutableRawPointer?
    ) -> CInt = { count, messages, responses, data in
      guard count > 0, count <= 32, let messages = unsafe messages, let data = unsafe data,
        let memory = unsafe calloc(Int(count), MemoryLayout<pam_response>.size)
      else { return PAM_CONV_ERR }
      let answers = unsafe memory.bindMemory(to: pam_response.self, capacity: Int(count))
      // SAFETY: data is the pointer given in `authenticate`, whose object lives.
      let conversation = unsafe Unmanaged<Conversation>.fromOpaque(data).takeUnretainedValue()
      for index in 0..<Int(count) {
        guard let message = unsafe messages[index], unsafe answer(message, &answers[index], conversation)
        else {
          for answered in 0..<index { unsafe cpam_wipe(answers[answered].resp) }
          unsafe free(memory)
          return PAM_CONV_ERR
        }
      }
      unsafe responses?.pointee = unsafe answers
      return PAM_SUCCESS
    }

  private static func answer(
    _ message: UnsafePointer<pam_message>, _ response: inout pam_response, _ conversation: Conversation
  ) -> Bool {
    let text = unsafe message.pointee.msg.map { unsafe bytes($0) } ?? []
    switch unsafe message.pointee.msg_style {
    case PAM_PROMPT_ECHO_OFF:
      guard unsafe conversation.converse(.hidden, text, &conversation.line.pointee) else { return false }
      unsafe response.resp = conversation.line.pointee.forC()
      return unsafe response.resp != nil
    case PAM_TEXT_INFO, PAM_ERROR_MSG:
      return unsafe conversation.converse(.notice, text, &conversation.line.pointee)
    default: return false
    }
  }
}

extension TypedLine {
  /// A malloc'ed copy that ends in NUL, which libpam's modules wipe and free; nil where a NUL within would cut it.
  fileprivate func forC() -> UnsafeMutablePointer<CChar>? {
    guard read({ line in line.indices.allSatisfy { line[$0] != 0 } }),
      let memory = unsafe calloc(count + 1, 1)
    else { return nil }
    // SAFETY: count + 1 bytes were allocated, the last one stays NUL.
    unsafe cs_copy(memory, start, count)
    return unsafe memory.assumingMemoryBound(to: CChar.self)
  }
}
