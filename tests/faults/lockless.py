"""A process to which the kernel refuses locks on files, as a network file system without them does.

``python -m tests.faults.lockless FILE opening|open CODE COMMAND…`` opens a memory and uses it. From
before the opening, or from then on, ``fcntl`` answers the given commands with an error code.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from pathlib import Path

from tests.embedders import HashingEmbedder
from treering import Memory
from treering.errors import TreeringError

FCNTL = {"x86_64": 72, "aarch64": 25}
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER_AT, _COMMAND_AT = 0, 16 + 8  # offsets into struct seccomp_data
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def refuse(commands: list[int], code: int) -> None:
    """Have the kernel answer these commands of ``fcntl`` with an error from now on."""
    lines = [(_LOAD, 0, 0, _NUMBER_AT), (_EQUAL, 1, 0, FCNTL[platform.machine()])]
    lines += [(_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, _COMMAND_AT)]
    for command in commands:
        lines += [(_EQUAL, 0, 1, command), (_RETURN, 0, 0, _ERROR | code)]
    lines += [(_RETURN, 0, 0, _ALLOW)]
    instructions = b"".join(struct.pack("=HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = _Program(len(lines), ctypes.addressof(buffer))
    library = ctypes.CDLL(None)
    assert library.prctl(_NO_NEW_PRIVILEGES, *map(ctypes.c_ulong, (1, 0, 0, 0))) == 0
    assert library.prctl(_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.byref(program), 0, 0) == 0


def main() -> None:
    path, moment, code, *commands = sys.argv[1:]
    refused = [int(command) for command in commands]
    try:
        if moment == "opening":
            refuse(refused, int(code))
        with Memory.open(Path(path), embedder=HashingEmbedder(), llm="none") as memory:
            if moment == "open":
                refuse(refused, int(code))
            memory.add("Ana moved to Porto.")
            print(memory.search("Porto")[0].text)
    except TreeringError as error:
        print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
