"""A kernel boundary around a process that runs code of others: Landlock and seccomp.

Started as a script of its own, before any of that code is there::

    python -P boundary.py [--write FOLDER]… (--check | FILE [ARGUMENT…] | -m MODULE)

It gives up for good, in this process, what the code does not need, and then runs FILE or MODULE.
Landlock leaves it Python's own files to read and the folders named by ``--write`` to change;
seccomp leaves it the system calls of the list below, so no network, no processes, no signals to
others, no changes of modes or owners. A list of what is allowed, since a list of what is not is
never complete. Python's audit hooks are no boundary: code can reach and empty them.

It imports nothing of treering. If the kernel refuses, nothing is run: exit code ``REFUSED``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import runpy
import struct
import sys
from collections.abc import Iterable, Sequence

REFUSED = 78
"""Exit code where the boundary cannot be set up: ``EX_CONFIG`` of sysexits.h."""

# ---------------------------------------------------------------------- Landlock

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # alike on every machine
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_READ = _READ_FILE | _READ_DIR
_WRITE_FILE, _MAKE_LINK, _REFER, _TRUNCATE = 1 << 1, 1 << 12, 1 << 13, 1 << 14
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REGULAR = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_CHANGE = (
    *(_WRITE_FILE, _MAKE_LINK, _TRUNCATE),
    *(_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REGULAR),
)
_RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many kinds of access each version of Landlock can deny; later ones as many as version 5."""

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
_OF_ALL = ("/usr/share/zoneinfo", "/dev/null", "/dev/urandom", "/dev/zero")

# ---------------------------------------------------------------------- seccomp

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16  # offsets into struct seccomp_data
_X32 = 0x40000000  # another numbering of the same calls
_CLONE_THREAD = 0x00010000
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "arm64": (0xC00000B7, 1)}
"""By name: the kernel's constant, and the column of the numbers below."""

_NO = -1
_CALLS = {
    # name: (x86_64, arm64)
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66),
    "pread64": (17, 67), "pwrite64": (18, 68), "lseek": (8, 62), "close": (3, 57),
    "open": (2, _NO), "openat": (257, 56), "stat": (4, _NO), "lstat": (6, _NO), "fstat": (5, 80),
    "newfstatat": (262, 79), "statx": (332, 291), "access": (21, _NO), "faccessat": (269, 48),
    "faccessat2": (439, 439), "readlink": (89, _NO), "readlinkat": (267, 78),
    "getdents64": (217, 61), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50),
    "dup": (32, 23), "dup2": (33, _NO), "dup3": (292, 24), "pipe": (22, _NO), "pipe2": (293, 59),
    "umask": (95, 166), "flock": (73, 32), "fsync": (74, 82), "fdatasync": (75, 83),
    "fadvise64": (221, 223), "ftruncate": (77, 46),
    # Where they may act is Landlock's business.
    "mkdir": (83, _NO), "mkdirat": (258, 34), "unlink": (87, _NO), "unlinkat": (263, 35),
    "rmdir": (84, _NO), "rename": (82, _NO), "renameat": (264, 38), "renameat2": (316, 276),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "mremap": (25, 216),
    "madvise": (28, 233), "brk": (12, 214), "membarrier": (324, 283),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "pause": (34, _NO), "alarm": (37, _NO),
    "setitimer": (38, 103), "getitimer": (36, 102), "restart_syscall": (219, 128),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, _NO), "times": (100, 153),
    "poll": (7, _NO), "ppoll": (271, 73), "select": (23, _NO), "pselect6": (270, 72),
    "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_wait": (232, _NO),
    "epoll_pwait": (281, 22), "eventfd2": (290, 19),
    "futex": (202, 98), "set_robust_list": (273, 99), "get_robust_list": (274, 100),
    "rseq": (334, 293), "set_tid_address": (218, 96), "arch_prctl": (158, _NO),
    "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174),
    "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "getgroups": (115, 158),
    "getrandom": (318, 278), "uname": (63, 160), "sysinfo": (99, 179), "getrusage": (98, 165),
    "getrlimit": (97, 163), "setrlimit": (160, 164), "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
"""System calls that may be made with any arguments."""

_SOME_ARGUMENTS = {
    # name: (x86_64, arm64), which argument, the values that it may have
    "ioctl": ((16, 29), 1, (0x5401, 0x5413, 0x5450, 0x5451)),  # what a terminal is; close on exec
    # Copies, flags, locks; not whom the kernel shall signal.
    "fcntl": ((72, 25), 1, (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030)),
}
_OWN_PROCESS = {"tgkill": (234, 131), "prlimit64": (302, 261)}
_CLONE, _CLONE3 = (56, 220), (435, 435)


def _seccomp_program() -> bytes:
    """The filter: instructions (code, jump if true, jump if false, operand) for the kernel."""
    machine, column = _MACHINES[platform.machine()]
    lines = [(_LOAD, 0, 0, _MACHINE_AT), (_EQUAL, 1, 0, machine), (_RETURN, 0, 0, _KILL)]
    lines += [(_LOAD, 0, 0, _NUMBER_AT), (_AT_LEAST, 0, 1, _X32)]
    lines += [(_RETURN, 0, 0, _ERROR | errno.EPERM)]
    for numbers in _CALLS.values():
        if numbers[column] != _NO:
            lines += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _ALLOW)]
    for numbers, place, values in _SOME_ARGUMENTS.values():
        lines += _if_argument(numbers[column], place, values)
    for numbers in _OWN_PROCESS.values():
        lines += _if_argument(numbers[column], 0, (0, os.getpid()))
    # Threads are of the process; a new process is not. The newer call hides its flags behind a
    # pointer: "not there" makes the C library use the older one.
    lines += [(_EQUAL, 0, 4, _CLONE[column]), (_LOAD, 0, 0, _ARGUMENTS_AT)]
    lines += [(_ANY_BIT, 0, 1, _CLONE_THREAD), (_RETURN, 0, 0, _ALLOW)]
    lines += [(_RETURN, 0, 0, _ERROR | errno.EPERM)]
    lines += [(_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    lines += [(_RETURN, 0, 0, _ERROR | errno.EPERM)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _if_argument(number: int, place: int, values: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Allow a call whose argument has one of some values, and refuse it with any other."""
    # The lower half of a 64-bit argument: the kernel reads these arguments as 32-bit integers.
    lines = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * place)]
    for value in values:
        lines += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
    lines += [(_RETURN, 0, 0, _ERROR | errno.EPERM)]
    return [(_EQUAL, 0, len(lines), number), *lines]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _system(call: str, *arguments: object) -> int:
    """A call of the C library. Raises OSError."""
    result = int(getattr(_libc, call)(*arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def set_up(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Give up, for good, all but reading some files and changing some folders. Raises OSError."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        raise OSError(
            errno.ENOSYS, f"it needs Linux on x86_64 or arm64, not {platform.platform(terse=True)}"
        )
    version = _system("syscall", _LANDLOCK_CREATE, None, ctypes.c_size_t(0), _VERSION_FLAG)
    handled = (1 << _RIGHTS_BY_VERSION.get(version, 16)) - 1
    rights = struct.pack("=Q", handled)
    rules = _system("syscall", _LANDLOCK_CREATE, rights, ctypes.c_size_t(len(rights)), 0)
    change = sum(_CHANGE) | _READ | (_REFER if version >= 2 else 0)
    for paths, access in ((readable, _READ), (writable, change)):
        for path in paths:
            _allow(rules, path, access & handled)
    _system("prctl", _PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0)))
    _system("syscall", _LANDLOCK_RESTRICT, rules, 0)
    os.close(rules)
    code = _seccomp_program()
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    _system("prctl", _PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), ctypes.byref(program), 0, 0)


def _allow(rules: int, path: str, access: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # not every system has every folder
    try:
        if not os.path.isdir(path):  # noqa: PTH112 - few imports: this process is to be small
            access &= ~(_READ_DIR | sum(_CHANGE[3:]) | _REFER | _MAKE_LINK)
        rule = struct.pack("=Qi", access, opened)
        _system("syscall", _LANDLOCK_ADD, rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(opened)


def main(arguments: list[str]) -> None:
    """Set the boundary up, then run what is named."""
    writable = []
    while arguments[0] == "--write":
        writable.append(arguments[1])
        arguments = arguments[2:]
    python = (*sys.path, os.path.join(sys.base_prefix, "lib"))  # noqa: PTH118
    program = [] if arguments[0].startswith("-") else arguments[:1]
    try:
        set_up((*python, *program, *_LIBRARIES, *_OF_ALL), writable)
    except OSError as error:
        sys.stderr.write(f"{error.strerror}\n")
        sys.exit(REFUSED)
    if arguments == ["--check"]:
        return
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
