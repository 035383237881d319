"""Brings alice's passcode into a state."""

from scenario import WRONG, replace_line


def wrong(bed, *codes):
    for code in codes:
        bed.tool("verify", "--stdin", "alice", stdin=f"{code}\n")


def lock(bed):
    wrong(bed, *WRONG[:3])


def fail_once(bed):
    bed.tool("unlock", "alice", check=0)
    wrong(bed, WRONG[0])


def lock_for_an_hour(bed):
    bed.tool("unlock", "alice", check=0)
    bed.configure(lockout="1:1h")
    wrong(bed, WRONG[0])


def exhaust(bed):
    bed.configure(lockout="3:reset")
    lock(bed)


def disable(bed):
    bed.tool("disable", "alice", check=0)


def pause(bed):
    bed.tool("pause", "alice", "--even-locked-out", check=0)


def lose_key(bed):
    bed.key.unlink(missing_ok=True)


def forget(bed):
    bed.tool("remove", "alice", check=0)


def damage(bed):
    bed.record_file("alice").write_bytes(bytes(8192))


def expire(bed):
    over = b"expires_time=1\nseen_time=1\nseen_boot=" + b"0" * 32 + b"\nseen_at=0\n"
    bed.rewrite("alice", lambda body: replace_line(body, b"expires_time", over))


def spend(bed):
    """It was given out for one login, and opened that."""
    bed.rewrite("alice", lambda body: replace_line(body, b"must_change", b"must_change=used\n"))


def by_password(bed):
    """Not an administrator's any more, where it is a second factor."""
    bed.rewrite("alice", lambda body: replace_line(body, b"enrolled_by", b"enrolled_by=password\n"))
