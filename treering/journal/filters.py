"""Filters as SQL: sources, times and names, and conditions on metadata.

A condition on a key of metadata is the value itself, or an object whose keys begin with ``$``, as
in other stores: ``{"$in": ["a", "b"]}``, ``{"$gte": 2020, "$lt": 2025}``, ``{"$not": "done"}``. In
place of a key, ``$or`` and ``$and`` join a list of such objects of keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Final

import numpy as np

from treering.arrays import Codes
from treering.errors import FilterError
from treering.journal import sources
from treering.journal.contract import Dialect, Reader, Value
from treering.journal.stored import micros
from treering.records import JSON, KINDS, Filter

MAX_INTEGER_BITS: Final = 63  # beyond it SQLite compares rounded numbers
MAX_DEPTH: Final = 8

Clause = tuple[str, list[Value]]

_COMPARISONS: Final = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_OPERATORS: Final = (*_COMPARISONS, "$in", "$contains", "$exists", "$not")
_JOINS: Final = {"$or": " OR ", "$and": " AND "}


def _clock(bound: datetime | None) -> str:
    """Return the time of an entry in UTC, or on its own clock for a bound without a zone."""
    is_local = bound is not None and bound.tzinfo is None
    return "(e.at + e.zone * 60000000)" if is_local else "e.at"


def compile_filter(
    condition: Filter, dialect: Dialect, space: int | None = None
) -> tuple[str, list[Value]]:
    """A filter as SQL conditions on the tables of ``stored.FROM``, each starting with AND.

    With a ``space`` the entries of a source are found by its number. Without one the database reads
    entry after entry, in an order that needs no sorting for a page.

    Raises FilterError for a condition that makes no sense.
    """
    if condition.kind is not None and condition.kind not in KINDS:
        raise FilterError(f"kind is {condition.kind!r}; it can be {', '.join(KINDS)}", param="kind")
    since = micros(condition.since) if condition.since else None
    until = micros(condition.until) if condition.until else None
    if since is not None and until is not None and since >= until:
        raise FilterError(f"since ({condition.since}) must be before until ({condition.until})")
    columns: list[tuple[str, Value]] = [
        ("b.speaker = ?", condition.speaker),
        ("b.session = ?", condition.session),
        ("e.kind = ?", condition.kind),
        (f"{_clock(condition.since)} >= ?", since),
        (f"{_clock(condition.until)} < ?", until),
        ("coalesce(e.at, e.added) <= ?", micros(condition.as_of) if condition.as_of else None),
        ("(e.expires IS NULL OR e.expires > ?)", micros(datetime.now(UTC))),
    ]
    clauses: list[tuple[str, list[Value]]] = [
        (clause, [value]) for clause, value in columns if value is not None
    ]
    if condition.source is not None:
        clause, params = sources.source_clause(condition.source)
        if space is not None:
            clause = f"e.source IN (SELECT s.id FROM source s WHERE s.space = ? AND {clause})"
            params = [space, *params]
        clauses.append((clause, params))
    if condition.metadata:
        clauses.append(_metadata_clause(dialect, condition.metadata))
    if condition.omit:
        listed = json.dumps(sorted(condition.omit))
        clauses.append(("e.id NOT IN (SELECT value FROM json_each(?))", [listed]))
    sql = "".join(f" AND {clause}" for clause, _ in clauses)
    return sql, [param for _, params in clauses for param in params]


def _metadata_clause(
    dialect: Dialect, metadata: Mapping[str, JSON], depth: int = MAX_DEPTH
) -> Clause:
    """Return the clause about the metadata of an entry's body ``b``. Raises FilterError.

    ``depth`` is how deep ``$or`` and ``$and`` may nest.
    """
    return _join(
        " AND ", [_key_clause(dialect, key, value, depth) for key, value in metadata.items()]
    )


def _key_clause(dialect: Dialect, key: str, value: JSON, depth: int) -> Clause:
    """Return the clause of one top-level key, or of ``$or`` or ``$and``."""
    if not isinstance(key, str) or not key:
        raise FilterError(f"metadata key {key!r}; it must be a text that is not empty")
    if not key.startswith("$"):
        return _MetadataKey(dialect, key).clause(value, MAX_DEPTH)
    if key not in _JOINS:
        raise FilterError(
            f"metadata key {key!r}; of keys that begin with $ there are {', '.join(_JOINS)}"
        )
    if not isinstance(value, list) or not value:
        raise FilterError(f"metadata {key} takes a list of conditions, not {value!r}")
    if not depth:
        raise FilterError(f"metadata {key}: conditions are nested over {MAX_DEPTH} deep")
    parts = [_condition(key, part) for part in value]
    return _join(_JOINS[key], [_metadata_clause(dialect, part, depth - 1) for part in parts])


def _condition(key: str, part: JSON) -> Mapping[str, JSON]:
    if not isinstance(part, Mapping) or not part:
        raise FilterError(
            f"metadata {key}: {part!r} is not a condition; give objects such as {{'make': 'x'}}"
        )
    return part


def _join(join: str, clauses: Iterable[tuple[str, Sequence[Value]]]) -> Clause:
    sql, params = zip(*clauses, strict=True)
    return f"({join.join(sql)})", list(chain.from_iterable(params))


@dataclass(frozen=True, slots=True)
class _MetadataKey:
    """A top-level key of metadata, for the clauses about its value."""

    dialect: Dialect
    key: str

    def clause(self, value: JSON, depth: int) -> Clause:
        """Return the clause about the value, with conditions nested up to ``depth``."""
        if not _is_condition(self.key, value):
            return self._exists(*self.dialect.equals("m", self._literal(value)))
        assert isinstance(value, Mapping)  # what a condition is
        if not depth:
            raise FilterError(f"metadata {self.key!r}: conditions are nested over {MAX_DEPTH} deep")
        return _join(
            " AND ", [self._operation(name, operand, depth) for name, operand in value.items()]
        )

    def _operation(self, name: str, operand: JSON, depth: int) -> Clause:
        if name == "$not":
            inner, params = self.clause(operand, depth - 1)
            return f"NOT {inner}", params
        if name == "$exists":
            if not isinstance(operand, bool):
                raise FilterError(
                    f"metadata {self.key!r}: $exists takes true or false, not {operand!r}"
                )
            inner, params = self._exists("1 = 1", [])
            return (inner if operand else f"NOT {inner}"), params
        if name == "$in":
            return self._is_one_of(operand)
        if name == "$contains":
            return self._exists(*self.dialect.holds("m", self._literal(operand)))
        return self._comparison(name, operand)

    def _is_one_of(self, values: JSON) -> Clause:
        if not isinstance(values, list) or not values:
            raise FilterError(f"metadata {self.key!r}: $in takes a list of values, not {values!r}")
        clauses = [self.dialect.equals("m", self._literal(value)) for value in values]
        return self._exists(*_join(" OR ", clauses))

    def _comparison(self, name: str, operand: JSON) -> Clause:
        """A range of numbers, or of texts: dates in ISO 8601 are in order as texts."""
        if isinstance(operand, bool) or not isinstance(operand, int | float | str):
            raise FilterError(
                f"metadata {self.key!r}: {name} takes a number or a text, not {operand!r}"
            )
        literal, is_text = self._literal(operand), isinstance(operand, str)
        operator = _COMPARISONS[name]
        return self._exists(*self.dialect.compares("m", operator, literal, is_text=is_text))

    def _exists(self, condition: str, params: Sequence[Value]) -> Clause:
        members = self.dialect.members("b.metadata", "m")
        sql = f"EXISTS (SELECT 1 FROM {members} WHERE m.key = ? AND {condition})"
        return sql, [self.key, *params]

    def _literal(self, value: JSON) -> str:
        """A value as JSON text."""
        if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
            raise FilterError(
                f"metadata {self.key!r}: {value} has over 64 bits; keep such numbers as texts"
            )
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _is_condition(key: str, value: JSON) -> bool:
    """Whether a value is a condition. Raises FilterError for one of an unknown kind."""
    if not isinstance(value, Mapping) or not any(str(name).startswith("$") for name in value):
        return False
    unknown = [name for name in value if name not in _OPERATORS]
    if unknown:
        raise FilterError(
            f"metadata {key!r}: no condition {unknown[0]!r}; there are {', '.join(_OPERATORS)}"
        )
    return True


@dataclass(frozen=True, slots=True)
class KeyValues:
    """The values of entries under a key of their metadata.

    ``values`` are kinds and values as the database gives them; ``holders``, shape (n,), the entries
    that have one, and ``places`` its place in ``values`` for each.
    """

    values: list[tuple[str, Value]]
    holders: Codes
    places: Codes


def values_between(reader: Reader, space: int, key: str, first: int, last: int) -> KeyValues:
    """Return the values of the entries from one sequence number to another under a key.

    The database decides the kind of a value, as in a filter.
    """
    rows = reader.rows(
        f"SELECT {reader.dialect.kind_and_value('m')}, {reader.dialect.join('e.seq')}"
        f" FROM entry e JOIN body b ON b.id = e.body, {reader.dialect.members('b.metadata', 'm')}"
        " WHERE e.space = ? AND e.seq BETWEEN ? AND ? AND m.key = ? GROUP BY 1, 2",
        (space, first, last, key),
    )
    values: list[tuple[str, Value]] = []
    seqs: list[str] = []
    for kind, value, of_value in rows:
        values.append((str(kind), value))
        seqs.append(of_value)
    # One list of all: there may be as many values as entries.
    holders = np.fromstring(",".join(seqs), np.int64, sep=",") if seqs else np.zeros(0, np.int64)
    sizes = [of_value.count(",") + 1 for of_value in seqs]
    return KeyValues(values, holders, np.repeat(np.arange(len(values)), sizes))
