"""`passcode check` on real Debian: silent where the package did its work, and of one opinion with pam-auth-update."""

import json

from package import HELPER

COMMON = "etc/pam.d/common-auth"


def check(machine, user="root"):
    """(check, level, line, command) of what is wrong."""
    rows = [json.loads(line) for line in machine.run("passcode", "check", "--json", user=user, status=None).splitlines()]
    assert len(rows) >= 14
    return [
        (row["check"], row["level"], row["line"], row["command"])
        for row in rows
        if row["level"] not in ("ok", "skipped")
    ]


def test_after_the_installation_only_the_profile_is_missing(installed):
    [(name, level, line, command)] = check(installed)
    assert (name, level, line) == ("services", "warning", None)
    installed.run("sh", "-c", command)
    assert check(installed) == []


def test_a_machine_in_use_is_silent(machine):
    assert check(machine) == check(machine, "alice") == []
    assert machine.run("passcode", "check", "--quiet") == ""
    machine.restart()
    assert check(machine) == check(machine, "bob") == []


def test_sudo_s_messages_are_named_where_sudo_can_show_them(machine, release):
    """Bookworm's sudo can't: it has no pam_silent. An administrator who has decided isn't told."""

    def said(user="root"):
        [row] = [line for line in machine.run("passcode", "check", user=user).splitlines() if " services" in line]
        return row

    hint = "✓ services: sudo hides PAM's messages; \"Defaults !pam_silent\" in sudoers would show them"
    assert said() == (hint if release == "trixie" else "✓ services")
    assert said("alice") == "✓ services"
    decided = machine.path / "etc/sudoers.d/silent"
    decided.write_text("Defaults !pam_silent\n")
    assert said() == "✓ services"
    decided.unlink()
    (machine.path / "etc/pam.d/sudo").write_text("auth required pam_unix.so\naccount required pam_unix.so\n")
    assert said() == "✓ services"


def test_what_pam_auth_update_does_not_change_any_more(machine):
    path = machine.path / COMMON
    before = path.read_text()
    path.write_text(before.replace("pam_passcode.so either", "pam_passcode.so either prompt=Code:"))
    assert check(machine) == [] and "Local modifications" not in machine.run("pam-auth-update", "--package")
    [line] = [number for number, text in enumerate(before.splitlines(), 1) if "pam_passcode.so" in text]
    path.write_text(before.replace("auth\t[success=", "auth\toptional\tpam_echo.so\nauth\t[success=", 1))
    assert check(machine) == [("profile", "warning", line, None)]
    assert "Local modifications" in machine.run("pam-auth-update", "--package")
    path.write_text(before)
    assert check(machine) == [] and "Local modifications" not in machine.run("pam-auth-update", "--package")


def test_the_remedies_of_a_restored_disk(machine):
    """From a backup without owners and modes. Whose the records are, check can't know: no command of its gives them
    away, and it goes on saying that the helper can't use them until the administrator does."""
    machine.run("chown", "-R", "root:root", "/var/lib/passcode", "/etc/passcode", HELPER)
    machine.run("chmod", "-R", "a+rX", "/var/lib/passcode")
    for _ in range(6):
        for *_, command in check(machine):
            if command:
                machine.run("sh", "-c", command)
    assert check(machine) == [("helper", "error", None, None)]
    machine.run("find", "/var/lib/passcode", "-exec", "chown", "-h", "_passcode:", "{}", "+")
    assert check(machine) == []
    assert machine.state()["length"] == 6
