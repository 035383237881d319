#!/bin/bash
# Whether reprotest's two builds of the packages are the same: Tests/fresh bookworm Tests/Support/reprotest.sh
#
# In a fresh root, as root, since it changes what sudo does. The second build has another user, home, environment, PATH,
# host and domain name, locale, time zone, umask, kernel version and address layout, folder and order of files. Left out:
# a wrong clock, with which make and SwiftPM compare the times of files, and the number of processors, of which one makes
# the two builds take an hour. The time is another one anyway.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
debian/setup
apt-get install -q -y --no-install-recommends disorderfs locales-all reprotest sudo
useradd --create-home builder
# For disorderfs, as another user.
mknod --mode=0666 /dev/fuse c 10 229
# The other user needs Swift from PATH; its mkdir is reprotest's, which asks sudo for that same user. Debian 12's
# reprotest names this host, which sudo refuses since CVE-2025-32462.
printf '%s\n' 'Defaults !secure_path' 'builder ALL=(builder) NOPASSWD: ALL' >/etc/sudoers.d/reprotest
cat >/usr/local/bin/sudo <<'END'
#!/bin/sh
if [ "$1" = -h ]; then shift 2; fi
exec /usr/bin/sudo "$@"
END
chmod 0755 /usr/local/bin/sudo

# What the first build leaves beside the packages, the other user couldn't replace.
build='dpkg-buildpackage -us -uc -b -Ppkg.pam-passcode.localswift,nocheck && rm ../*.buildinfo ../*.changes'
exec reprotest --verbosity=1 --no-diffoscope --min-cpus=2 --variations=+all,-time,-num_cpus \
  --vary=domain_host.use_sudo=1 --vary=user_group.available+=builder:builder \
  --build-command="$build" . '../*.deb'
