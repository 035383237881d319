"""ptrace(2): a process that is stopped before a system call, its registers and its memory."""

import ctypes
import os
import platform
import re
import signal
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long

# <linux/ptrace.h>
CONT, SYSCALL, SETOPTIONS, GETEVENTMSG, GETREGSET, SETREGSET, SYSCALL_INFO = 7, 24, 0x4200, 0x4201, 0x4204, 0x4205, 0x420E
TRAP = signal.SIGTRAP | 0x80  # the end of a call
GOOD, FORK, VFORK, CLONE, EXEC, SECCOMP, EXITKILL = 1, 2, 4, 8, 16, 128, 0x100000  # options
EVENTS = {1: "fork", 2: "fork", 3: "fork", 4: "exec", 7: "call"}
ANY = 0x40000000  # __WALL
REGISTERS, CALL_NUMBER = 1, 0x404  # NT_PRSTATUS, NT_ARM_SYSTEM_CALL
NO_VDSO = struct.pack("QQ", 1, 0)  # AT_IGNORE
AT_NULL, AT_SYSINFO_EHDR = 0, 33
RANGE = {"x86_64": (27, 10, 15), "aarch64": (34, 0, None)}[platform.machine()]  # words, of the result, of the call's number

def ptrace(request, pid, address=0, data=0):
    result = _libc.ptrace(request, pid, address, data)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")
    return result


def call_of(pid, names):
    info = ctypes.create_string_buffer(88)
    ptrace(SYSCALL_INFO, pid, 88, ctypes.addressof(info))
    number, *arguments = struct.unpack_from("7Q", info, 24)
    return names[number], tuple(arguments)


def result_of(pid):
    info = ctypes.create_string_buffer(88)
    ptrace(SYSCALL_INFO, pid, 88, ctypes.addressof(info))
    return struct.unpack_from("q", info, 24)[0]


def registers(pid, request, kind, buffer):
    vector = struct.pack("QQ", ctypes.addressof(buffer), len(buffer))
    ptrace(request, pid, kind, ctypes.cast(ctypes.c_char_p(vector), ctypes.c_void_p).value)


def replace_call(pid, result):
    """The call that the process is stopped before isn't made, and has this result."""
    count, place, number = RANGE
    buffer = ctypes.create_string_buffer(count * 8)
    registers(pid, GETREGSET, REGISTERS, buffer)
    struct.pack_into("q", buffer, place * 8, result)
    if number is not None:
        struct.pack_into("q", buffer, number * 8, -1)
    else:
        registers(pid, SETREGSET, CALL_NUMBER, ctypes.create_string_buffer(struct.pack("i", -1), 4))
    registers(pid, SETREGSET, REGISTERS, buffer)


def peek(pid, address, size):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        return os.pread(memory.fileno(), size, address)


def poke(pid, address, data):
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        os.pwrite(memory.fileno(), data, address)


def text(pid, address):
    if not address:
        return ""
    room = 4096 - address % 4096
    data = peek(pid, address, room)
    if b"\0" not in data:
        data += peek(pid, address + room, 4096)
    return os.fsdecode(data.partition(b"\0")[0])


def path_of(pid, name, arguments):
    """The file that the call is about; of two, the new one."""
    if name in ("openat", "newfstatat", "unlinkat", "utimensat", "mkdirat"):
        folder, word = arguments[0], text(pid, arguments[1])
    elif name in ("linkat", "renameat", "renameat2"):
        folder, word = arguments[2], text(pid, arguments[3])
    else:
        folder, word = arguments[0], ""
    if word.startswith("/"):
        return word
    folder = ctypes.c_int(folder & 0xFFFFFFFF).value
    try:
        base = os.readlink(f"/proc/{pid}/cwd" if folder == -100 else f"/proc/{pid}/fd/{folder}")
    except OSError:
        return ""
    base = re.sub(r"/#\d+ \(deleted\)$", "/nameless", base)
    return os.path.join(base, word) if word else base


def hide_vdso(pid):
    """Before the program's first instruction."""
    buffer = ctypes.create_string_buffer(88)
    ptrace(SYSCALL_INFO, pid, 88, ctypes.addressof(buffer))
    stack = struct.unpack_from("Q", buffer, 16)[0]
    data = peek(pid, stack, 1 << 17)
    words = struct.unpack(f"{len(data) // 8}Q", data[: len(data) // 8 * 8])
    place = 1 + words[0] + 1
    place = words.index(0, place) + 1
    while words[place] != AT_NULL:
        if words[place] == AT_SYSINFO_EHDR:
            poke(pid, stack + 8 * place, NO_VDSO)
        place += 2
