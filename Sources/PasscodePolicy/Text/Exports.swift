// Decisions are about bytes: what imports this target has those of PasscodeBytes, too.
@_exported public import PasscodeBytes
