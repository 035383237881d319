"""passcode-fleet-join where it is interrupted after a server has answered, and what a renewal makes of the servers' names; and
when a server's scripts stop stunnel, through which workstations join. With servers: test_fleet_join.py, test_server_add.py."""

import pathlib
import re
import socket
import subprocess

import pytest
from messages import TREE

JOIN = TREE / "Sources/system/setup/passcode-fleet-join"
FOLDER, SETTINGS = pathlib.Path("/etc/stunnel"), pathlib.Path("/etc/security/passcode.conf")
FILES = "workstation.pem", "servers.pem", "workstation.key", "passcode-fleet.conf"
# What a server has answered, in place of the server; and nothing is started.
RUN = """
source <(sed '$d' "$1")
FOLDER=/etc/stunnel
systemctl() { [[ ! -e $CUT/systemctl ]] || kill -KILL $$; }
pam-auth-update() { :; }
read_token() { :; }
ask_to_join() { openssl req -x509 -key "$work/key" -subj "/CN=$name" -out "$work/certificate1" && cp "$work/certificate1" "$work/certificate2"; }
take() { :; }
configure() { echo configuration >"$work/configuration"; }
mv() {
  command mv "$@"
  echo >>"$CUT/moves"
  [[ ! -e $CUT/after || $(wc -l <"$CUT/moves") != "$(cat "$CUT/after")" ]] || kill -KILL $$
}
main server1.example.org ws1
"""


def join(folder):
    return subprocess.run(["bash", "-c", RUN, "join", JOIN], env={"CUT": str(folder), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path):
    FOLDER.mkdir(exist_ok=True)
    SETTINGS.parent.mkdir(exist_ok=True)
    before = SETTINGS.read_text() if SETTINGS.exists() else None
    yield tmp_path
    subprocess.run(["sh", "-c", f"rm -rf {FOLDER}/.passcode-fleet-join* && cd {FOLDER} && rm -f {' '.join(FILES)}"], check=True)
    if before is None:
        SETTINGS.unlink(missing_ok=True)
    else:
        SETTINGS.write_text(before)


def there():
    return [name for name in FILES if (FOLDER / name).exists()]


# The first of these moves puts everything at its side; each other one puts one file in place.
@pytest.mark.parametrize("after", range(1, 6))
def test_the_same_command_ends_what_was_interrupted(folder, after):
    (folder / "after").write_text(str(after))
    assert join(folder).returncode == -9
    assert there() == list(FILES[: after - 1])
    (folder / "after").unlink()
    done = join(folder)
    assert done.returncode == 0 and "ws1 is now a workstation" in done.stdout, done
    ended()


def ended():
    assert there() == list(FILES) and list(FOLDER.glob(".passcode-fleet-join*")) == []
    pair = subprocess.run(
        ["bash", "-ec", f"cd {FOLDER} && [[ $(openssl x509 -in workstation.pem -noout -pubkey) == $(openssl pkey -in workstation.key -pubout) ]]"]
    )
    assert pair.returncode == 0 and (FOLDER / "workstation.key").stat().st_mode & 0o777 == 0o600
    assert SETTINGS.read_text().count("verifier=/run/passcode-fleet/verifier.sock\n") == 1


def test_also_where_the_services_were_not_started_yet(folder):
    (folder / "systemctl").touch()
    assert join(folder).returncode == -9
    (folder / "systemctl").unlink()
    assert join(folder).returncode == 0
    ended()
    done = join(folder)
    assert done.returncode == 1 and "is in a fleet already" in done.stderr


def test_what_was_interrupted_before_leaves_nothing(folder):
    left = FOLDER / ".passcode-fleet-join.abcdef"
    left.mkdir()
    (left / "workstation.key").touch()
    assert join(folder).returncode == 0
    ended()


def test_a_file_that_somebody_made_meanwhile_stays(folder):
    (folder / "after").write_text("1")
    join(folder)
    (FOLDER / "servers.pem").write_text("mine")
    (folder / "after").unlink()
    done = join(folder)
    assert done.returncode == 1 and "servers.pem exists" in done.stderr and (FOLDER / "servers.pem").read_text() == "mine"


@pytest.mark.parametrize(
    "text, is_refused",
    [
        ("verifier=none\n", True), ("verifier = /run/passcode-fleet/verifier.sock\n", False), ("#verifier=none\n", False),
        ("verifier=/run/passcode-fleet/verifier.sock\nverifier=/x\n", True),
    ],
)  # fmt: skip
def test_a_machine_that_asks_another_verifier_is_left_alone(folder, text, is_refused):
    SETTINGS.write_text(text)
    done = join(folder)
    assert (done.returncode, "has a different verifier= line" in done.stderr) == ((1, True) if is_refused else (0, False)), done
    assert there() == ([] if is_refused else list(FILES))


# MARK: The servers' names

A, B, C, D, E = (f"server{number}.example.org" for number in range(1, 6))
EXAMPLE = TREE / "Sources/system/stunnel/passcode-fleet.conf"
KNOW = """
source <(sed '$d' "$1")
FOLDER=$CUT/stunnel work=$CUT EXAMPLE=$2
note() { echo "$1"; }
shuf() { echo "${@: -1}"; }
server=$3 servers=($4)
if [[ ! -e $FOLDER/passcode-fleet.conf ]]; then configure $EXAMPLE "$server" && replace passcode-fleet.conf "$work/configuration"; fi
know_servers
"""


def know(folder, answer, first=B):
    (folder / "stunnel").mkdir(exist_ok=True)
    (folder / "answer").write_text("".join(f"server {name}\n" for name in answer))
    command = ["bash", "-euo", "pipefail", "-c", KNOW, "know", JOIN, EXAMPLE, first, f"{A} {B} {C}"]
    done = subprocess.run(command, env={"CUT": str(folder), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = (folder / "stunnel/passcode-fleet.conf").read_text()
    return [re.findall(r"^connect = (.*):7470$", part, re.M) for part in text.split("[second]")], done.stdout + done.stderr, text


@pytest.mark.parametrize(
    "answer, first, second",
    [
        ([A, B, C, D, E], [B, C, D, E, A], [C, D, E, A, B]),
        ([D, B], [B, D], [D, B]),
        ([C, D, A], [A, C, D], [C, D, A]),  # the one that it asked first is gone
    ],
)
def test_other_servers_take_the_place_of_those_that_it_knows(tmp_path, answer, first, second):
    before = know(tmp_path, [])[2]
    connected, said, text = know(tmp_path, answer)
    assert connected == [first, second] and said == f"servers are now {' '.join(answer)}\n"
    assert sorted(re.findall("^checkHost = (.*)$", text, re.M)) == sorted(answer)
    assert others(text) == others(before)
    assert know(tmp_path, answer) == (connected, "", text)


def others(text):
    return [line for line in text.splitlines() if not line.startswith(("connect", "checkHost"))]


@pytest.mark.parametrize("answer", [[], [C, B, A], [A, "server 4"], [A, "x;reboot"], [A, ""]], ids=str)
def test_the_same_servers_or_none_change_nothing(tmp_path, answer):
    before = know(tmp_path, [])[2]
    assert know(tmp_path, answer)[1:] == ("", before)


@pytest.mark.parametrize("line", [f"connect = {D}:7470", "connect = 192.0.2.1:7470", f"checkHost = {D}"])
def test_a_configuration_of_somebody_s_own_stays(tmp_path, line):
    text = know(tmp_path, [])[2]
    text = text.replace(f"connect = {A}:7470", line) if line[1] == "o" else text.replace("\ncheckHost", f"\n{line}\ncheckHost", 1)
    (tmp_path / "stunnel/passcode-fleet.conf").write_text(text)
    connected, said, after = know(tmp_path, [A, B, C, D, E])
    assert after == text and f"the fleet's servers are now {A} {B} {C} {D} {E}: change" in said


SPREAD = """
source <(sed '$d' "$1")
EXAMPLE=$2 name=ws1 server=$3
for stub in read_token ask_to_join; do eval "$stub() { :; }"; done
openssl() { :; }
take() { servers=($4); }
shuf() { echo "${@: -1}"; }
stage() { cat "$work/configuration"; }
join "$@"
"""


@pytest.mark.parametrize(
    "server, first, second",
    [(A, [C, A, B], [A, B, C]), (B, [C, B, A], [B, A, C]), (C, [C, A, B], [A, B, C]), ("alias", [C, A, B], [A, B, C])],
)
def test_a_server_at_random_is_asked_first_and_then_the_one_that_has_this_workstation_on_its_list(server, first, second):
    """Here the random one is the last."""
    command = ["bash", "-euo", "pipefail", "-c", SPREAD.replace("$4", f"{A} {B} {C}"), "spread", JOIN, EXAMPLE, server]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [re.findall(r"^connect = (.*):7470$", part, re.M) for part in text.split("[second]")] == [first, second]


RENEW = """
source <(sed '$d' "$1")
FOLDER=$CUT names="$2"
openssl() { : >"$work/request"; }
for stub in ask is_ours note configure; do eval "$stub() { :; }"; done
divide() { printf 'server %s\\n' $names >"$work/answer"; }
lasts() { [[ $1 == */certificate1 ]]; }
replace() { [[ $1 == workstation.pem ]]; }
systemctl() { echo "$*"; }
renew
"""


def test_the_new_certificate_is_used_even_if_the_servers_can_t_be_written_down(tmp_path):
    """Otherwise stunnel would keep the old one, until after its end: no later renewal restarts it."""
    (tmp_path / "passcode-fleet.conf").write_text(f"checkHost = {A}\nconnect = {A}:7470\n")
    environment = {"CUT": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", RENEW, "renew", JOIN, f"{A} {B}"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "try-restart passcode-fleet\n"), done.stderr


# MARK: The port on a server

INVITE, LIST = JOIN.with_name("passcode-verifier-invite-workstation"), pathlib.Path("/etc/passcode/workstations")
# An issuer is seen at work $BUSY times. What is done to stunnel is done under the lock.
STAND_INS = r"""
ISSUER=$CUT JOIN=$CUT/join
etcd() { [[ $1 != lease ]] || echo "lease 1234 granted"; }
openssl() { if [[ $1 == rand ]]; then command openssl "$@"; else echo subject=CN=server1.example.org; fi; }
note() { :; }
sleep() { echo "sleep $1" >>"$CUT/calls"; }
systemctl() {
  [[ $* != "-q is-active passcode-verifier-join" ]] || return 0
  echo "$*" >>"$CUT/calls"
  if [[ $* == "$LOOK" ]]; then (($(grep -cxF -- "$LOOK" "$CUT/calls") <= BUSY)); else ! flock -n /run/passcode-issuer.lock true; fi
}
"""
LOOK, PAUSE = "-q is-active passcode-verifier-issue@*", "sleep 0.2"
ENDS = {
    (INVITE, "ws1"): "restart passcode-verifier-join",
    (INVITE.with_name("passcode-verifier-workstations"), "joined"): "stop passcode-verifier-join",
}


@pytest.fixture
def server(tmp_path):
    """Answers how such a script ended, and the calls of the stand-ins."""
    (tmp_path / "key").touch()
    LIST.parent.mkdir(exist_ok=True)
    LIST.touch()

    def run(script, word, busy, port):
        text = script.read_text().replace("/dev/tcp/127.0.0.1/7471", f"/dev/tcp/127.0.0.1/{port}")
        shared = '. "${BASH_SOURCE[0]%/*}/passcode-verifier-issuer"\n'
        assert text.count(shared) == 1
        text = text.replace(shared, f". {script.with_name('passcode-verifier-issuer')}\n{STAND_INS}")
        environment = {"CUT": str(tmp_path), "LOOK": LOOK, "BUSY": str(busy)}
        done = subprocess.run(["bash", "-c", text, script, word], env=environment, capture_output=True, text=True, timeout=60)
        return done, (tmp_path / "calls").read_text().splitlines()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield lambda script, word, busy, port=listener.getsockname()[1]: run(script, word, busy, port)
    LIST.unlink()


@pytest.mark.parametrize("script, word", ENDS, ids=["invited", "joined"])
@pytest.mark.parametrize("busy", [0, 1, 3])
def test_stunnel_stops_as_soon_as_nobody_is_being_answered(server, script, word, busy):
    done, calls = server(script, word, busy)
    assert done.returncode == 0, done
    assert calls == [LOOK, PAUSE] * busy + [LOOK, ENDS[script, word]]


@pytest.mark.parametrize("script, word", ENDS, ids=["invited", "joined"])
def test_an_answer_that_does_not_end_is_waited_for_no_longer_than_systemd_does(server, script, word):
    """A client may take 7 s, and RuntimeMaxSec= ends an issuer after 15. Then nothing is said, and all goes on as otherwise."""
    done, calls = server(script, word, 10**6)
    usual, _ = server(script, word, 0)
    assert done.returncode == 0 and done.stderr == usual.stderr, done
    assert (script == INVITE) == bool(re.fullmatch("(?:[0-9a-f]{4}-){7}[0-9a-f]{4}\n", done.stdout)), done
    waits = calls[: calls.index(ENDS[script, word])]
    assert set(waits) == {LOOK, PAUSE} and 7 < 0.2 * waits.count(PAUSE) <= 15


def test_an_invitation_to_a_port_that_stays_closed_fails(server):
    """And there is no token."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        done, calls = server(INVITE, "ws1", 0, nobody.getsockname()[1])
    assert (done.returncode, done.stdout) == (1, "")
    assert 'stunnel doesn\'t answer on port 7471: see "journalctl -u passcode-verifier-join"' in done.stderr
    assert calls[:2] == [LOOK, "restart passcode-verifier-join"] and set(calls[2:]) == {"sleep 0.1"} and 20 < len(calls) < 100
