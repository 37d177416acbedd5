"""Files and folders with texts of users: for their owner alone, and gone with a killed process.

The next process that writes to the same place removes the folder of a killed one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final, TextIO

if sys.platform != "win32":
    import fcntl

_ENDS: Final = ".part"


@contextmanager
def private_folder(parent: Path, begins: str) -> Iterator[Path]:
    """A new folder that only its owner may look into; removed at the end of the block.

    So are those whose names begin alike and whose processes were killed: each is locked as long as
    it is used.
    """
    for left in parent.glob(f"{escape(begins)}*{_ENDS}"):
        if left.is_dir() and not left.is_symlink() and (lock := _lock(left)) is not None:
            rmtree(left, ignore_errors=True)
            os.close(lock)
    folder = Path(mkdtemp(prefix=begins, dir=parent))
    lock = _lock(folder)
    folder = folder.rename(f"{folder}{_ENDS}")  # locked by now
    try:
        yield folder
    finally:
        rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def private_file(path: Path) -> Iterator[TextIO]:
    """A text that takes the place of a file once the block has ended; its owner alone may read it.

    Raises OSError.
    """
    with private_folder(path.parent, f".{path.name}.") as folder:
        part = folder / path.name
        part.touch(mode=0o600)
        with part.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        part.replace(path)


if sys.platform == "win32":

    def _lock(folder: Path) -> int | None:
        """None: a folder cannot be locked there, so that what was left stays."""
        del folder
        return None

else:

    def _lock(folder: Path) -> int | None:
        """A descriptor that locks a folder until it is closed.

        None if another process has it, or if it is another user's.
        """
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return descriptor
            except OSError:
                pass
            os.close(descriptor)
        return None
