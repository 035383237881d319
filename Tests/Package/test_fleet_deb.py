"""The packages passcode-fleet and passcode-verifier: what is in them."""

import pytest

from package import needed_packages, output

FLEET, VERIFIER = "usr/libexec/passcode-fleet", "usr/sbin/passcode-verifier"
UNITS = "usr/lib/systemd/system"
# {package: (its program, what else is in it)}
CONTENT = {
    "passcode-fleet": (
        FLEET,
        {"usr/libexec/passcode-fleet-check", f"{UNITS}/passcode-fleet.service", "etc/apparmor.d/usr.libexec.passcode-fleet",
         "usr/share/doc/passcode-fleet/examples/passcode-fleet.conf"},
    ),
    "passcode-verifier": (
        VERIFIER,
        {f"{UNITS}/passcode-verifier{name}"
         for name in (".socket", "@.service", "-seen.service", "-seen.timer", "-stunnel.service")}
        | {"etc/apparmor.d/usr.sbin.passcode-verifier", "usr/libexec/passcode-verifier-check"}
        | {"usr/share/doc/passcode-verifier/README.Debian.gz"}
        | {f"usr/share/doc/passcode-verifier/examples/{name}" for name in ("etcd", "passcode-verifier.conf")},
    ),
}  # fmt: skip


@pytest.fixture
def package(fleet_debs):
    return {deb.name.partition("_")[0]: deb for deb in fleet_debs}


@pytest.mark.parametrize("name", CONTENT)
def test_what_is_in_the_packages_of_a_fleet(package, name):
    """Nothing with a special bit, and nothing of another's than root."""
    program, others = CONTENT[name]
    listed = [line.split() for line in output("dpkg-deb", "-c", package[name]).splitlines()]
    files = {path.removeprefix("./"): (mode, owner) for mode, owner, _, _, _, path in listed if mode[0] != "d"}
    documents = {f"usr/share/doc/{name}/{file}" for file in ("changelog.gz", "copyright")}
    assert set(files) == {program, f"usr/share/man/man8/{name}.8.gz", *documents, *others}
    for path in (program, f"usr/libexec/{name}-check"):
        assert files.pop(path) == ("-rwxr-xr-x", "root/root")
    assert set(files.values()) == {("-rw-r--r--", "root/root")}
    size = int(output("dpkg-deb", "-f", package[name], "Installed-Size"))
    print(f"installed: {size} KiB")
    assert size <= 256


@pytest.mark.parametrize("name", CONTENT)
def test_only_stunnel_is_needed_besides(deb, package, name):
    assert needed_packages(package[name], "Depends") == {"libpam-passcode", "stunnel4", "libc6", "libsodium23"}
    version = output("dpkg-deb", "-f", deb, "Version").strip()
    assert f"libpam-passcode (= {version})" in output("dpkg-deb", "-f", package[name], "Depends")
