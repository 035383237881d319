"""The steps of `passcode server create` that need no fleet. All of them: test_server_create.py."""

import os
import pathlib
import subprocess

import pytest

from messages import TREE

STEPS = TREE / "Sources/system/setup/passcode-verifier-steps"
UNPACK = f"""
. {STEPS}
mkdir -p etc/passcode/issuer etc/stunnel run && touch run/more
for file in $SHARED; do [[ -d $file ]] || echo packed >$file; done
echo packed >etc/passcode/issuer/key
cd / && PACKED=$(tar -c -C "$OLDPWD" run/more $SHARED | base64)
unpack
"""


def test_what_the_first_server_packs_besides_is_not_unpacked(tmp_path):
    subprocess.run(["bash", "-euo", "pipefail", "-c", UNPACK], cwd=tmp_path, check=True)
    folder = pathlib.Path("/etc/passcode")
    files = [folder / name for name in ("fleet.key", "verifier.conf", "verifier.password", "workstations", "issuer/key")]
    assert [file.read_text() for file in files] == ["packed\n"] * 5
    assert not pathlib.Path("/run/more").exists()
    subprocess.run(["rm", "-r", *files, folder / "issuer", "/etc/stunnel/workstations.pem"], check=True)


CREATE = TREE / "Sources/system/setup/passcode-verifier-create"


def of_nobody(folder):
    os.chown(folder, 65534, 65534)


def linked(folder):
    folder.rename(folder.with_name("other"))
    folder.symlink_to(folder.with_name("other"))


@pytest.mark.parametrize("change", [of_nobody, linked, lambda folder: folder.chmod(0o750)])
def test_an_authority_that_others_may_have_written_is_not_used(tmp_path, change):
    folder = tmp_path / "authority"
    folder.mkdir(mode=0o700)
    change(folder)
    servers = [f"s{number}=192.0.2.{number}" for number in (1, 2, 3)]
    done = subprocess.run([CREATE, "ward-7", *servers, "--authority", folder, "--yes"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 1 and "must be a folder of root's with mode 0700" in done.stderr, done


# While the administrator is asked, somebody else makes the folder, with keys that no passphrase protects.
MEANWHILE = """
source <(sed -e '$d' -e "s|[$]{BASH_SOURCE\\[0\\]%/\\*}|${0%/*}|" "$0")
greet_and_look() { echo fresh; }
confirm() {
  mkdir "$authority"
  for kind in servers peers; do
    openssl req -x509 -newkey rsa:2048 -nodes -subj "/CN=$kind" -keyout "$authority/$kind.key" -out "$authority/$kind.pem"
  done
  described_fleet >"$authority/fleet"
  chmod 0755 "$authority"
  chown -R nobody "$authority"
}
create() { touch "$authority/used"; }
main "$@"
"""


def test_an_authority_that_appears_while_the_administrator_is_asked_is_not_used(tmp_path):
    folder = tmp_path / "authority"
    servers = [f"s{number}=192.0.2.{number}" for number in (1, 2, 3)]
    command = ["bash", "-c", MEANWHILE, CREATE, "ward-7", *servers, "--authority", folder, "--passphrase-fd", "0"]
    done = subprocess.run(command, capture_output=True, text=True, input="0123456789ab\n")
    assert not (folder / "used").exists(), done
    assert done.returncode == 1 and "must be a folder of root's with mode 0700" in done.stderr, done
