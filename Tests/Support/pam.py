"""libpam as an application calls it: one conversation, scripted and written down.

Every run happens in a child of its own (`run`), so that it can be somebody else, short of memory or killed;
what happened comes back as an Outcome.
"""

import ctypes
import ctypes.util
import dataclasses
import json
import os
import select
import signal
import time
import traceback

_pam = ctypes.CDLL("libpam.so.0")
_libc = ctypes.CDLL("libc.so.6", use_errno=True)
_libc.calloc.restype = ctypes.c_void_p
_libc.calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]

RESULTS = (
    "SUCCESS OPEN_ERR SYMBOL_ERR SERVICE_ERR SYSTEM_ERR BUF_ERR PERM_DENIED AUTH_ERR CRED_INSUFFICIENT"
    " AUTHINFO_UNAVAIL USER_UNKNOWN MAXTRIES NEW_AUTHTOK_REQD ACCT_EXPIRED SESSION_ERR CRED_UNAVAIL"
    " CRED_EXPIRED CRED_ERR NO_MODULE_DATA CONV_ERR AUTHTOK_ERR AUTHTOK_RECOVERY_ERR"
    " AUTHTOK_LOCK_BUSY AUTHTOK_DISABLE_AGING TRY_AGAIN IGNORE ABORT AUTHTOK_EXPIRED MODULE_UNKNOWN"
    " BAD_ITEM CONV_AGAIN INCOMPLETE"
).split()
ITEMS = {"SERVICE": 1, "USER": 2, "TTY": 3, "RHOST": 4, "RUSER": 8, "XDISPLAY": 11}
STYLES = {1: "PROMPT_ECHO_OFF", 2: "PROMPT_ECHO_ON", 3: "ERROR_MSG", 4: "TEXT_INFO"}
SILENT = 0x8000
_CONV, _FAIL_DELAY, _CONV_ERR = 5, 10, RESULTS.index("CONV_ERR")

# What an answer may be, besides a text: a conversation that fails, one that answers nothing, one that
# returns no answers at all.
FAILS, NULL, NO_ANSWERS = object(), None, object()


class _Message(ctypes.Structure):
    _fields_ = [("style", ctypes.c_int), ("text", ctypes.c_char_p)]


class _Response(ctypes.Structure):
    _fields_ = [("text", ctypes.c_void_p), ("retcode", ctypes.c_int)]


_Converse = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(ctypes.POINTER(_Message)),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
)
_Delay = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)


class _Conversation(ctypes.Structure):
    _fields_ = [("converse", _Converse), ("data", ctypes.c_void_p)]


@dataclasses.dataclass
class Outcome:
    """What one run came to."""

    results: list = dataclasses.field(default_factory=list)  # a name for each call
    prompts: list = dataclasses.field(default_factory=list)  # the text of each prompt, in order
    styles: list = dataclasses.field(default_factory=list)  # the style of each prompt
    messages: list = dataclasses.field(default_factory=list)  # [style, text] of each message, in order
    delays: list = dataclasses.field(default_factory=list)  # [result, seconds] that libpam would wait
    processor_seconds: float = 0.0  # used by the calls
    error: str = ""  # the child's own failure
    killed_by: int = 0

    @property
    def result(self):
        return self.results[0] if self.results else None

    @property
    def texts(self):
        return [text for _, text in self.messages]


class Handle:
    """One pam_handle_t, in this process; at a terminal unless `items` says otherwise."""

    def __init__(self, service, user, folder, answers, outcome, items=()):
        self.answers, self.outcome = list(answers), outcome
        self._converse = _Converse(self._answer)
        self._delay = _Delay(lambda result, micros, _: outcome.delays.append([RESULTS[result], micros / 1e6]))
        self._conversation = _Conversation(self._converse, None)
        self._pointer = ctypes.c_void_p()
        status = _pam.pam_start_confdir(
            service.encode(),
            None if user is None else os.fsencode(user),
            ctypes.byref(self._conversation),
            os.fsencode(folder),
            ctypes.byref(self._pointer),
        )
        assert status == 0, f"pam_start_confdir: {RESULTS[status]}"
        _pam.pam_set_item(self._pointer, _FAIL_DELAY, ctypes.cast(self._delay, ctypes.c_void_p))
        # A program of root's that is no login program says who asks.
        asker = None if service == "login" else "root"
        for name, value in {"TTY": "tty1", "RUSER": asker, **dict(items)}.items():
            self.set(name, value)

    def set(self, name, value):
        status = _pam.pam_set_item(self._pointer, ITEMS[name], None if value is None else os.fsencode(value))
        assert status == 0, f"pam_set_item {name}: {RESULTS[status]}"

    def call(self, name, flags=0):
        status = getattr(_pam, "pam_" + name)(self._pointer, flags)
        self.outcome.results.append(RESULTS[status])

    def end(self, status=0):
        _pam.pam_end(self._pointer, status)

    def _answer(self, count, messages, responses, _):
        """The conversation. Answers come from the script; a prompt too many fails it, and is counted."""
        array = _libc.calloc(count, ctypes.sizeof(_Response))
        replies = ctypes.cast(array, ctypes.POINTER(_Response))
        responses[0] = array
        for index in range(count):
            message = messages[index].contents
            style, text = STYLES[message.style], message.text.decode(errors="backslashreplace")
            if not style.startswith("PROMPT"):
                self.outcome.messages.append([style, text])
                continue
            self.outcome.prompts.append(text)
            self.outcome.styles.append(style)
            answer = self.answers.pop(0) if self.answers else FAILS
            if callable(answer):
                answer = answer(self)
            if answer is FAILS or answer is NO_ANSWERS:
                responses[0] = None
                return _CONV_ERR if answer is FAILS else 0
            replies[index].text = None if answer is NULL else _copied(answer)
        return 0


def _copied(answer):
    """A malloc'd C string, which libpam or the module frees."""
    data = answer if isinstance(answer, bytes) else os.fsencode(answer)
    memory = _libc.calloc(len(data) + 1, 1)
    ctypes.memmove(memory, data, len(data))
    return memory


def start(service, user, folder, answers, *, items=(), flags=0, calls=("authenticate",), prepare=None):
    """Makes the calls on one handle in a child of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        outcome = Outcome()
        try:
            if prepare:
                prepare()
            handle = Handle(service, user, folder, answers, outcome, items)
            before = time.process_time()
            for call in calls:
                handle.call(call, flags)
            outcome.processor_seconds = time.process_time() - before
            handle.end()
        except BaseException:
            outcome.error = traceback.format_exc()
        os.write(writing, json.dumps(dataclasses.asdict(outcome)).encode())
        os._exit(0)
    os.close(writing)
    return Running(child, reading)


class Running:
    """A run that is under way."""

    def __init__(self, child, reading):
        self.child, self._reading = child, reading

    def kill(self, number=signal.SIGKILL):
        os.kill(self.child, number)

    def wait(self, seconds=150):
        data, deadline = b"", time.monotonic() + seconds
        while True:
            if not select.select([self._reading], [], [], max(0, deadline - time.monotonic()))[0]:
                self.kill()
                os.waitpid(self.child, 0)
                raise TimeoutError(f"no answer after {seconds} s")
            block = os.read(self._reading, 65536)
            if not block:
                break
            data += block
        os.close(self._reading)
        _, status = os.waitpid(self.child, 0)
        outcome = Outcome(**json.loads(data)) if data else Outcome()
        outcome.killed_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        assert not outcome.error, outcome.error
        return outcome
