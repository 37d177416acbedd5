"""Export and import of a space as JSON lines: a header, then one entry a line, nothing derived."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from treering.errors import InputError
from treering.ingest.drafts import checked_name, metadata_json, parse_time
from treering.journal.entries import Draft
from treering.records import KINDS, Entry
from treering.split.stream import MAX_ENTRY_CHARS, check_text

FORMAT = "treering"
VERSION = 1


def header(settings: dict[str, Any]) -> str:
    """The first line of an export."""
    return json.dumps({"format": FORMAT, "version": VERSION, "settings": settings})


def source_line(name: str, digest: bytes) -> str:
    """The digest of a file that was read, so that adding the unchanged file stays a no-op."""
    return json.dumps({"source": name, "digest": digest.hex()}, ensure_ascii=False)


def line(entry: Entry) -> str:
    """An entry as a line of JSON; empty fields are left out."""
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
        "text": entry.text,
    }
    filled = {key: value for key, value in fields.items() if value is not None}
    return json.dumps(filled, ensure_ascii=False)


def read_header(lines: Iterator[str]) -> dict[str, Any]:
    """The settings of an export. Raises InputError if it is something else."""
    first = next(lines, "")
    found = _parse(first, 1)
    if found.get("format") != FORMAT or found.get("version") != VERSION:
        raise InputError(
            f"line 1 is not the header of a treering export of version {VERSION}; "
            "give a file that `treering export` has written"
        )
    settings = found.get("settings", {})
    return settings if isinstance(settings, dict) else {}


def read_entries(lines: Iterable[str]) -> Iterator[tuple[str, Draft | bytes]]:
    """Source and draft, or digest, of each line after the header.

    Raises InputError naming the line.
    """
    for number, text in enumerate(lines, start=2):
        if not text.strip():
            continue
        found = _parse(text, number)
        try:
            if "digest" in found:
                yield str(found["source"]), bytes.fromhex(found["digest"])
            else:
                yield str(found["source"]), _draft(found, f"line {number}")
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"line {number}: field {error} is missing or wrong") from error


def _parse(text: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"line {number} is not JSON ({error}); is the export whole?") from error
    if not isinstance(found, dict):
        raise InputError(f"line {number} is not a JSON object")
    return found


def _draft(found: dict[str, Any], what: str) -> Draft:
    text: str = _checked(str, found["text"], what)
    if len(text) > MAX_ENTRY_CHARS:
        raise InputError(f"{what}: text has {len(text)} characters, at most {MAX_ENTRY_CHARS}")
    if found["kind"] not in KINDS:
        raise InputError(f"{what}: kind {found['kind']!r}; it can be {', '.join(KINDS)}")
    checked_name(found["source"], f"{what}: source")
    return Draft(
        text=check_text(text, what),
        kind=found["kind"],
        at=parse_time(found["at"], what) if found.get("at") else None,
        speaker=checked_name(found.get("speaker"), f"{what}: speaker"),
        role=checked_name(found.get("role"), f"{what}: role"),
        session=checked_name(found.get("session"), f"{what}: session"),
        metadata=metadata_json(_checked(dict, found.get("metadata", {}), what)),
        id=checked_name(found["id"], f"{what}: id"),
        position=_checked(int, found["position"], what),
        added=parse_time(found["added"], what),
    )


def _checked(kind: Callable[..., Any], value: Any, what: str) -> Any:
    if not isinstance(value, kind):  # type: ignore[arg-type]
        raise InputError(f"{what}: {value!r} is a {type(value).__name__}")
    return value
