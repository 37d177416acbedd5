"""Files and folders: which to read, in which format, and whether they have changed."""

from __future__ import annotations

import csv
import hashlib
import json
import logging
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Final

from treering import files
from treering.errors import EmptyText, InputError, TextEncodingError
from treering.hints import Hint
from treering.ingest.documents import table
from treering.ingest.documents.formats import HTML, READABLE, DocumentPart
from treering.ingest.documents.reader import DocumentReader, DocumentText, format_of
from treering.ingest.drafts import Envelope, message_drafts, text_drafts
from treering.ingest.front_matter import date_text, read_front_matter
from treering.journal.writing import Draft
from treering.records import JSON, Kind, Skipped
from treering.split.stream import read_text
from treering.text import storable
from treering.views.code.parse.language import SUFFIXES

log = logging.getLogger("treering")

_UNPARSED = frozenset(
    {".kt", ".lua", ".pl", ".ps1", ".r", ".scala", ".sh", ".sql", ".swift", ".vue", ".zig"}
)
_CODE = SUFFIXES | _UNPARSED
_NOTEBOOK = ".ipynb"
_JSON = (".json", ".jsonl", ".ndjson")
_CONVERSATIONS = frozenset({".json", ".jsonl", ".txt", ".eml", ".mbox", ".mbx"})
_DELIMITER_BY_SUFFIX = {".csv": None, ".tsv": "\t"}
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "venv"})
_SNIFF_BYTES = 8192
_BLOCK_BYTES = 1 << 20
_SAYS = frozenset({"content", "tool_calls"})  # a message has one of these
_MAX_JSON_BYTES = 256 << 20  # a chat export is read as a whole; JSON lines are streamed
_SURROGATE: Final = "\\ud"
"""How the escape of a surrogate begins, in lower case."""


def kind_of(path: Path) -> Kind:
    """Code by its suffix, else text."""
    return "code" if path.suffix.lower() in _CODE else "text"


def digest(path: Path, envelope: Envelope) -> bytes:
    """The SHA-256 of a file and its envelope: a change of either changes the entries."""
    hasher = hashlib.sha256()
    with files.open_file(path) as stream:
        while block := stream.read(_BLOCK_BYTES):
            hasher.update(block)
    if envelope != Envelope():
        hasher.update(envelope.canonical().encode())
    return hasher.digest()


def is_left_out(name: str) -> bool:
    """Whether a file or folder of that name within a folder is hidden, or holds dependencies."""
    return name.startswith(".") or name in _SKIPPED_FOLDERS


def walk(folder: Path, envelope: Envelope) -> Iterator[Path | Skipped]:
    """The files below a folder in a stable order; without hidden ones and dependencies.

    Symbolic links are not followed: they may lead out of the folder or in a circle.
    """
    # A stack, not a recursion: folders may be nested deeper than functions.
    ahead = [folder]
    while ahead:
        path = ahead.pop()
        try:
            if path.is_symlink() and path != folder:
                yield Skipped(str(path), "a symbolic link")
            elif path.is_dir():
                _refuse_conversations(path, envelope)
                ahead += sorted(
                    (p for p in path.iterdir() if not is_left_out(p.name)), reverse=True
                )
            elif path.is_file():
                yield _readable(path)
        except (InputError, OSError) as error:
            # Without its next step, which each shell words in its own way.
            reason = str(getattr(error, "message", error))
            yield Skipped(str(path), reason.removeprefix(f"{path} "))


def _refuse_conversations(path: Path, envelope: Envelope) -> None:
    """Raise InputError for an export of another program: a text would lose who said what."""
    if envelope.kind is not None:
        return
    if path.suffix not in _CONVERSATIONS and not (path / "users.json").is_file():
        return
    from treering.ingest.transcripts import contract  # loads the readers of all formats

    if (found := contract.format_of(path)) is not None:
        raise InputError(
            f"{path} holds conversations of the format {found.name}; import it: `treering import "
            f"{shlex.quote(str(path))}`",
            hint=Hint.ADD_AS_TEXT,
        )


def _readable(path: Path) -> Path | Skipped:
    try:
        if files.is_memory(path):
            return Skipped(str(path), files.REASON)
        if format_of(path) is None and _is_binary(path):
            return Skipped(str(path), _why_binary(path))
        return path
    except OSError as error:
        return Skipped(str(path), str(error))


def _why_binary(path: Path) -> str:
    if path.suffix.lower() != ".zip":
        return "not text"
    return f"an archive; if it holds conversations: `treering import {shlex.quote(str(path))}`"


def _is_binary(path: Path) -> bool:
    with files.open_file(path) as stream:
        head = stream.read(_SNIFF_BYTES)
    return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file that becomes a source of its own; most files are one part.

    ``drafts`` makes its entries anew at each call, in constant memory for a text of any size.
    """

    source: str
    document: str | None
    drafts: Callable[[Envelope], Iterator[Draft]]


@dataclass(frozen=True, slots=True)
class FileContent:
    """The parts of a file, and the unreadable ones."""

    parts: tuple[FilePart, ...]
    skipped: tuple[Skipped, ...] = ()


def read_file(
    path: Path, source: str, envelope: Envelope, documents: DocumentReader
) -> FileContent:
    """The content of a file: a document in its parts, another file as one.

    Raises TextEncodingError, EmptyText, InputError, MissingExtra, and OSError.
    """
    _refuse_conversations(path, envelope)
    name = format_of(path)
    if name is None or (name, envelope.kind) == (HTML, "code"):  # which stays as it is written
        if envelope.encoding is None and _is_binary(path):
            raise InputError(f"{path} is {_why_binary(path)}; treering reads {READABLE}")
        fields: Mapping[str, JSON] = {}
        problem = None
        if _may_have_front_matter(path, envelope):
            fields, problem = read_front_matter(path, envelope)
        problems = [Skipped(f"{path}#front matter", problem)] if problem else []
        part = FilePart(source, None, partial(_file_drafts, path, fields))
        return FileContent((part,), (*problems, *_left_out_of_notebook(path)))
    document = documents.read(path)
    at = date_text(path, envelope).at
    skipped = (Skipped(f"{path}#{gap.place}", gap.reason) for gap in document.gaps)
    return FileContent(tuple(_document_parts(document, source, at)), tuple(skipped))


def _document_parts(document: DocumentText, source: str, at: datetime | None) -> Iterator[FilePart]:
    """The parts of a document by place; those of a place follow each other."""
    for place, parts in groupby(document.parts, key=lambda part: part.place):
        name = source if place is None else f"{source}#{place}"
        drafts = partial(_part_drafts, tuple(parts), name, at)
        yield FilePart(name, None if place is None else source, drafts)


def _part_drafts(
    parts: Sequence[DocumentPart], name: str, at: datetime | None, envelope: Envelope
) -> Iterator[Draft]:
    envelope = replace(envelope, at=at)
    for part in parts:
        metadata = {**(part.metadata or {}), **envelope.metadata}
        yield from text_drafts([storable(part.text)], replace(envelope, metadata=metadata), name)


def _may_have_front_matter(path: Path, envelope: Envelope) -> bool:
    is_text = (envelope.kind or kind_of(path)) == "text" and not _is_table(path, envelope)
    return is_text and path.suffix.lower() not in (*_JSON, _NOTEBOOK)


def _file_drafts(path: Path, fields: Mapping[str, JSON], envelope: Envelope) -> Iterator[Draft]:
    """The content of a file as drafts: a chat if it holds messages, else a table, text or code.

    Raises TextEncodingError, EmptyText, InputError.
    """
    if _is_table(path, envelope):
        return _table_drafts(path, date_text(path, envelope))
    if path.suffix.lower() in _JSON and envelope.kind in (None, "chat"):
        messages = _messages(path, envelope)
        if messages is not None:
            return message_drafts(messages, envelope, str(path))
    if path.suffix == _NOTEBOOK:
        from treering.views.code.parse.source_files import decode_source

        envelope = replace(envelope, kind=envelope.kind or "code")
        cells = decode_source(path.name, files.read_bytes(path))
        return text_drafts([storable(cells)], envelope, str(path))
    envelope = replace(envelope, kind=envelope.kind or kind_of(path))
    if envelope.kind == "text":
        envelope = date_text(path, envelope, fields)
        envelope = replace(envelope, metadata={**fields, **envelope.metadata})
    return text_drafts(read_text(path, envelope.encoding), envelope, str(path))


def _left_out_of_notebook(path: Path) -> Iterator[Skipped]:
    """The outputs of a notebook's cells, counted."""
    if path.suffix == _NOTEBOOK:
        from treering.views.code.parse.source_files import count_outputs

        outputs = count_outputs(files.read_bytes(path))
        if outputs:
            yield Skipped(f"{path}#outputs", f"{outputs} outputs of cells, pictures among them")


def _table_drafts(path: Path, envelope: Envelope) -> Iterator[Draft]:
    """The rows of a CSV file, a few at a time, each time below the names of the columns."""
    delimiter = _DELIMITER_BY_SUFFIX[path.suffix.lower()]
    empty = True
    try:
        for piece in table.pieces(table.csv_rows(read_text(path, envelope.encoding), delimiter)):
            empty = False
            metadata = {"rows": piece.label, **envelope.metadata}
            yield from text_drafts([piece.text], replace(envelope, metadata=metadata), str(path))
    except csv.Error as error:
        raise InputError(f"{path} is not a table of CSV: {error}") from error
    if empty:
        raise EmptyText(f"{path} has no text in its rows")


def _is_table(path: Path, envelope: Envelope) -> bool:
    return path.suffix.lower() in _DELIMITER_BY_SUFFIX and envelope.kind in (None, "text")


def _messages(path: Path, envelope: Envelope) -> Iterator[Mapping[str, Any]] | None:
    """The messages of a file of JSON or JSON lines, or None if it holds something else.

    Raise InputError for a file without messages that was said to be a chat: as one text, no search
    would find a message in it.
    """
    if path.suffix.lower() == ".json":
        messages = _listed_messages(path, envelope)
    else:
        lines = _json_lines(path)
        first: Any = next(lines, None)
        messages = chain([first], lines) if _is_message(first) else None
    if messages is None and envelope.kind == "chat":
        raise InputError(
            f"{path} holds no chat: give messages with 'role' and 'content', one a line (.jsonl), "
            f"or as a list (.json) of at most {_MAX_JSON_BYTES >> 20} MB; or leave out that it is "
            "one"
        )
    return messages


def _listed_messages(path: Path, envelope: Envelope) -> Iterator[Mapping[str, Any]] | None:
    """The messages of a file of JSON, a list or ``{"messages": […]}``."""
    if path.stat().st_size > _MAX_JSON_BYTES:
        return None
    try:
        content = _parse("".join(read_text(path, envelope.encoding)), str(path))
    except TextEncodingError:
        raise
    except (ValueError, RecursionError):
        return None
    if isinstance(content, dict):
        content = content.get("messages")
    # A message without content among others is an error with its number; a list of which none has
    # any may hold people and their roles.
    is_talk = isinstance(content, list) and all(
        isinstance(message, dict) and "role" in message for message in content
    )
    return iter(content) if is_talk and any(map(_is_message, content)) else None


def _json_lines(path: Path) -> Iterator[Any]:
    with files.open_file(path) as stream:
        yield from parse_lines(stream, str(path))


def parse_lines(lines: Iterable[bytes | str], name: str) -> Iterator[Any]:
    """Parse lines of JSON. Raise InputError and TextEncodingError, which name the line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{name}: line {number}"
        try:
            yield _parse(line, place)
        except UnicodeDecodeError as error:
            raise TextEncodingError(f"{place} is not UTF-8: {error}") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place} is not JSON ({error}); mend it") from error


def _parse(text: bytes | str, place: str) -> Any:
    """Parse JSON, with U+FFFD for each lone surrogate that it escapes: no text can hold one."""
    text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    value = json.loads(text)
    if _SURROGATE in text.lower():
        plain = json.dumps(value, ensure_ascii=False)
        if (clean := storable(plain)) != plain:
            log.warning("%s: lone surrogates were replaced by U+FFFD", place)
            return json.loads(clean)
    return value


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and "role" in value and bool(value.keys() & _SAYS)
