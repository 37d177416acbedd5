"""Metadata of the fragments by key, read from the database once somebody filters by the key."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, without
from treering.journal import entries
from treering.journal.contract import Reader, Value
from treering.records import JSON
from treering.search.reading import Ints

NONE: Final = -1

MAX_KEYS: Final = 16
"""Keys whose values are kept, those asked for last: each takes four bytes a row, and whoever
searches chooses the keys."""

LEAST_READ: Final = 2_048
"""Rows whose values are read at once without anybody noticing."""

SHARE_READ: Final = 5
"""Of a larger space one row in 2⁵ is read at once: that takes about as long as a search."""

Literal = tuple[str, Value]
"""What makes two values equal: their kind, and how SQLite gives them."""

_NUMBERS: Final = {"integer": "number", "real": "number"}
_NAMED: Final = frozenset({"true", "false", "null"})
"""Kinds that have one value each; SQLite gives numbers for two of them."""


@dataclass(frozen=True, slots=True)
class _Values:
    """The value of one key by row: a place in ``codes``, NONE where the key is not there."""

    codes: dict[Literal, int]
    rows: Ints


class Metadata:
    """The values of some keys for the rows of one snapshot."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: OrderedDict[str, _Values] = OrderedDict()  # as they were asked for

    def without(self, gone: Codes) -> Metadata:
        """For a snapshot without some rows, given ascending.

        Further rows at the end need no other: they are read when somebody asks for them.
        """
        result = Metadata()
        with self._lock:
            for key, values in self._values.items():
                rows = without(values.rows, gone[gone < len(values.rows)])
                result._values[key] = _Values(values.codes, rows)
        return result

    def meeting(
        self, reader: Reader, space: int, entry: Codes, key: str, value: JSON
    ) -> NDArray[np.bool_]:
        """Which rows, whose entries are given, have a value under a key; see ``is_plain``."""
        values = self._read_to(reader, space, entry, key, len(entry))
        code = values.codes.get(_literal(value), NONE)
        if code == NONE:
            return np.zeros(len(entry), dtype=np.bool_)
        meeting: NDArray[np.bool_] = values.rows[: len(entry)] == code
        return meeting

    def is_read(self, reader: Reader, space: int, entry: Codes, key: str) -> bool:
        """Whether the values of a key are at hand; if they are not, some more of them are read.

        Reading all of a large space takes as long as some searches. Each filter that asks reads a
        part, until all are there.
        """
        with self._lock:
            values = self._values.get(key)
        done = 0 if values is None else len(values.rows)
        stop = done + max(LEAST_READ, len(entry) >> SHARE_READ)
        self._read_to(reader, space, entry, key, min(stop, len(entry)))
        return stop >= len(entry)

    def _read_to(self, reader: Reader, space: int, entry: Codes, key: str, stop: int) -> _Values:
        """The values of a key, at least of the rows up to ``stop``."""
        with self._lock:
            values = self._values.get(key)
            if values is None or len(values.rows) < stop:
                values = self._values[key] = _read(reader, space, entry, key, values, stop)
            self._values.move_to_end(key)
            if len(self._values) > MAX_KEYS:
                self._values.popitem(last=False)
            return values


def is_plain(value: JSON) -> bool:
    """Whether a value is one that rows are found by: a text, a number, true, false or null."""
    return value is None or isinstance(value, (str, int, float))


def _literal(value: JSON) -> Literal:
    if isinstance(value, bool) or value is None:
        return json.dumps(value), None
    return ("text", value) if isinstance(value, str) else ("number", value)  # type: ignore[return-value]


def _read(
    reader: Reader, space: int, entry: Codes, key: str, before: _Values | None, stop: int
) -> _Values:
    """The values of a key up to row ``stop``; those that are there already are not read again."""
    codes = {} if before is None else dict(before.codes)
    first = 0 if before is None else len(before.rows)
    rows = entry[first:stop]
    holders = [np.zeros(0, dtype=np.int64)]
    held = [np.zeros(0, dtype=np.int32)]
    # Rows stand about as their entries came: a stretch of these is read faster than a list.
    between = (int(rows.min()), int(rows.max())) if len(rows) else (0, 0)
    for kind, value, seqs in entries.metadata_values(reader, space, key, *between):
        literal = _NUMBERS.get(kind, kind), None if kind in _NAMED else value
        holders.append(seqs)
        held.append(np.full(len(seqs), codes.setdefault(literal, len(codes)), dtype=np.int32))
    more = np.full(stop - first, NONE, dtype=np.int32)
    every = np.concatenate(holders)
    if len(every):
        order = np.argsort(every)
        every, code = every[order], np.concatenate(held)[order]
        places = np.minimum(np.searchsorted(every, rows), len(every) - 1)
        there = every[places] == rows
        more[there] = code[places[there]]
    return _Values(codes, more if before is None else np.concatenate([before.rows, more]))
