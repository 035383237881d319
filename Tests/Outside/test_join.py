"""passcode-fleet-join where it is interrupted after a server has answered. With servers: test_fleet_join.py."""

import pathlib
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
