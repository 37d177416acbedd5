"""Conditions on the fragments that only the database can check, each read once.

The values of a key of metadata are a column, read when a filter first names the key. Any other
condition is a mask. Later searches read only the new fragments.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, are_among, without
from treering.journal import entries, filters
from treering.journal.contract import Reader, Value
from treering.journal.filters import KeyValues
from treering.records import JSON, Filter
from treering.search.relations.contract import MISSING, Ints

UNKNOWN: Final = -2  # a value that no row has

MAX_KEYS: Final = 16
"""Keys whose values stay, the latest: each takes four bytes a row, and callers choose the keys."""

DENSE: Final = 4  # entries are dense if their numbers reach over at most so many times as many

Literal = tuple[str, Value]
"""Equal values have the same kind, and the same value from SQLite."""

_NUMBERS: Final = {"integer": "number", "real": "number"}
_NAMED: Final = frozenset({"true", "false", "null"})
"""Kinds that have one value each; SQLite gives numbers for two of them."""

T = TypeVar("T")


@dataclass(slots=True)
class _Values:
    """The value of one key by row: a place in ``codes``, or MISSING for no such key."""

    codes: dict[Literal, int] = field(default_factory=dict)
    rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def extend(self, reader: Reader, space: int, entry: Codes, key: str) -> Ints:
        """Read the values of new rows; return those of all, whose entries are given."""
        new = entry[len(self.rows) :]
        if len(new):
            found = filters.values_between(reader, space, key, int(new.min()), int(new.max()))
            self.rows = np.concatenate([self.rows, self._by_row(found, new)])
        return self.rows[: len(entry)]

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
            return np.full(len(entry), MISSING, dtype=np.int32)
        first, last = int(entry.min()), int(entry.max())
        if last - first < DENSE * len(entry):  # a place for each, and nothing to be sorted
            of_entry = np.full(last - first + 1, MISSING, dtype=np.int32)
            of_entry[found.holders - first] = codes[found.places]
            return of_entry[entry - first]
        order = np.argsort(found.holders)
        holders, held = found.holders[order], codes[found.places[order]]
        there = are_among(entry, holders)
        return np.where(there, held.take(holders.searchsorted(entry), mode="clip"), MISSING)


class Metadata:
    """The values of some keys, and the masks of some conditions, for the rows of one snapshot."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: OrderedDict[str, _Values] = OrderedDict()  # as they were asked for
        self._masks: OrderedDict[str, NDArray[np.bool_]] = OrderedDict()

    def without(self, gone: Codes) -> Metadata:
        """Return the same for a snapshot without some rows, given ascending."""
        result = Metadata()
        with self._lock:
            for key, values in self._values.items():
                rows = without(values.rows, gone[gone < len(values.rows)])
                result._values[key] = _Values(dict(values.codes), rows)
            for name, mask in self._masks.items():
                result._masks[name] = without(mask, gone[gone < len(mask)])
        return result

    def codes(self, reader: Reader, space: int, entry: Codes, key: str) -> Ints:
        """Return the code of the value of each row, by its entry; MISSING for no such key."""
        return self._read(reader, space, entry, key)[0]

    def rows_with(
        self, reader: Reader, space: int, entry: Codes, key: str, value: JSON
    ) -> NDArray[np.bool_]:
        """Return which rows, by their entries, have a value under a key; see ``is_plain``."""
        codes, of_values = self._read(reader, space, entry, key)
        return np.asarray(codes == of_values.get(_literal(value), UNKNOWN))

    def _read(
        self, reader: Reader, space: int, entry: Codes, key: str
    ) -> tuple[Ints, dict[Literal, int]]:
        """Return the code of the value of each row, and the codes of values, which only grow."""
        with self._lock:
            values = _keep_latest(self._values, key, self._values.get(key) or _Values())
            return values.extend(reader, space, entry, key), values.codes

    def matching(
        self, reader: Reader, space: int, entry: Codes, condition: Filter
    ) -> NDArray[np.bool_]:
        """Return which rows, by their entries, meet a condition by the database."""
        name = repr(condition)
        with self._lock:
            mask = self._masks.get(name, np.zeros(0, dtype=np.bool_))
            new = entry[len(mask) :]
            if len(new):
                listed = set(new.tolist()) if len(mask) else None  # of all, without a list of them
                met = np.fromiter(entries.matching_seqs(reader, space, condition, listed), np.int64)
                mask = np.concatenate([mask, are_among(new, met)])
            return _keep_latest(self._masks, name, mask)[: len(entry)]


def _keep_latest(held: OrderedDict[str, T], name: str, value: T) -> T:
    """Hold a value as the latest, without the one that was asked for longest ago."""
    held[name] = value
    held.move_to_end(name)
    if len(held) > MAX_KEYS:
        held.popitem(last=False)
    return value


def is_plain(value: JSON) -> bool:
    """Return whether a value is a text, a number, true, false or null."""
    return value is None or isinstance(value, (str, int, float))


def _literal(value: JSON) -> Literal:
    if isinstance(value, bool) or value is None:
        return json.dumps(value), None
    return ("text", value) if isinstance(value, str) else ("number", value)  # type: ignore[return-value]
