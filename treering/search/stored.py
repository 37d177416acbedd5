"""Columns and conditions that only the database knows, each read when a search first needs it.

The values of a key of metadata are a column. A condition that no column tells is a mask. Later
searches read only the new fragments.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, are_among, without
from treering.journal import entries, filters, sources
from treering.journal.contract import Reader, Value
from treering.journal.filters import KeyValues
from treering.journal.space import Space
from treering.records import JSON, Filter
from treering.search.lexical import Lexical
from treering.search.relations.contract import MISSING, Ints, Labels, StoredColumns
from treering.search.terms import terms

UNKNOWN: Final = -2  # a value that no row has

LEAST_LETTERS: Final = 4  # of the name of a source that a text can cite

MOST_CITING: Final = 2_000
"""Items that say the rarest word of a name. One that more say is no citation of a source."""

MOST_CHARS: Final = 1 << 20  # of a text that may cite sources

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


@dataclass(frozen=True, slots=True)
class SpaceColumns:
    """See ``StoredColumns``, of the fragments of a space."""

    space: Space
    entry: Codes
    document: Labels
    lexical: Lexical
    metadata: Metadata

    def values(self, key: str) -> Labels:
        """See ``StoredColumns``."""
        with self.space.read() as reader:
            return self.metadata.codes(reader, reader.id, self.entry, key)

    def citations(self) -> tuple[Codes, Codes]:
        """See ``StoredColumns``. A text cites a source by its name or the end of its path."""
        with self.space.read() as reader:
            shown = sources.shown_names(reader, set(np.unique(self.document).tolist()))
            names = [(number, name) for number, full in shown.items() for name in _names(full)]
            phrases = [np.unique(terms(name)[:, 0]) for _, name in names]
            said = [at for at, phrase in enumerate(phrases) if len(phrase)]
            holders = self.lexical.holders([phrases[at] for at in said], MOST_CITING)
            rows = np.unique(np.concatenate([[], *(rows for rows, _ in holders)]).astype(np.int64))
            texts = entries.beginnings(reader, self.entry[rows].tolist(), MOST_CHARS)
        pairs: list[tuple[int, int]] = []
        for at, (candidates, _) in zip(said, holders, strict=True):
            number, name = names[at]
            whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
            pairs += [
                (row, number)
                for row in candidates.tolist()
                if whole.search(texts.get(int(self.entry[row]), ""))
            ]
        citing, cited = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return citing, cited


def _names(source: str) -> set[str]:
    """Return the names that cite a source: the whole, and the end of a path."""
    names = {source, source.rstrip("/").rpartition("/")[2]}
    return {name for name in names if len(name) >= LEAST_LETTERS}


@dataclass(frozen=True, slots=True)
class GroupColumns:
    """See ``StoredColumns``, of ``size`` items of which the first have groups of others.

    A group has the value of its first member that is there, and cites what any member cites.
    """

    members: StoredColumns
    group_of: Codes
    size: int

    def values(self, key: str) -> Labels:
        """See ``StoredColumns``."""
        of_members = self.members.values(key)
        there = np.flatnonzero(of_members != MISSING)[::-1]
        codes = np.full(self.size, MISSING, dtype=np.int64)
        codes[self.group_of[there]] = of_members[there]  # the first one is written last
        return codes

    def citations(self) -> tuple[Codes, Codes]:
        """See ``StoredColumns``."""
        citing, cited = self.members.citations()
        return self.group_of[citing], cited
