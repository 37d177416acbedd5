"""Metadata of the fragments by key, read from the database when a filter first names the key."""

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
"""Keys whose values stay, the latest: each takes four bytes a row, and callers choose the keys."""

READ_AT_ONCE = 1 << 14
"""A search reads all values of a space of so many rows: that takes no longer than those of the best
few thousand."""

LEAST_READ = 1 << 12
SHARE_READ = 7
"""In a larger space a search reads so many rows, or one in 2⁷, which takes a fraction of it."""

SHARE_MORE: Final = 4
"""A search reads one row more for each 2⁴ that are read already: it has less to look up."""

DENSE: Final = 4  # entries are dense if their numbers reach over at most so many times as many
ALIKE: Final = 4  # entries are alike if at most one in so many has metadata of its own

Literal = tuple[str, Value]
"""Equal values have the same kind, and the same value from SQLite."""

_NUMBERS: Final = {"integer": "number", "real": "number"}
_NAMED: Final = frozenset({"true", "false", "null"})
"""Kinds that have one value each; SQLite gives numbers for two of them."""


@dataclass(slots=True)
class _Values:
    """The value of one key by row: a place in ``codes``, NONE for no such key, or UNREAD.

    All rows before ``done`` are read, and some of the others.
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
        # Rows are about in the order of their entries: a range is read faster than a list.
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
        """Return the codes of the values found, for the entries of some rows."""
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
        """Return the values for a snapshot without some rows, given ascending."""
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

    def rows_with(
        self, reader: Reader, space: int, entry: Codes, key: str, value: JSON
    ) -> NDArray[np.bool_]:
        """Return which rows, by their entries, have a value under a key; see ``is_plain``."""
        with self._lock:
            values = self._values_of(key)
            values.read_to(reader, space, entry, key, len(entry))
            code = values.codes.get(_literal(value), UNREAD)
            return np.asarray(values.rows[: len(entry)] == code)

    def codes(self, reader: Reader, space: int, entry: Codes, key: str) -> Ints:
        """Return the code of the value of each row, by its entry; NONE for no such key."""
        with self._lock:
            values = self._values_of(key)
            values.read_to(reader, space, entry, key, len(entry))
            return values.rows[: len(entry)].copy()

    def some_rows_with(
        self, reader: Reader, space: int, entry: Codes, key: str, value: JSON, rows: Codes
    ) -> NDArray[np.bool_]:
        """Return which of some rows have a value under a key; ``entry`` is that of all rows."""
        with self._lock:
            values = self._values_of(key)
            values.read_some(reader, space, entry, key, rows)
            code = values.codes.get(_literal(value), UNREAD)
            return np.asarray(values.rows[rows] == code)

    def is_read(self, reader: Reader, space: int, entry: Codes, key: str) -> bool:
        """Return whether all values of a key are read; if not, read some more of them."""
        with self._lock:
            values = self._values_of(key)
            size = len(entry)
            part = size if size <= READ_AT_ONCE else _part(size, values.done)
            values.read_to(reader, space, entry, key, min(values.done + part, size))
            return values.done >= size

    def _values_of(self, key: str) -> _Values:
        values = self._values.setdefault(key, _Values())
        self._values.move_to_end(key)
        if len(self._values) > MAX_KEYS:
            self._values.popitem(last=False)
        return values


def _part(size: int, done: int) -> int:
    """Return how many rows of a large space a search reads, after ``done`` of them."""
    return max(LEAST_READ, (size >> SHARE_READ) + 1) + (done >> SHARE_MORE)


def is_plain(value: JSON) -> bool:
    """Return whether a value is a text, a number, true, false or null."""
    return value is None or isinstance(value, (str, int, float))


def _literal(value: JSON) -> Literal:
    if isinstance(value, bool) or value is None:
        return json.dumps(value), None
    return ("text", value) if isinstance(value, str) else ("number", value)  # type: ignore[return-value]
