"""Files at a URI, fetched one by one through fsspec: ``s3://``, ``gs://`` and others."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import unquote, urlsplit

from treering.errors import InputError, MissingExtra
from treering.files import VirtualFile
from treering.ingest.files import is_left_out

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

EXTRA: Final = "remote"
FILE: Final = "file://"
BLOCK_BYTES: Final = 1 << 20


class FetchedFile(VirtualFile):
    """A copy of a remote file. It is nameless, so that it goes with the process in any case."""

    def __init__(self, uri: str, descriptor: int) -> None:
        super().__init__(PurePosixPath(uri), uri)
        self._descriptor = descriptor

    def stat(self) -> os.stat_result:
        """Return the status of the copy, with the modification time of the remote file."""
        return os.fstat(self._descriptor)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the copy at a position of its own."""
        with io.BufferedReader(_Positioned(self._descriptor)) as stream:
            yield stream


class _Positioned(io.RawIOBase):
    """Reads a file that others read, too."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._position = descriptor, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer)
        content = os.pread(self._descriptor, room.nbytes, self._position)
        room[: len(content)] = content
        self._position += len(content)
        return len(content)


def is_uri(place: str) -> bool:
    """Return whether a text is a URI instead of a path."""
    return "://" in place


def local_path(uri: str) -> Path | None:
    """Return the path of a ``file://`` URI; None for another one."""
    return Path(unquote(uri.removeprefix(FILE))) if uri.startswith(FILE) else None


class RemoteFiles:
    """The files below a URI, or the one that it names, each fetched on demand.

    Raises InputError for an unknown scheme, a URI with a password, and a place that cannot be
    listed or is empty; MissingExtra without fsspec, or the package that it needs for the scheme.
    """

    def __init__(self, uri: str) -> None:
        with _storage_errors(uri):
            password = urlsplit(uri).password
        if password is not None:
            raise InputError(
                "the URI has a password, which would be stored as part of the source's name; give "
                "it by the environment or the configuration of the storage's library"
            )
        self.uri = uri
        self._system, root = _open_system(uri)
        with _storage_errors(uri):
            self.is_one = bool(self._system.isfile(root))
            paths = [root] if self.is_one else sorted(self._system.find(root))
        self._root = root
        self._paths = [path for path in paths if self.is_one or not self._is_left_out(path)]
        if not self._paths:
            raise InputError(f"there is no file at {uri}")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the URIs of the files."""
        return (str(self._system.unstrip_protocol(path)) for path in self._paths)

    def below(self, uri: str) -> str:
        """Return the path of a file below the URI, such as ``2026/notes.md``."""
        path = PurePosixPath(self._system._strip_protocol(uri))
        return path.name if self.is_one else path.relative_to(self._root).as_posix()

    @contextmanager
    def fetch(self, uri: str) -> Iterator[FetchedFile]:
        """Yield a copy of a file for the block. Raise InputError."""
        with TemporaryFile(prefix="treering-") as copy:
            with _storage_errors(uri):
                with self._system.open(self._system._strip_protocol(uri), "rb") as remote:
                    copyfileobj(remote, copy, BLOCK_BYTES)
                copy.flush()
                if (modified := self._modification_time(uri)) is not None:
                    os.utime(copy.fileno(), (modified, modified))
            yield FetchedFile(uri, copy.fileno())

    def _modification_time(self, uri: str) -> float | None:
        """Return a file's modification time, or None if its storage does not know it."""
        try:
            return float(self._system.modified(self._system._strip_protocol(uri)).timestamp())
        except (NotImplementedError, AttributeError, KeyError):
            return None

    def _is_left_out(self, path: str) -> bool:
        parts = PurePosixPath(path).relative_to(self._root).parts
        return any(map(is_left_out, parts))


def _open_system(uri: str) -> tuple[Any, str]:
    """Return the file system of a URI, and the path in it. Raise InputError, MissingExtra."""
    try:
        from fsspec import available_protocols
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as missing:
        raise MissingExtra.of("fsspec", EXTRA) from missing
    scheme = uri.partition("://")[0]
    if scheme not in available_protocols():
        raise InputError(
            f"{uri}: no scheme {scheme!r}; give a path, or a URI that fsspec knows, such as "
            "s3://bucket/folder, gs://…, az://… or file://…"
        )
    try:
        with _storage_errors(uri):
            system, root = url_to_fs(uri)
    except ImportError as error:  # it names the package that it needs for the scheme
        raise MissingExtra(f"{uri} cannot be read: {error}") from error
    return system, str(root).rstrip("/")


@contextmanager
def _storage_errors(uri: str) -> Iterator[None]:
    """Raise InputError for any error of a storage's library: those lack a common class."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise InputError(f"{uri} cannot be read: {type(error).__name__}: {error}") from error
