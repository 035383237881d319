# Where the tests run: decide_place [--this-machine] sets PASSCODE_PLAIN and PASSCODE_MISSING, or says what is missing.
#
# In a mount namespace of their own, if mount(2) is permitted: then nothing is missing. Otherwise in the machine itself, if
# it is a throw-away container, or if the argument says so; what is changed there is put back (plain.py).

# A container of Docker's or podman's, and not one of toolbox's or distrobox's, in which somebody lives.
is_throw_away() {
  [[ -e /.dockerenv || -e /run/.containerenv ]] || return 1
  [[ ! -e /run/.toolboxenv && ! -e /usr/bin/distrobox-export && -z ${DISTROBOX_ENTER_PATH:-} ]]
}

# capable NUMBER: whether this process has that one of linux/capability.h.
capable() {
  local effective
  effective=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
  (((0x$effective >> $1) & 1))
}

# The names of the capabilities that tests may need, and that this machine lacks; see capabilities.py.
missing_here() {
  if unshare --mount --propagation private -- mount -t tmpfs tmpfs /tmp 2>/dev/null; then return; fi
  echo -n 'mounts cgroups roots'
  if ! capable 19; then echo -n ' privileges'; fi  # CAP_SYS_PTRACE
  if ! unshare --net --pid --fork -- true 2>/dev/null; then echo -n ' namespaces'; fi
  if grep -q '^NoNewPrivs:[[:space:]]*1' /proc/self/status; then echo -n ' setuid'; fi
}

decide_place() {
  if [[ -n ${PASSCODE_PLAIN:-} || -n ${PASSCODE_NAMESPACE:-} || -n ${PASSCODE_WHOLE:-} ]]; then return; fi
  if [[ $(id -u) != 0 ]]; then
    echo "$0: needs root (accounts, other people's uids, a mount namespace)" >&2
    exit 1
  fi
  PASSCODE_MISSING=$(missing_here)
  export PASSCODE_MISSING
  if [[ -z $PASSCODE_MISSING ]]; then return; fi
  if ! is_throw_away && [[ ${1:-} != --this-machine ]]; then
    echo "$0: mount(2) is not permitted here (CAP_SYS_ADMIN is missing), and this is not a container of Docker's or" \
      "podman's; Tests/all --this-machine uses the machine itself, and changes its /etc and /run meanwhile" >&2
    exit 1
  fi
  export PASSCODE_PLAIN=1
  echo "$0: mount(2) is not permitted here: this machine itself is used, its /etc, /run and accounts are changed" \
    "meanwhile and put back, and tests that need ${PASSCODE_MISSING// /, } are left out"
}
