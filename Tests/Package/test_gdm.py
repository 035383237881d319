"""GDM of each release: its login screen takes the passcode, and who is in a session can have only their own one tried.

Any process in a session of logind's may have GDM authenticate anyone, with any service. On request: a root with GDM. It
switches between this machine's consoles, so nothing else that looks at them may run beside it."""

import itertools

import pytest

from container import Container
from debian_machine import PASSWORD, RIGHT, WRONG
from gdm import FILES, PROGRAMS, Gdm

pytestmark = pytest.mark.on_request

CHANNEL = "OpenReauthenticationChannel"
ASKED, PASSWORD_ONLY = "Passcode or password: ", "Password: "
LINE = "auth [success=2 default=ignore] pam_passcode.so either"


@pytest.fixture(scope="module")
def gdm(release, deb):
    """alice, bob and root have passcodes; the services of GDM and `other` ask for them."""
    made = Container(release, deb, programs=PROGRAMS, files=FILES)
    made.run("printf 'opslimit=1\\nmemlimit=8M\\nfail_delay=0\\nweak=allow\\n' > /etc/security/passcode.conf")
    made.run(f"dpkg --install --force-confold /root/{deb.name}")
    for user in ("alice", "bob", "root"):
        made.run(f"echo {RIGHT} | passcode enroll {user} --stdin")
    made.run(f"sed -i '0,/^auth/s//{LINE}\\nauth/' /etc/pam.d/common-auth; grep -q pam_passcode /etc/pam.d/common-auth")
    gdm = Gdm(made)
    yield gdm
    gdm.remove()


def prompts(said):
    return [values[0] for signal, *values in said if signal == "SecretInfoQuery"]


def opened(said):
    return any(signal == "VerificationComplete" for signal, *_ in said)


def failures(gdm, user):
    return gdm.container.machine.state(user)["failures"]


def is_never_asked(gdm, ask, user, service):
    """Neither a right passcode nor a wrong one is taken, and none is counted."""
    for code in (RIGHT, WRONG[2]):
        said = ask(CHANNEL, service, user, code)
        assert not opened(said) and ASKED not in prompts(said), said
    assert failures(gdm, user) == 0


OTHERS = list(itertools.product(("alice", "root"), ("gdm-password", "other")))


@pytest.fixture(scope="module")
def login_screen(gdm):
    gdm.begin()
    gdm.wait_for_session("Debian-gdm")
    return gdm


@pytest.mark.parametrize("user, service", OTHERS)
def test_through_ssh_nobody_is_asked(login_screen, user, service):
    is_never_asked(login_screen, login_screen.asked_by_ssh, user, service)


@pytest.mark.parametrize("console", [None, 11], ids=["active", "inactive"])
@pytest.mark.parametrize("user, service", OTHERS)
def test_in_a_session_that_gdm_did_not_begin_nobody_is_asked(login_screen, user, service, console):
    def ask(*arguments):
        return login_screen.asked_on_seat("bob", *arguments, console=console)

    is_never_asked(login_screen, ask, user, service)


def test_there_the_password_is_asked(login_screen):
    """GDM's own limits are as ever."""
    said = login_screen.asked_on_seat("alice", CHANNEL, "gdm-password", "alice", PASSWORD)
    assert prompts(said) == [PASSWORD_ONLY] and opened(said)


def test_the_login_screen_asks_for_anyone_but_root(login_screen):
    for service, user, code, takes in (
        ("gdm-password", "alice", WRONG[0], True), ("gdm-password", "alice", RIGHT, True),
        ("gdm-password", "bob", RIGHT, True), ("gdm-password", "root", RIGHT, False), ("other", "root", RIGHT, False),
    ):  # fmt: skip
        said = login_screen.asked_in_session("Debian-gdm", "OpenSession", service, user, code)
        assert (ASKED in prompts(said)) == takes and opened(said) == (takes and code == RIGHT), said
        assert failures(login_screen, user) == (code != RIGHT)


@pytest.fixture(scope="module")
def session(gdm):
    """alice's, begun by GDM."""
    gdm.begin("AutomaticLoginEnable=true", "AutomaticLogin=alice")
    gdm.wait_for_session("alice")
    return gdm


def test_in_one_s_own_session_the_passcode_unlocks(session):
    for code, is_right in ((WRONG[1], False), (RIGHT, True)):
        said = session.asked_in_session("alice", CHANNEL, "gdm-password", "alice", code)
        assert prompts(said)[0] == ASKED and opened(said) == is_right, said
        assert failures(session, "alice") == (not is_right)


@pytest.mark.parametrize("user, service", [("alice", "other"), *itertools.product(("bob", "root"), ("gdm-password", "other"))])
def test_in_one_s_own_session_nothing_else_is_asked(session, user, service):
    def ask(*arguments):
        return session.asked_in_session("alice", *arguments)

    is_never_asked(session, ask, user, service)
