"""The log of hooks: which entries they recalled, and how many messages they saved.

It has ids and no texts, and loses the lines of a space that is removed: a log must not outlive a
memory.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from treering import files
from treering.hooks.places import agents_home, make_private

MAX_BYTES = 1 << 20
"""A longer log is renamed, and a new one begins."""


log = logging.getLogger("treering")


def note(record: Mapping[str, Any]) -> None:
    """Add a record, with the time. Where it cannot be written, the hook still does its work."""
    try:
        _add(record)
    except OSError as error:
        log.warning("%s cannot be written: %s", _path(), error)


def _add(record: Mapping[str, Any]) -> None:
    path = _path()
    make_private(path.parent)
    if path.exists() and path.stat().st_size > MAX_BYTES:
        path.replace(_before())
    stamped = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **record}
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "ab") as stream:  # in one write, as several servers may add
        stream.write(json.dumps(stamped).encode() + b"\n")


def records(limit: int) -> list[dict[str, Any]]:
    """The newest records, the oldest of them first."""
    return [*_lines(_before()), *_lines(_path())][-limit:]


def entries_shown(memory: str, session: object) -> set[str]:
    """Return the ids of the entries that hooks added to a session."""
    records = [*_lines(_before()), *_lines(_path())] if session else []
    own = {"memory": memory, "session": session}.items()
    shown = (record.get("entries", ()) for record in records if own <= record.items())
    return set(chain.from_iterable(shown))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in (files.read_bytes(path) if path.is_file() else b"").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue  # cut off by a full disk


def discard(memory: str, space: str) -> None:
    """Remove the records of a space. Raises InputError if the log cannot be written."""
    for path in (_before(), _path()):
        records = list(_lines(path))
        own = {"memory": memory, "space": space}.items()
        left = [record for record in records if not own <= record.items()]
        if len(left) < len(records):
            lines = (json.dumps(record).encode() + b"\n" for record in left)
            files.replace_file(path, b"".join(lines), private=True)
    warnings = agents_home() / "server.log"
    if warnings.is_file() and space.encode() in files.read_bytes(warnings):
        files.replace_file(warnings, None)  # a server that runs goes on without one


def _path() -> Path:
    return agents_home() / "hooks.log"


def _before() -> Path:
    return agents_home() / "hooks.log.1"
