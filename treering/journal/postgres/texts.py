"""Texts in PostgreSQL, which stores every character but NUL: that one is escaped.

A noncharacter, which no text is written with, stands before what it escapes: itself and NUL. So
what is stored is as readable as before, and is compared and found as it would be in a file.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from psycopg import Connection
from psycopg.adapt import Buffer, Loader
from psycopg.pq import Format
from psycopg.types.json import set_json_loads
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import StrDumperUnknown

ESCAPE: Final = "\ufdd0"
_NUL: Final = ESCAPE + "0"
_ITSELF: Final = ESCAPE + "1"
_ESCAPED: Final = re.compile(f"{ESCAPE}([01])")
_ESCAPE_BYTES: Final = ESCAPE.encode()


def escaped(text: str) -> str:
    """A text as it is stored."""
    if "\0" in text or ESCAPE in text:
        return text.replace(ESCAPE, _ITSELF).replace("\0", _NUL)
    return text


def unescaped(text: str) -> str:
    """The inverse of ``escaped``."""
    return _ESCAPED.sub(lambda match: "\0" if match[1] == "0" else ESCAPE, text)


class _EscapingDumper(StrDumperUnknown):
    """Of no type of its own: the place that the text stands in says what it is."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(escaped(obj))


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        raw = bytes(data)
        text = raw.decode()
        return unescaped(text) if _ESCAPE_BYTES in raw else text


class _BinaryTextLoader(_TextLoader):
    format = Format.BINARY


def _load_json(data: str | bytes) -> Any:
    return json.loads(unescaped(data.decode() if isinstance(data, bytes) else data))


def adapt(connection: Connection[Any]) -> None:
    """Let a connection store texts so, and send every whole number in the same type."""
    connection.adapters.register_dumper(str, _EscapingDumper)
    connection.adapters.register_dumper(int, Int8BinaryDumper)
    connection.adapters.register_loader("text", _TextLoader)
    connection.adapters.register_loader("text", _BinaryTextLoader)
    set_json_loads(_load_json, connection)
