"""`passcode server add` and `replace`, with a stand-in for the servers: what they accept, what they refuse, and in which order
they change it. With servers: test_server_add.py."""

import fcntl
import os
import subprocess

import languages
import pytest
from messages import TREE, parameters

ADD = TREE / "Sources/system/setup/passcode-verifier-add"
SERVERS = [f"server{number}.example.org=192.0.2.{number}" for number in range(1, 6)]
COMPLETE, FRESH = "complete 1234 ward-7", "fresh"
# `at` prints what the file of that step and server says, and notes the step; without a file it prints nothing.
RUN = """
source <(sed -e '$d' -e "s|[$]{BASH_SOURCE\\[0\\]%/\\*}|${0%/*}|" "$0")
STEPS=/dev/null
at() {
  local file=$CUT/$2.${host[$1]%%.*}
  echo "$2 ${host[$1]%%.*} ${URL:-}" >>"$CUT/steps"
  [[ ! -e $file.fails ]] || fail "$2"
  if [[ -e $file ]]; then cat "$file"; fi
}
greet_and_look() { at "$1" look; }
certify() { :; }
main "$@"
"""


class Fleet:
    def __init__(self, folder):
        self.folder, self.authority = folder, folder / "authority"
        self.authority.mkdir(mode=0o700)
        key = f"cd {self.authority} && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -aes256 -pass pass:0123456789ab -out servers.key"
        subprocess.run(["sh", "-c", f"{key} && echo certificate >servers.pem"], check=True, capture_output=True)
        self.list(SERVERS[:3])
        for number in range(1, 6):
            self.says("look", number, COMPLETE if number < 4 else FRESH)
        self.says("has_password", 1, "yes")
        self.says("show_cluster", 1, "server1=https://192.0.2.1:2380,server2=https://192.0.2.2:2380")
        self.members(1, 2, 3)
        for number, seen in ((1, "9 100 4"), (2, "9 300 3"), (3, "9 200 5"), (4, "9 1 1"), (5, "9 1 1")):
            self.says("show_seen", number, f" {seen}")

    def list(self, servers):
        (self.authority / "fleet").write_text("fleet=ward-7\n" + "".join(f"server={server}\n" for server in servers))

    def says(self, step, number, text):
        (self.folder / f"{step}.server{number}").write_text(f"{text}\n")

    def fails(self, step, number):
        (self.folder / f"{step}.server{number}.fails").touch()

    def members(self, *numbers, unstarted=None):
        lines = [f"{number}{number} started https://192.0.2.{number}:2380" for number in numbers]
        if unstarted:
            lines.append(f"{unstarted}{unstarted} unstarted https://192.0.2.{unstarted}:2380")
        self.says("show_members", 1, "\n".join(lines))

    def lock(self):
        """As another run does, which may wait at its question: what this one sees wouldn't be so any more."""
        self.folder_of_authority = os.open(self.authority, os.O_RDONLY)
        fcntl.flock(self.folder_of_authority, fcntl.LOCK_EX)

    def run(self, *words, status=0, more=("--yes",), passphrase="0123456789ab", **language):
        command = ["bash", "-c", RUN, ADD, *words, "--authority", self.authority, "--passphrase-fd", "0", *more]
        environment = {"CUT": str(self.folder), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **language}
        done = subprocess.run(command, env=environment, input=f"{passphrase}\n", capture_output=True, text=True)
        assert done.returncode == status, done
        return done.stdout + done.stderr

    def steps(self, *left_out):
        path = self.folder / "steps"
        found = [" ".join(line.split()) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in found if line.split()[0] not in ("look", "has_password", "show_members", "show_answer", *left_out)]


@pytest.fixture
def fleet(tmp_path):
    return Fleet(tmp_path)


ALL = [f"server{number}" for number in range(1, 6)]
REPLACE = "--replace", "ward-7", SERVERS[2].split("=")[0]


def joined(name, url):
    return [
        f"install_packages {name} {url}", f"remove_member server1 {url}", f"begin {name} {url}", f"add_member server1 {url}",
        f"show_cluster server1 {url}", f"set_up_etcd {name} {url}", f"await_members server1 {url}", f"pack server1 {url}",
        f"unpack {name} {url}", f"take_seen {name} {url}", f"end {name} {url}",
    ]  # fmt: skip


def test_one_after_the_other_joins_and_then_all_have_the_new_list(fleet):
    said = fleet.run("ward-7", *SERVERS[3:])
    assert "has 5 servers" in said and "0123456789ab" not in said
    opened = [f"{step} {name}" for name in ALL for step in ("name_servers", "open")[: 1 + (name > "server3")]]
    assert fleet.steps("show_seen") == joined("server4", "https://192.0.2.4:2380") + joined("server5", "https://192.0.2.5:2380") + opened
    assert (fleet.authority / "fleet").read_text() == "fleet=ward-7\n" + "".join(f"server={server}\n" for server in SERVERS)
    # Once more: nothing is left but the last steps.
    for number in (4, 5):
        fleet.says("look", number, COMPLETE)
    fleet.members(1, 2, 3, 4, 5)
    (fleet.folder / "steps").unlink()
    fleet.run("ward-7", *SERVERS[3:])
    assert fleet.steps() == opened


def test_a_lost_server_is_taken_out_first(fleet):
    fleet.says("look", 3, FRESH)
    fleet.run(*REPLACE, SERVERS[2])
    steps = fleet.steps("show_seen")
    assert steps[:4] == ["remove_member server1 https://192.0.2.3:2380", *joined("server3", "https://192.0.2.3:2380")[:3]]
    assert (fleet.authority / "fleet").read_text() == "fleet=ward-7\n" + "".join(f"server={server}\n" for server in SERVERS[:3])


def test_also_by_one_with_another_name(fleet):
    fleet.fails("look", 3)
    fleet.run(*REPLACE, SERVERS[4])
    assert fleet.steps()[0] == "remove_member server1 https://192.0.2.3:2380"
    assert (fleet.authority / "fleet").read_text().count("server=") == 3 and SERVERS[2] not in (fleet.authority / "fleet").read_text()
    # The last step was interrupted, or came through: the same command again.
    fleet.says("look", 5, COMPLETE)
    fleet.members(1, 2, 5)
    (fleet.folder / "steps").unlink()
    fleet.run(*REPLACE, SERVERS[4])
    assert "remove_member" not in " ".join(fleet.steps()) and "begin" not in " ".join(fleet.steps())


def test_a_server_that_could_not_be_told_of_the_new_ones_is_named(fleet):
    fleet.list(SERVERS)
    fleet.says("look", 4, COMPLETE)
    fleet.says("look", 5, FRESH)
    fleet.fails("look", 2)
    fleet.members(1, 3, 4)
    said = fleet.run("--replace", "ward-7", SERVERS[4].split("=")[0], SERVERS[4])
    assert "server2.example.org: can't be reached, and has an old list of the servers" in said and "has 5 servers" in said


def test_a_server_that_has_its_place_already_is_not_taken_out(fleet):
    """Or wasn't lost at all."""
    fleet.run(*REPLACE, SERVERS[2])
    assert not [step for step in fleet.steps() if step.startswith(("remove_member", "begin"))]


def test_after_a_failure_the_member_is_taken_out_and_the_server_begun_anew(fleet):
    fleet.fails("unpack", 4)
    assert "unpack" in fleet.run("ward-7", *SERVERS[3:], status=1)
    run = subprocess.run(["sh", "-c", f"sha256sum <{fleet.authority}/servers.pem | head -c 64"], capture_output=True, text=True).stdout
    fleet.says("look", 4, f"begun added {run}")
    fleet.members(1, 2, 3, 4)
    (fleet.folder / "unpack.server4.fails").unlink()
    (fleet.folder / "steps").unlink()
    fleet.run("ward-7", *SERVERS[3:])
    assert fleet.steps("show_seen")[:3] == joined("server4", "https://192.0.2.4:2380")[:3]


def refusals(fleet):
    """{what is so: (what is done, the words, what is said)}"""
    add = ("ward-7", *SERVERS[3:])
    other = f"begun {'0' * 64}"
    return {
        "a server of another run": (lambda: fleet.says("look", 4, other), add, "can't be used: server4"),
        "a server of another fleet": (lambda: fleet.says("look", 4, "complete 9999 ward-7"), add, "can't be used: server4"),
        "another key on an old one": (lambda: fleet.says("look", 3, "complete 9999 ward-7"), add, "can't be used: server3"),
        "an old one that is down": (lambda: fleet.fails("look", 2), add, "can't be used: server2"),
        "no password": (lambda: fleet.says("has_password", 1, ""), add, "no server has /root/etcd-root.password"),
        "an unknown member": (lambda: fleet.members(1, 2, 3, 7), add, "etcd has a member that isn't in"),
        "a member that isn't there": (lambda: fleet.members(1, 2), add, "etcd isn't running on all"),
        "a member at a fresh one": (lambda: fleet.members(1, 2, 3, 4), add, "use \"passcode server replace\""),
        "no majority": (lambda: (fleet.fails("look", 2), fleet.fails("look", 3)), (*REPLACE, SERVERS[4]), "fewer than a majority"),
        "one that isn't lost": (lambda: fleet.says("show_answer", 1, "answers"), (*REPLACE, SERVERS[4]), "isn't lost"),
        "one that isn't the fleet's": (lambda: None, ("--replace", "ward-7", "x", SERVERS[4]), "x is not in"),
        "no answer about the lost one": (lambda: fleet.fails("show_answer", 1), (*REPLACE, SERVERS[4]), "show_answer"),
        "another run": (lambda: fleet.lock(), add, "another run is in progress"),
        "another fleet": (lambda: None, ("ward-8", *SERVERS[3:]), "made for the fleet ward-8"),
    }  # fmt: skip


@pytest.mark.parametrize("name", refusals(None))
def test_what_is_refused_before_anything_is_changed(fleet, name):
    harm, words, said = refusals(fleet)[name]
    harm()
    assert said in fleet.run(*words, status=1)
    assert fleet.steps() == []


def test_neither_a_dry_run_nor_another_passphrase_changes_anything(fleet):
    assert "On server4.example.org server5.example.org: install" in fleet.run("ward-7", *SERVERS[3:], more=("--yes", "--dry-run"))
    assert "not the passphrase" in fleet.run("ward-7", *SERVERS[3:], passphrase="another passphrase", status=1)
    assert fleet.steps() == []


def test_all_that_it_says_is_in_the_caller_s_language(fleet):
    """But for the first line of what ssh says."""
    xx = languages.setting("xx")
    with languages.installed():
        languages.install("xx", languages.made_up(lambda message, form: " ".join(["«", *parameters(message.text)])))
        lines = fleet.run(*REPLACE, SERVERS[4], **xx).splitlines()
        fleet.fails("look", 2)
        refused = fleet.run(*REPLACE, SERVERS[4], status=1, **xx)
    assert len(lines) > 12 and [line for line in lines if "«" not in line] == []
    assert "server2.example.org (192.0.2.2): « passcode server replace: look\n" in refused


FLOOR = """
source <(sed -e '$d' -e "s|[$]{BASH_SOURCE\\[0\\]%/\\*}|${0%/*}|" "$0")
host=(a b c) have=(0 1 2)
at() { cat "$CUT/$1"; }
highest_seen
"""


@pytest.mark.parametrize(
    "seen, highest",
    [
        (["9 100 4", "9 300 3", "9 200 5"], "9:300:5"),
        (["9 100 4", "9 300 3", "8 200 5"], None),
        (["9 100 4", f"9 {2**64 - 1} 3", "9 200 5"], None),
        (["9 100 4", "", "9 200 5"], None),
    ],
)
def test_a_new_server_begins_with_the_highest_that_was_seen(tmp_path, seen, highest):
    for number, text in enumerate(seen):
        (tmp_path / str(number)).write_text(f"   {text}\n" if text else "")
    done = subprocess.run(["bash", "-c", FLOOR, ADD], env={"CUT": str(tmp_path)}, capture_output=True, text=True)
    assert (done.stdout.strip() or None, done.returncode == 0) == (highest, highest is not None), done
