"""Logins through Debian's own modules, each as its own documentation sets it up."""

import base64
import ctypes
import hmac
import os
import struct
import subprocess
import time

from scenario import RIGHT

# As Debian's passwd hashes; and next to nothing.
YESCRYPT, CHEAPEST = (b"$y$", 0), (b"$5$", 1000)
DENY = 3  # pam_faillock's default

_KEY = b"twenty bytes of HOTP"


class Stacks:
    """Service files in a bed's folder, and accounts whose password is the passcode, with yescrypt."""

    def __init__(self, bed, hashing):
        self.bed, self.setting = bed, crypted(RIGHT, *hashing)
        self.folder = bed.folder / "peers"
        self.folder.mkdir()
        tally = f"dir={self.folder / 'tally'} deny={DENY} unlock_time=600"
        (self.folder / "tally").mkdir()
        self.write("unix", "auth required pam_unix.so nodelay")
        self.write("faillock", *faillock_around("pam_unix.so nodelay", tally))
        self.write("pwdfile", f"auth required pam_pwdfile.so pwdfile={self.folder / 'passwords'} nodelay")
        google = f"secret={self.folder}/${{USER}}.google user=root"
        self.write("google", f"auth required pam_google_authenticator.so {google}")
        self.write("oath", f"auth required pam_oath.so usersfile={self.folder / 'oath'} window=20 digits=6")

    def write(self, name, *lines):
        (self.bed.services / name).write_text("".join(f"{line}\n" for line in lines))

    def enroll(self, user):
        """In the password file of each module; in /etc/shadow, too."""
        passwords(self.setting, [user])
        (self.folder / "passwords").write_text(f"{user}:{self.setting}\n")
        # What `google-authenticator` writes where all its proposals are accepted.
        text = base64.b32encode(_KEY).decode()
        options = '" RATE_LIMIT 3 30\n" WINDOW_SIZE 17\n" DISALLOW_REUSE\n" TOTP_AUTH\n'
        secret = self.folder / f"{user}.google"
        secret.write_text(f"{text}\n{options}")
        secret.chmod(0o400)
        (self.folder / "oath").write_text(f"HOTP {user} - {_KEY.hex()}\n")
        (self.folder / "oath").chmod(0o600)

    def codes(self, name, count):
        """What that many logins in a row have to answer."""
        if name == "oath":
            return [hotp(counter) for counter in range(count)]
        if name == "google":
            return [hotp(int(time.time()) // 30 + step) for step in range(-1, count - 1)]
        return [RIGHT] * count


def faillock_around(module, options):
    """As its manual page has it."""
    return (
        f"auth required pam_faillock.so preauth {options}",
        f"auth [success=1 default=bad] {module}",
        f"auth [default=die] pam_faillock.so authfail {options}",
        f"auth sufficient pam_faillock.so authsucc {options}",
    )


def hotp(counter):
    """Six digits (RFC 4226)."""
    digest = hmac.digest(_KEY, struct.pack(">Q", counter), "sha1")
    offset = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[offset : offset + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"


def crypted(password, prefix, cost):
    """As crypt(3) hashes it."""
    library = ctypes.CDLL("libcrypt.so.1")
    library.crypt_gensalt.restype = library.crypt.restype = ctypes.c_char_p
    salted = library.crypt_gensalt(prefix, ctypes.c_ulong(cost), os.urandom(32), 32)
    return library.crypt(password.encode(), salted).decode()


def passwords(crypted, users):
    """This password, as it is in /etc/shadow, for all of them."""
    lines = "".join(f"{user}:{crypted}\n" for user in users)
    subprocess.run(["chpasswd", "-e"], input=lines, text=True, check=True)
