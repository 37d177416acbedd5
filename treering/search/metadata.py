"""Metadata of the fragments by key, read from the database once somebody filters by the key."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, are_among, without
from treering.journal import filters
from treering.journal.contract import Reader, Value
from treering.journal.filters import KeyValues
from treering.records import JSON
from treering.search.relations.contract import Ints

NONE: Final = -1
UNREAD: Final = -2

MAX_KEYS: Final = 16
"""Keys whose values are kept, those asked for last: each takes four bytes a row, and whoever
searches chooses the keys."""

READ_AT_ONCE = 1 << 14
"""Rows of a space up to which all values are read at once: to read them one after the other takes
no longer than to look for those of the best few thousand."""

LEAST_READ = 1 << 12
SHARE_READ = 7
"""Of a larger space so many rows are read at once, or one row in 2⁷ if that is more: which takes a
fraction of a search."""

SHARE_MORE: Final = 4
"""For each 2⁴ rows whose values are read already, a search reads one row more: it has so much less
to look up, and takes as long as the one before."""

DENSE: Final = 4
"""Entries are dense where their numbers reach over at most so many times as many."""

ALIKE: Final = 4
"""Entries are alike where at most one in so many has metadata of its own."""

Literal = tuple[str, Value]
"""What makes two values equal: their kind, and how SQLite gives them."""

_NUMBERS: Final = {"integer": "number", "real": "number"}
_NAMED: Final = frozenset({"true", "false", "null"})
"""Kinds that have one value each; SQLite gives numbers for two of them."""


@dataclass(slots=True)
class _Values:
    """The value of one key by row: a place in ``codes``, NONE where the key is not there, UNREAD
    where that is not known. All rows before ``done`` are known, and some of the others.
    """

    codes: dict[Literal, int] = field(default_factory=dict)
    rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    done: int = 0
    alike: bool = True

    def extend(self, size: int) -> None:
        """Have so many rows at least."""
        if size > len(self.rows):
            more = np.full(size - len(self.rows), UNREAD, dtype=np.int32)
            self.rows = np.concatenate([self.rows, more])

    def read_to(self, reader: Reader, space: int, entry: Codes, key: str, stop: int) -> None:
        """Read the values of the rows up to ``stop``, whose entries are given."""
        rows = entry[self.done : stop]
        if not len(rows):
            return
        self.extend(stop)
        # Rows stand about as their entries came: a stretch of these is read faster than a list.
        first, last = int(rows.min()), int(rows.max())
        found = filters.values_between(reader, space, key, first, last, alike=self.alike)
        self.alike = ALIKE * found.texts <= len(rows)
        self.rows[self.done : stop] = self._by_row(found, rows)
        self.done = stop

    def read_some(self, reader: Reader, space: int, entry: Codes, key: str, which: Codes) -> None:
        """Read the values of some rows that are not known yet."""
        self.extend(len(entry))
        new = which[self.rows[which] == UNREAD]
        if len(new):
            of_new = entry[new]
            found = filters.values_of(reader, space, key, sorted(set(of_new.tolist())))
            self.rows[new] = self._by_row(found, of_new)

    def _by_row(self, found: KeyValues, entry: Codes) -> Ints:
        """The codes of what was found, for the entries of some rows."""
        literals = [
            (_NUMBERS.get(kind, kind), None if kind in _NAMED else value)
            for kind, value in found.values
        ]
        codes = np.array(
            [self.codes.setdefault(literal, len(self.codes)) for literal in literals],
            dtype=np.int32,
        )
        if not len(found.holders):
            return np.full(len(entry), NONE, dtype=np.int32)
        first, last = int(entry.min()), int(entry.max())
        if last - first < DENSE * len(entry):  # a place for each, and nothing to be sorted
            of_entry = np.full(last - first + 1, NONE, dtype=np.int32)
            of_entry[found.holders - first] = codes[found.places]
            return of_entry[entry - first]
        order = np.argsort(found.holders)
        holders, held = found.holders[order], codes[found.places[order]]
        places = holders.searchsorted(entry)
        there = are_among(entry, holders)
        return np.where(there, held.take(places, mode="clip"), np.int32(NONE))


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
                result._values[key] = replace(
                    values,
                    codes=dict(values.codes),
                    rows=without(values.rows, gone[gone < len(values.rows)]),
                    done=values.done - int(np.searchsorted(gone, values.done)),
                )
        return result

    def meeting(
        self, reader: Reader, space: int, entry: Codes, key: str, value: JSON
    ) -> NDArray[np.bool_]:
        """Which rows, whose entries are given, have a value under a key; see ``is_plain``."""
        with self._lock:
            values = self._of(key)
            values.read_to(reader, space, entry, key, len(entry))
            code = values.codes.get(_literal(value), UNREAD)
            return np.asarray(values.rows[: len(entry)] == code)

    def some_meeting(
        self, reader: Reader, space: int, entry: Codes, key: str, value: JSON, rows: Codes
    ) -> NDArray[np.bool_]:
        """Which of some rows have a value under a key; ``entry`` has those of all rows."""
        with self._lock:
            values = self._of(key)
            values.read_some(reader, space, entry, key, rows)
            code = values.codes.get(_literal(value), UNREAD)
            return np.asarray(values.rows[rows] == code)

    def is_read(self, reader: Reader, space: int, entry: Codes, key: str) -> bool:
        """Whether the values of a key are at hand; if they are not, some more of them are read.

        Reading all of a large space takes as long as some searches. Each filter that asks reads a
        part, until all are there.
        """
        with self._lock:
            values = self._of(key)
            size = len(entry)
            part = size if size <= READ_AT_ONCE else _part(size, values.done)
            values.read_to(reader, space, entry, key, min(values.done + part, size))
            return values.done >= size

    def _of(self, key: str) -> _Values:
        values = self._values.setdefault(key, _Values())
        self._values.move_to_end(key)
        if len(self._values) > MAX_KEYS:
            self._values.popitem(last=False)
        return values


def _part(size: int, done: int) -> int:
    """How many rows of a large space a search reads, after so many."""
    return max(LEAST_READ, (size >> SHARE_READ) + 1) + (done >> SHARE_MORE)


def is_plain(value: JSON) -> bool:
    """Whether a value is one that rows are found by: a text, a number, true, false or null."""
    return value is None or isinstance(value, (str, int, float))


def _literal(value: JSON) -> Literal:
    if isinstance(value, bool) or value is None:
        return json.dumps(value), None
    return ("text", value) if isinstance(value, str) else ("number", value)  # type: ignore[return-value]
