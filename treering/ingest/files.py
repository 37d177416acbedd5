"""Files and folders: what to read, as what, and whether it has changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from treering import files
from treering.errors import InputError, TextEncodingError
from treering.ingest.dates import written_at
from treering.ingest.drafts import Envelope, message_drafts, text_drafts
from treering.journal.entries import Draft
from treering.records import Kind, Skipped
from treering.split.stream import read_text
from treering.views.code.parse.language import SUFFIXES

_UNPARSED = frozenset(
    {".kt", ".lua", ".pl", ".ps1", ".r", ".scala", ".sh", ".sql", ".swift", ".vue", ".zig"}
)
_CODE = SUFFIXES | _UNPARSED
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "venv"})
_SNIFF_BYTES = 8192
_BLOCK_BYTES = 1 << 20
_MAX_JSON_BYTES = 256 << 20  # a chat export is read as a whole; JSON lines are streamed


def kind_of(path: Path) -> Kind:
    """Code by its suffix, else text."""
    return "code" if path.suffix.lower() in _CODE else "text"


def digest(path: Path, envelope: Envelope) -> bytes:
    """The SHA-256 of a file and of what is said of it: either changes what is remembered."""
    hasher = hashlib.sha256()
    with files.open_file(path) as stream:
        while block := stream.read(_BLOCK_BYTES):
            hasher.update(block)
    if envelope != Envelope():
        hasher.update(envelope.canonical().encode())
    return hasher.digest()


def walk(folder: Path) -> Iterator[Path | Skipped]:
    """The files below a folder in a stable order; hidden ones and dependencies are left out.

    Symbolic links are not followed: they may lead out of the folder or in a circle.
    """
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in _SKIPPED_FOLDERS:
            continue
        if path.is_symlink():
            yield Skipped(str(path), "a symbolic link")
        elif path.is_dir():
            yield from walk(path)
        elif path.is_file():
            yield _readable(path)


def _readable(path: Path) -> Path | Skipped:
    try:
        if files.is_memory(path):
            return Skipped(str(path), files.REASON)
        return Skipped(str(path), "not text") if _is_binary(path) else path
    except OSError as error:
        return Skipped(str(path), str(error))


def _is_binary(path: Path) -> bool:
    with files.open_file(path) as stream:
        head = stream.read(_SNIFF_BYTES)
    return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))


def file_drafts(path: Path, envelope: Envelope) -> Iterator[Draft]:
    """The content of a file as drafts: a chat if it holds messages, else text or code.

    Raises TextEncodingError, EmptyText, InputError.
    """
    if path.suffix.lower() in (".json", ".jsonl", ".ndjson") and envelope.kind in (None, "chat"):
        messages = _messages(path)
        if messages is not None:
            return message_drafts(messages, envelope)
    if envelope.kind is None:
        envelope = replace(envelope, kind=kind_of(path))
    if envelope.at is None and envelope.kind == "text":
        envelope = replace(envelope, at=written_at(path))
    return text_drafts(read_text(path), envelope, str(path))


def _messages(path: Path) -> Iterator[Mapping[str, Any]] | None:
    """The messages of a file of JSON or JSON lines, or None if it holds something else."""
    if path.suffix.lower() != ".json":
        first = next(_json_lines(path), None)
        return _json_lines(path) if _is_message(first) else None
    if path.stat().st_size > _MAX_JSON_BYTES:
        return None
    text = "".join(read_text(path))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(content, dict):
        content = content.get("messages")
    if isinstance(content, list) and content and all(_is_message(message) for message in content):
        return iter(content)
    return None


def _json_lines(path: Path) -> Iterator[Any]:
    with files.open_file(path) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except UnicodeDecodeError as error:
                raise TextEncodingError(f"{path}: line {number} is not UTF-8: {error}") from error
            except (ValueError, RecursionError) as error:
                raise InputError(f"{path}: line {number} is not JSON ({error}); mend it") from error


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and "role" in value and "content" in value
