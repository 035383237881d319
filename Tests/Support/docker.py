#!/usr/bin/python3
"""Runs a command as a container of Docker's does by default: docker.py ROOT COMMAND...

In namespaces that the caller has made: the root is changed, and then the process has Docker's capabilities, and a filter
that refuses the system calls which its profile refuses without CAP_SYS_ADMIN. libseccomp comes with apt.
"""

import ctypes
import errno
import os
import sys
import warnings  # noqa: F401: os.execvpe imports it, which it can't once the root is another one

# Of linux/capability.h: chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw,
# sys_chroot, mknod, audit_write, setfcap.
CAPABILITIES = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}
REFUSED = ["mount", "umount2", "unshare", "setns", "keyctl", "add_key", "request_key", "bpf", "perf_event_open",
           "pivot_root", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "mount_setattr", "userfaultfd",
           "init_module", "finit_module", "delete_module", "kexec_load", "reboot", "swapon", "swapoff", "settimeofday",
           "clock_settime", "open_by_handle_at", "quotactl"]  # fmt: skip
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
NAMESPACES = 0x7E020000
PR_CAPBSET_DROP, SYS_PIVOT_ROOT, MNT_DETACH = 24, 155, 2
ALLOW, ERRNO, MASKED_EQUAL = 0x7FFF0000, 0x00050000, 7

libc = ctypes.CDLL(None, use_errno=True)


class Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]


def checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno() or -result, os.strerror(ctypes.get_errno() or -result))


def change_root(root):
    os.chdir(root)
    checked(libc.syscall(SYS_PIVOT_ROOT, b".", b"."))
    checked(libc.umount2(b".", MNT_DETACH))
    os.chdir("/root/pam_passcode")


def refuse(seccomp):
    context = ctypes.c_void_p(seccomp.seccomp_init(ALLOW))
    permission, absent = ERRNO | errno.EPERM, ERRNO | errno.ENOSYS
    for name in REFUSED:
        checked(seccomp.seccomp_rule_add(context, permission, seccomp.seccomp_syscall_resolve_name(name.encode()), 0))
    clone = seccomp.seccomp_syscall_resolve_name(b"clone")
    for bit in range(32):
        if NAMESPACES & 1 << bit:
            flag = Comparison(0, MASKED_EQUAL, 1 << bit, 1 << bit)
            checked(seccomp.seccomp_rule_add_array(context, permission, clone, 1, ctypes.byref(flag)))
    checked(seccomp.seccomp_rule_add(context, absent, seccomp.seccomp_syscall_resolve_name(b"clone3"), 0))
    # Docker sets no no-new-privileges: sudo works there. The process still has CAP_SYS_ADMIN here.
    checked(seccomp.seccomp_attr_set(context, 3, 0))
    checked(seccomp.seccomp_load(context))


def main(root, *command):
    seccomp = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    change_root(root)
    refuse(seccomp)
    last = int(open("/proc/sys/kernel/cap_last_cap").read())
    for capability in set(range(last + 1)) - CAPABILITIES:
        checked(libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
    os.execvpe(command[0], command, os.environ)


if __name__ == "__main__":
    main(*sys.argv[1:])
