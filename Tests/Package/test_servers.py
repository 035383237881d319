"""Servers that ask PAM, in trixie: each with the password, and refused with the passcode. On request: their root is large."""

import dataclasses

import pytest

from debian_machine import PASSWORD, PROGRAMS, RIGHT, WRONG, Machine, root

pytestmark = pytest.mark.on_request

SERVERS = " cockpit-bridge cockpit-ws cups-daemon curl dovecot-imapd vsftpd xrdp xsecurelock"


@dataclasses.dataclass(frozen=True)
class Server:
    start: str
    log_in: str  # {} stands for the password
    told: str  # what the module's log says that PAM was told
    user: str = "root"


CURL = "curl --silent --show-error --fail --max-time 20 --user 'alice:{}' --output /dev/null "
LOCKER = "printf 'p %d\\n%s\\n' $(printf '{0}' | wc -c) '{0}' | DISPLAY=:7 /usr/libexec/xsecurelock/authproto_pam"
CASES = {
    "vsftpd": Server(
        "mkdir -p /run/vsftpd/empty; vsftpd -olocal_enable=YES -olisten=YES -olisten_ipv6=NO -obackground=YES"
        " -oseccomp_sandbox=NO",
        CURL + "ftp://127.0.0.1/", "tty=ftp rhost=::ffff:127.0.0.1"),
    # Without a client's address, as behind a proxy that tells none.
    "dovecot": Server("dovecot", "doveadm auth test alice '{}'", "tty=dovecot ruser=alice"),
    "cups": Server(
        "usermod -aG lpadmin alice; mkdir -p /run/cups; cupsd", CURL + "http://localhost:631/admin/conf/cupsd.conf",
        "tty=cups rhost=localhost"),
    "cockpit": Server(
        "/usr/lib/cockpit/cockpit-ws --no-tls --port 9090 &", CURL + "http://127.0.0.1:9090/cockpit/login",
        "rhost=127.0.0.1"),
    # Its session can't start here: whether the password was right is in its log.
    "xrdp": Server(
        "mkdir -p /run/xrdp; xrdp-sesman", ": >/var/log/xrdp-sesman.log; timeout 5 xrdp-sesrun -t Xvnc -p '{}' alice;"
        " grep 'login request' /var/log/xrdp-sesman.log && ! grep AUTHFAIL /var/log/xrdp-sesman.log",
        "tty=xrdp-sesman"),
    "xsecurelock": Server(":", LOCKER, "tty=:7 rhost=localhost", user="alice"),
}  # fmt: skip
COCKPIT = "[Basic]\nCommand=/usr/lib/cockpit/cockpit-session\n[WebService]\nAllowUnencrypted=true\n"


@pytest.fixture(scope="module")
def servers(deb):
    machine = Machine(root("trixie", PROGRAMS + SERVERS))
    machine.people()
    machine.install(deb)
    machine.enroll()
    machine.enable()
    machine.configure(fail_delay="0")
    (machine.path / "etc/cockpit").mkdir(exist_ok=True)
    (machine.path / "etc/cockpit/cockpit.conf").write_text(COCKPIT)
    yield machine
    machine.remove()


def logged_in(machine, server, secret):
    """What they print is of no interest, but some processes that they start would keep it open."""
    command = f"({server.log_in.format(secret)}) >/tmp/said-{server.user} 2>&1 </dev/null; echo status $?"
    return machine.run("sh", "-c", command, user=server.user).endswith("status 0\n")


@pytest.mark.parametrize("name", CASES)
def test_a_server_takes_the_password_and_no_passcode(servers, name):
    server = CASES[name]
    servers.run("sh", "-c", f"({server.start}) >/dev/null 2>&1; sleep 1")
    assert logged_in(servers, server, PASSWORD)
    before = len(servers.log.lines())
    for code in (RIGHT, WRONG[0]):
        assert not logged_in(servers, server, code)
    lines = [line.message for line in servers.log.lines()[before:] if "pam_passcode" in line.message]
    assert lines and all("remote login" in line and server.told in line for line in lines)
    assert servers.state()["failures"] == 0 and servers.state()["last_success"] is None


def test_xsecurelock_asks_for_the_passcode_if_it_names_no_host(servers):
    """What README.Debian says to set."""
    locker = Server(":", f"export XSECURELOCK_NO_PAM_RHOST=1; {LOCKER}", "", user="alice")
    assert logged_in(servers, locker, RIGHT)
    assert servers.state()["last_success"]
