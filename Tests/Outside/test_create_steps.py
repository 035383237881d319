"""The steps of `passcode server create` that need no fleet. All of them: test_server_create.py."""

import pathlib
import subprocess

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
