"""Transcripts that are one document of JSON: read whole, checked before they are used."""

from __future__ import annotations

import json
from typing import Any

from treering import files
from treering.errors import InputError
from treering.ingest.transcripts.archive import TranscriptPath

MAX_BYTES = 2 << 30
"""A document is held in memory as a whole, several times its size."""

MAX_VALUES = 50_000_000
"""Of a document. An empty list has three bytes in the file and 64 in memory."""


def refuse_larger(path: TranscriptPath) -> None:
    """Raise InputError for a file that is too large to be read at once."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise InputError(f"{path} has {size:,} bytes; at most {MAX_BYTES:,} can be read at once")


def read_json(path: TranscriptPath) -> Any:
    """The value of a file of JSON. Raises InputError."""
    refuse_larger(path)
    content = files.read_bytes(path)
    # Each value but the first follows one of these; those within texts are counted too.
    values = sum(map(content.count, (b",", b"[", b"{")))
    if values > MAX_VALUES:
        raise InputError(
            f"{path} holds up to {values:,} values; at most {MAX_VALUES:,} can be read at once: "
            "export a shorter time, or in parts"
        )
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); is the export whole?") from error


def begins_list(path: TranscriptPath, head: str, key: str) -> bool:
    """Whether a file is a JSON list of objects with a key."""
    return path.suffix == ".json" and head.lstrip()[:1] == "[" and f'"{key}"' in head
