"""What an administrator does on a server: `passcode server …`."""

import hashlib
import pathlib
import re
import stat
import subprocess
import time

import pytest

from bed import TOOL
from fleet import FOLDER, GRANTED, LOOK, STATION_LOCKED, VERIFIER, WRONG, refusing_weak
from scenario import RIGHT
from schema import validated
from tool import CANCELLED, DONE, NOT_ENROLLED, NOT_PERMITTED, POLICY, SOME_FAILED, UNUSABLE, USAGE, one_line


def test_the_tool_starts_it_with_the_words_as_they_are(fleet):
    server = fleet.servers[0]
    missing = server.tool("list", check=UNUSABLE)
    assert one_line(missing.stderr) and "apt install passcode-verifier" in missing.stderr
    assert server.tool("--help").stdout.startswith("Usage: passcode server ACTION [OPTIONS]\n")
    server.install()
    assert server.tool("status", "alice").stdout == "alice: enrolled, wrong passcodes in a row: 0\n"
    assert server.tool("--help").stdout.startswith("Usage: passcode server COMMAND [USER] [OPTIONS]\n")
    assert "passcode server: no command" in server.tool("frobnicate", check=USAGE).stderr
    old = subprocess.run(server.command(TOOL, "verifier", "status", "alice"), capture_output=True, text=True, check=True)
    assert old.stdout == server.tool("status", "alice").stdout
    server.tool("unlock", "carol", check=NOT_ENROLLED)
    as_alice = server.command("setpriv", "--reuid", "alice", "--clear-groups", TOOL, "server", "list")
    refused = subprocess.run(as_alice, capture_output=True, text=True)
    assert refused.returncode == NOT_PERMITTED and one_line(refused.stderr)


def test_it_gets_its_arguments_and_nothing_of_the_environment(fleet):
    server = fleet.servers[1]
    script = FOLDER / "script"
    script.write_text("#!/bin/sh\nfor word; do printf '<%s>' \"$word\"; done; echo; env; exit 5\n")
    server.install(script)
    words = ["enroll", "--json", "--", "-x", "", "a b", "--conf=/x"]
    environment = {"EVIL": "1", "LD_LIBRARY_PATH": "/x", "LANGUAGE": "de", "SUDO_USER": "carol", "PATH": "/bin", "LOCPATH": "/x"}
    done = server.tool(*words, check=POLICY, env=environment)
    first, *rest = done.stdout.splitlines()
    assert first == "".join(f"<{word}>" for word in words)
    names = {line.split("=")[0] for line in rest}
    assert {"SUDO_USER", "PATH", "LANGUAGE"} <= names <= {"SUDO_USER", "PATH", "LANGUAGE", "PWD", "OLDPWD", "SHLVL", "_"}
    server.install(script, "0775")
    assert "denied" in server.tool("list", check=UNUSABLE).stderr
    assert "usage: passcode server ACTION" in subprocess.run(
        server.command(TOOL, "--json", "server", "list"), capture_output=True, text=True
    ).stderr  # fmt: skip


def test_a_batch_is_as_the_tool_s(fleet):
    """Names without an account here; a bad line is named by its number; results, JSON and statuses."""
    server = fleet.servers[0]
    text = "nurse1:8305\nnurse1:8305\nnurse2:1234\nnurse2\n# x\n\n8305:nurse3\nnurse3:830517\r\nnurse4:830517\nroot:8305\n"
    with refusing_weak():
        done = server.run("enroll", "--batch", "-", input=text, check=SOME_FAILED)
    assert done.stdout.splitlines() == ["line 1: nurse1: passcode enrolled", "line 9: nurse4: passcode enrolled"]
    failed = done.stderr.splitlines()
    assert [re.match(r"passcode server: line (\d+): ", line)[1] for line in failed[:-1]] == ["2", "3", "4", "7", "8", "10"]
    assert "too easy to guess" in failed[1] and "8305" not in failed[3]
    assert failed[-1] == "passcode server: users: 8, done: 2, failed: 6"
    assert server.verify("8305", "nurse1").kind == GRANTED
    done = server.run("enroll", "--batch", "-", "--json", "--skip-enrolled", input="nurse1:9147\nnurse5:9147\n")
    *rows, summary = done.stdout.splitlines(keepends=True)
    assert [row["result"] for row in validated("line", "".join(rows))] == ["skipped", "done"]
    assert validated("summary", summary)[0]["done"] == 1
    people = "nurse1\nnurse5\nnobody-here\n"
    for command, results in (
        ("disable", ["done", "done", "not_enrolled"]), ("disable", ["unchanged", "unchanged", "not_enrolled"]),
        ("enable", ["done", "done", "not_enrolled"]), ("unlock", ["unchanged", "unchanged", "not_enrolled"]),
        ("remove", ["done", "done", "not_enrolled"]),
    ):  # fmt: skip
        done = server.run(command, "--batch", "-", "--json", input=people, check=SOME_FAILED)
        *rows, _ = done.stdout.splitlines(keepends=True)
        assert [row["result"] for row in validated("line", "".join(rows))] == results, command


def test_generated_passcodes_go_to_a_file_or_a_pipe(fleet):
    server = fleet.servers[0]
    given = FOLDER / "given"
    server.run("enroll", "--batch", "-", "--generate", "--length", "4", "--output", given, input="nurse1\nnurse2\n")
    assert stat.S_IMODE(given.stat().st_mode) == 0o600
    passcodes = dict(line.split(":") for line in given.read_text().splitlines())
    assert list(passcodes) == ["nurse1", "nurse2"]
    for name, passcode in passcodes.items():
        assert len(passcode) == 4 and server.verify(passcode, name).kind == GRANTED
    piped = server.run("enroll", "--batch", "-", "--generate", input="nurse3\n")
    name, passcode = piped.stdout.strip().split(":")
    assert name == "nurse3" and server.verify(passcode, name).kind == GRANTED
    alone = server.run("enroll", "--generate", "nurse4").stdout
    assert re.fullmatch(r"\d{6}\n", alone) and server.verify(alone.strip(), "nurse4").kind == GRANTED
    given.chmod(0o644)
    refused = server.run("enroll", "--batch", "-", "--generate", "--output", given, input="nurse1\n", check=UNUSABLE)
    assert "0600" in refused.stderr


def test_status_and_list_as_json(fleet):
    server = fleet.servers[0]
    assert server.verify("8305").kind == WRONG
    server.run("invite", "carol")
    server.run("disable", "bob")
    [row] = validated("fleet", server.run("status", "--json", "alice").stdout)
    assert (row["user"], row["uid"], row["failures"], row["state"]) == ("alice", None, 1, "ok")
    rows = {row["user"]: row for row in validated("fleet", server.run("list", "--json").stdout)}
    assert {name: row["enrolled"] for name, row in rows.items()} == {"alice": True, "bob": True, "carol": False}
    assert rows["bob"]["state"] == "disabled" and rows["alice"]["code_seconds_left"] is None
    assert 6 * 86_400 < rows["carol"]["code_seconds_left"] <= 7 * 86_400 + 10
    assert "carol: not enrolled, wrong passcodes in a row: 0, one-time code: 7 days left" in server.run("list").stdout


def test_a_list_of_those_of_the_last_hours(fleet):
    """Set, used or mistyped: alice's record, as it would be of somebody who has done nothing for 20 days."""
    server, now = fleet.servers[0], int(time.time())
    record = fleet.etcdctl(0, "get", "--print-value-only", "/passcode/1/u/" + b"alice".hex()).rstrip("\n") + "\n"
    for name, line in (("olive", ""), ("rose", "success_time"), ("zoe", "failure_time"), ("may", "enrolled_time")):
        text = re.sub(r"^enrolled_time=\d+$", f"enrolled_time={now - 20 * 86_400}", record, flags=re.MULTILINE)
        text = re.sub(rf"^{line}=\d+$", f"{line}={now - 3_600}", text, flags=re.MULTILINE) if line else text
        head, own = re.fullmatch(r"((?:.*\n){2})((?:.*\n)*)checksum=.*\n", text.replace("name=alice", f"name={name}")).groups()
        digest = hashlib.blake2b(own.encode(), digest_size=32).hexdigest()
        fleet.etcdctl(0, "put", "/passcode/1/u/" + name.encode().hex(), input=f"{head}{own}checksum={digest}\n")
    everybody = ["alice", "bob", "may", "olive", "rose", "zoe"]
    server.run("invite", "carol")
    for since, names in (("4w", everybody), ("2h", ["alice", "bob", "may", "rose", "zoe"]), ("30m", ["alice", "bob"])):
        rows = validated("fleet", server.run("list", "--json", "--since", since).stdout)
        assert sorted(row["user"] for row in rows) == names, since
    lines = server.run("list", "--since", "30m").stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["alice", "bob"] and len(server.run("list").stdout.splitlines()) == 7


@pytest.mark.parametrize(
    "status, words, said",
    [
        (USAGE, ["status"], "usage: passcode server status USER"),
        (USAGE, ["list", "alice"], "usage: passcode server list"),
        (USAGE, ["list", "--since", "366d"], "--since needs a time up to 365d"),
        (USAGE, ["status", "--since", "1h", "alice"], "status has no option --since"),
        (USAGE, ["unlock", "--generate", "alice"], "unlock has no option --generate"),
        (USAGE, ["enroll", "alice", "--output", "/x"], "need --batch"),
        (USAGE, ["enroll", "--batch", "-", "--stdin"], "--batch can't be used with USER or --stdin"),
        (USAGE, ["unlock", "alice", "--batch", "-"], "--batch can't be used with USER or --stdin"),
        (USAGE, ["enroll", "--batch", "-", "--show"], "need --generate"),
        (USAGE, ["invite", "--batch", "-", "--json"], "--json needs --output"),
        (USAGE, ["invite", "alice", "--expires", "91d"], "--expires needs"),
        (USAGE, ["--frobnicate"], "unknown option"),
        (USAGE, ["enroll", "--length", "5", "alice"], "--length needs"),
        (NOT_PERMITTED, ["enroll", "root"], "root's passcode is never a fleet's"),
        (NOT_ENROLLED, ["unlock", "carol"], "passcode server enroll carol"),
        (NOT_ENROLLED, ["invite", "--withdraw", "carol"], "nothing to withdraw"),
        (POLICY, ["enroll", "--stdin", "alice"], "4 or 6 digits"),
        (UNUSABLE, ["init"], "fleet.key"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_refused_says_what_to_do(fleet, status, words, said):
    done = fleet.servers[0].run(*words, check=status, input="12345\n")
    assert done.stdout == "" and one_line(done.stderr) and done.stderr.startswith("passcode server: ")
    assert said in done.stderr


def test_no_second_key_is_made_beside_passcodes(fleet):
    """On a server whose files were not unpacked yet."""
    server = fleet.servers[1]
    key, away = server.files / "fleet.key", server.files / "away"
    key.rename(away)
    try:
        said = server.run("init", check=UNUSABLE).stderr
        assert one_line(said) and "etcd already has records of this fleet" in said and not key.exists()
        conf = (server.files / "verifier.conf").read_bytes()
        server.write("verifier.conf", "fleet=ward-7\netcd=1\n")
        server.run("init", check=DONE)
        assert key.exists(), "no etcd answers: nothing is known against it"
        (server.files / "verifier.conf").write_bytes(conf)
    finally:
        away.rename(key)
    assert server.verify(RIGHT).kind == GRANTED


def test_a_cancelled_or_weak_choice_changes_nothing(fleet):
    server = fleet.servers[0]
    server.run("enroll", "--stdin", "alice", input="", check=CANCELLED)
    with refusing_weak():
        assert "Too easy to guess" in server.run("enroll", "--stdin", "alice", input="1234\n", check=POLICY).stderr
    assert server.verify(RIGHT).kind == GRANTED
    assert server.run("enroll", "--stdin", "alice", input="8305\n", check=DONE).stdout == "Passcode set for alice.\n"


def test_help_names_every_command_and_option_and_so_does_the_completion():
    """Everybody may read it."""
    text = subprocess.run([VERIFIER, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z][a-z-]*)(?: USER)? {2,}\S", text, re.MULTILINE)
    options = set(re.findall(r"^  (--[\w-]+)", text, re.MULTILINE))
    completion = (pathlib.Path(__file__).parents[2] / "Sources/system/completions/passcode").read_text()
    part = completion.split("    server)\n")[1].split(";;")[0]
    assert set(re.findall(r"--[\w-]+", part)) == options
    assert set(re.search("operands='([^']*)'", part)[1].split()) == set(commands) and len(commands) == 17
    assert subprocess.run([VERIFIER, "--version"], capture_output=True, text=True).stdout.startswith("passcode-verifier 0.")


def test_a_workstation_that_is_stopped_is_shown_and_unlocked(fleet):
    server = fleet.servers[0]
    people = [f"nurse{number}" for number in range(11)]
    visitors = [f"visitor{number}" for number in range(13)]
    server.run("enroll", "--batch", "-", input="".join(f"{name}:{RIGHT}\n" for name in people + visitors))
    assert server.run("status", "--workstation", "CN=ws1").stdout == "CN=ws1: no wrong passcodes in the last hour\n"
    for name in people:
        assert server.verify(RIGHT, name).kind == GRANTED
    for name in visitors[:12]:
        assert server.verify("1593", name).kind == WRONG
    assert server.verify(RIGHT, visitors[12]).kind == STATION_LOCKED
    assert server.ask(LOOK, visitors[12]).kind == STATION_LOCKED
    assert server.verify(RIGHT, people[10]).kind == GRANTED
    shown = fleet.servers[1].run("status", "--workstation", "CN=ws1").stdout
    assert re.fullmatch(
        r"CN=ws1: wrong passcodes in the last hour: 12 of 20; for another \d+ minutes, only people who used their passcode "
        r"there in the last 30 days can use it\n", shown,
    )  # fmt: skip
    for name in people[:4]:
        for code in ("1593", "2604"):
            assert server.verify(code, name).kind == WRONG
    assert server.verify(RIGHT, people[10]).kind == STATION_LOCKED
    shown = fleet.servers[1].run("status", "--workstation", "CN=ws1").stdout
    assert re.fullmatch(r"CN=ws1: wrong passcodes in the last hour: 20 of 20; no passcode is taken there for another \d+ minutes\n", shown)
    assert server.run("unlock", "--workstation", "CN=ws1").stdout == "Workstation unlocked: CN=ws1.\n"
    assert server.run("unlock", "--workstation", "CN=ws1").stdout == "CN=ws1 has no failed attempts to clear.\n"
    assert server.verify(RIGHT, people[10]).kind == GRANTED == server.verify(RIGHT, visitors[12]).kind
    for words, status in ((["CN=ws9"], 3), (["ws1"], 3), ([""], 3), (["CN=ws1", "alice"], 2), (["CN=ws1", "--json"], 2)):
        refused = server.run("unlock", "--workstation", *words, check=status)
        assert one_line(refused.stderr) and not refused.stdout
