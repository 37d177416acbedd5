"""Reading data files row by row, with errors that name the file and the row."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from treering.errors import InputError

Row = dict[str, Any]
T = TypeVar("T")

_BLOCK = 1 << 20


def json_lines(path: Path) -> Iterator[Row]:
    """The objects of a JSON lines file, one at a time; lines end with ``\\n``, ``.gz`` unpacks."""
    for number, line in _lines(path):
        if line.strip():
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {number}: not JSON: {error}") from error


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opened = gzip.open if _opened(path).suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="\n") as file:
            yield from enumerate(file, 1)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8: {error}") from error


def json_items(path: Path, prefix: str = "item") -> Iterator[Any]:
    """The elements of a JSON array under ``prefix``, one at a time, however large the file."""
    import ijson

    with _opened(path).open("rb") as file:
        try:
            yield from ijson.items(file, prefix, use_float=True)
        except ijson.JSONError as error:
            raise InputError(f"{path}: not JSON: {error}") from error


def read_as(benchmark: str, path: Path, rows: Iterator[T]) -> Iterator[T]:
    """A loader's rows from ``path``. Raise InputError for data of another form."""
    try:
        yield from rows
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is not the data of {benchmark} ({type(error).__name__}: {error}); "
            f"`treering-bench data {benchmark}` says which file it is and where to get it"
        ) from error


def csv_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV file with a header line."""
    with _opened(path).open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)


def only_file(path: Path, *patterns: str) -> Path:
    """``path`` itself if it is a file, else the one file in it that matches a pattern.

    Raises:
        InputError: no file matches, or more than one does.
    """
    if path.is_file():
        return path
    matches = sorted({match for pattern in patterns for match in _opened(path).glob(pattern)})
    if len(matches) != 1:
        names = ", ".join(match.name for match in matches) or "none"
        raise InputError(f"{path} should hold one file {' or '.join(patterns)}; found: {names}")
    return matches[0]


def files_of(path: Path, pattern: str) -> list[Path]:
    """``path`` itself if it is a file, else all files in it that match, by name.

    Raises:
        InputError: no file matches.
    """
    if path.is_file():
        return [path]
    matches = sorted(_opened(path).glob(pattern))
    if not matches:
        raise InputError(f"{path} should hold files {pattern}; found: none")
    return matches


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, or of a folder's file names and contents, as hexadecimal digits."""
    digest = hashlib.sha256()
    files = [path] if _opened(path).is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    for file in files:
        if file is not path:
            digest.update(f"{file.relative_to(path).as_posix()}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def _opened(path: Path) -> Path:
    if not path.exists():
        raise InputError(f"there is no file or folder {path}")
    return path
