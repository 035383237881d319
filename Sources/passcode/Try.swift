internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault
func runTry(_ session: Session) throws(Failure) -> ExitStatus { .done }
