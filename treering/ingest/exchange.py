"""Export and import of a space as JSON lines: a header, then one entry a line, nothing derived."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from treering.errors import InputError, JournalCorrupt
from treering.journal import tombstones
from treering.journal.fields import checked_name, metadata_json, parse_time, required_name
from treering.journal.sources import FileSource
from treering.journal.tombstones import Tombstone
from treering.journal.writing import Draft
from treering.records import KINDS, Entry
from treering.split.stream import MAX_ENTRY_CHARS
from treering.text import check_text

FORMAT = "treering"
VERSION = 1
KEEP = "keep"
MAX_NAMED = 20  # damaged entries in one message; `treering doctor` names all
MAX_POSITION = 2**31 - 1  # the most that the table in memory counts


def header(settings: dict[str, Any]) -> str:
    """The first line of an export."""
    return json.dumps({"format": FORMAT, "version": VERSION, "settings": settings})


def transcript_header() -> str:
    """The first line before messages of other programs: existing entries stay as they are."""
    return json.dumps({"format": FORMAT, "version": VERSION, "existing": KEEP})


def transcript_line(entry: Entry) -> str:
    """A message of another program as a line: it goes to the end of its source, added now."""
    fields = _fields(entry)
    del fields["position"], fields["added"]
    return json.dumps(fields, ensure_ascii=False)


def source_line(file: FileSource) -> str:
    """The digest of a file that was read, so that adding the unchanged file stays a no-op."""
    fields = {"source": file.name, "digest": (file.digest or b"").hex()}
    if file.document is not None:
        fields["document"] = file.document
    return json.dumps(fields, ensure_ascii=False)


def superseded_line(older: str, newer: str) -> str:
    """That an entry holds instead of another one, by their ids, as a person has said."""
    return json.dumps({"superseded": older, "by": newer})


def origin_line(source: str, path: str) -> str:
    """The file of another program that a source is read from."""
    return json.dumps({"source": source, "path": path}, ensure_ascii=False)


def tombstone_line(tombstone: Tombstone) -> str:
    """That an entry was forgotten: an import of a transcript into the copy must not undo that."""
    return json.dumps({"forgotten": tombstone.digest.hex(), "key": tombstone.key.hex()})


def withheld_line(entry: Entry) -> str:
    """A withheld entry, or a correction, as a line of JSON."""
    return json.dumps({"withheld": _fields(entry)}, ensure_ascii=False)


def line(entry: Entry) -> str:
    """An entry as a line of JSON; without empty fields."""
    return json.dumps(_fields(entry), ensure_ascii=False)


def _fields(entry: Entry) -> dict[str, Any]:
    """The fields of an entry that are not empty."""
    fields: dict[str, Any] = {
        "id": entry.id,
        "source": entry.source,
        "position": entry.position,
        "kind": entry.kind,
        "added": entry.added.isoformat(),
        "at": entry.at.isoformat() if entry.at else None,
        "speaker": entry.speaker,
        "role": entry.role,
        "session": entry.session,
        "metadata": dict(entry.metadata) or None,
        "expires": entry.expires.isoformat() if entry.expires else None,
        "pinned": entry.pinned or None,
        "text": entry.text,
    }
    return {key: value for key, value in fields.items() if value is not None}


def incomplete(damaged: Sequence[JournalCorrupt]) -> JournalCorrupt:
    """The error after an export that had to leave entries out."""
    return JournalCorrupt(
        f"{len(damaged)} of the entries cannot be read and are left out; all others were written. "
        + "\n".join(map(str, damaged[:MAX_NAMED]))
    )


def is_entry(text: str) -> bool:
    """Whether a line of an export is an entry, not the header or about a file or two entries."""
    return "id" in json.loads(text)


def read_header(lines: Iterator[str]) -> tuple[dict[str, Any], bool]:
    """Return the settings of an export, and whether entries that are here stay as they are.

    Otherwise another text under the id of such an entry is an error. Raises InputError if the first
    line is not a header.
    """
    first = next(lines, "")
    fields = _parse(first, 1)
    if fields.get("format") != FORMAT or fields.get("version") != VERSION:
        raise InputError(
            f"line 1 is not the header of a treering export of version {VERSION}; "
            "give a file that `treering export` has written"
        )
    settings = fields.get("settings", {})
    if not isinstance(settings, dict):
        raise InputError(f"line 1: settings are a {type(settings).__name__}, not a JSON object")
    return settings, fields.get("existing") == KEEP


@dataclass(frozen=True, slots=True)
class SupersededLine:
    """A line about two entries, by their ids."""

    older: str
    newer: str


@dataclass(frozen=True, slots=True)
class WithheldLine:
    """A line of an entry that is withheld, or of a correction."""

    source: str
    draft: Draft


ParsedLine = tuple[str, Draft | FileSource] | SupersededLine | Tombstone | WithheldLine


def read_entries(lines: Iterable[str]) -> Iterator[ParsedLine]:
    """Parse each line after the header: a source with a draft or file, a pair of entries, or a
    forgotten one.

    Raises InputError naming the line.
    """
    for number, text in enumerate(lines, start=2):
        if text.strip():
            fields = _parse(text, number)
            try:
                parsed = _read(fields)
            except KeyError as error:
                raise InputError(f"line {number}: field {error} is missing") from error
            except InputError as error:
                raise type(error)(f"line {number}: {error}") from error
            # Outside the ``try``: an error of the consumer is not one of this line.
            yield parsed


def _parse(text: str, number: int) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"line {number} is not JSON ({error}); is the export whole?") from error
    if not isinstance(fields, dict):
        raise InputError(f"line {number} is not a JSON object")
    return fields


def _read(fields: dict[str, Any]) -> ParsedLine:
    if "withheld" in fields:
        held = _check_type(dict, fields["withheld"], "withheld")
        return WithheldLine(_name(held, "source"), _draft(held)._replace(key=held["id"]))
    if "superseded" in fields:
        return SupersededLine(_name(fields, "superseded"), _name(fields, "by"))
    if "forgotten" in fields:
        tombstone = Tombstone(_bytes(fields, "key"), _bytes(fields, "forgotten"))
        if {*map(len, tombstone)} != {tombstones.BYTES}:
            raise InputError(f"key and forgotten must be {tombstones.BYTES} bytes each")
        return tombstone
    source = _name(fields, "source")
    if "path" in fields:
        return source, FileSource(source, None, path=_name(fields, "path"))
    if "digest" not in fields:
        return source, _draft(fields)
    document = None if fields.get("document") is None else _name(fields, "document")
    return source, FileSource(source, _bytes(fields, "digest"), document=document)


def _bytes(fields: dict[str, Any], key: str) -> bytes:
    digits: str = _check_type(str, fields[key], key)
    try:
        return bytes.fromhex(digits)
    except ValueError as error:
        raise InputError(f"{key} {digits!r}: {error}") from error


def _draft(fields: dict[str, Any]) -> Draft:
    kind, position = fields["kind"], _check_type(int, fields.get("position", 0), "position")
    if kind not in KINDS:
        raise InputError(f"kind is {kind!r}; it can be {', '.join(KINDS)}", param="kind")
    if not 0 <= position <= MAX_POSITION:
        raise InputError(
            f"position is {position}; it must be from 0 to {MAX_POSITION}", param="position"
        )
    return Draft(
        text=_text(fields["text"]),
        kind=kind,
        at=None if fields.get("at") is None else parse_time(fields["at"], "at"),
        speaker=checked_name(fields.get("speaker"), "speaker"),
        role=checked_name(fields.get("role"), "role"),
        session=checked_name(fields.get("session"), "session"),
        metadata=metadata_json(_check_type(dict, fields.get("metadata", {}), "metadata")),
        id=_name(fields, "id"),
        # A message of another program goes to the end, added now.
        position=position if "position" in fields else None,
        added=parse_time(fields["added"], "added") if "added" in fields else None,
        expires=parse_time(fields["expires"], "expires") if fields.get("expires") else None,
        pinned=_check_type(bool, fields.get("pinned", False), "pinned"),
    )


def _text(value: object) -> str:
    text: str = _check_type(str, value, "text")
    if not 0 < len(text) <= MAX_ENTRY_CHARS:
        raise InputError(f"text has {len(text)} characters; it must have 1 to {MAX_ENTRY_CHARS}")
    return check_text(text, "text")


def _name(fields: dict[str, Any], key: str) -> str:
    return required_name(_check_type(str, fields[key], key), key)


def _check_type(kind: Callable[..., Any], value: Any, what: str) -> Any:
    if not isinstance(value, kind):  # type: ignore[arg-type]
        raise InputError(f"{what} is {value!r}, a {type(value).__name__}", param=what)
    return value
