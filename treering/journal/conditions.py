"""Conditions on metadata as SQL: the value of a key, or a condition that the value meets.

A condition is an object whose keys begin with ``$``, as in other stores: ``{"$in": ["a", "b"]}``,
``{"$gte": 2020, "$lt": 2025}``, ``{"$not": "done"}``. Anything else is the value itself.
In place of a key, ``$or`` and ``$and`` join a list of such objects of keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from treering.errors import FilterError
from treering.journal.contract import Value
from treering.journal.dialect import Dialect
from treering.records import JSON

MAX_INTEGER_BITS: Final = 63  # beyond it SQLite compares rounded numbers
MAX_DEPTH: Final = 8

Clause = tuple[str, list[Value]]

_COMPARISONS: Final = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_OPERATORS: Final = (*_COMPARISONS, "$in", "$contains", "$exists", "$not")
_JOINS: Final = {"$or": " OR ", "$and": " AND "}


def metadata_clause(
    dialect: Dialect, metadata: Mapping[str, JSON], depth: int = MAX_DEPTH
) -> Clause:
    """Return the clause about the metadata of an entry's body ``b``. Raises FilterError.

    ``depth`` is how deep ``$or`` and ``$and`` may nest.
    """
    return _joined(
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
    return _joined(_JOINS[key], [metadata_clause(dialect, part, depth - 1) for part in parts])


def _condition(key: str, part: JSON) -> Mapping[str, JSON]:
    if not isinstance(part, Mapping) or not part:
        raise FilterError(
            f"metadata {key}: {part!r} is not a condition; give objects such as {{'make': 'x'}}"
        )
    return part


def _joined(join: str, clauses: Iterable[tuple[str, Sequence[Value]]]) -> Clause:
    sql, params = zip(*clauses, strict=True)
    return f"({join.join(sql)})", list(chain.from_iterable(params))


@dataclass(frozen=True, slots=True)
class _MetadataKey:
    """A top-level key of metadata, for the clauses about its value."""

    dialect: Dialect
    key: str

    def clause(self, value: JSON, depth: int) -> Clause:
        """What must hold for the value, with conditions nested up to ``depth``."""
        if not _is_condition(self.key, value):
            return self._exists(*self.dialect.equals("m", self._literal(value)))
        assert isinstance(value, Mapping)  # what a condition is
        if not depth:
            raise FilterError(f"metadata {self.key!r}: conditions are nested over {MAX_DEPTH} deep")
        return _joined(
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
            equals, literals = self.dialect.equals("i", self._literal(operand))
            elements = self.dialect.elements("m", "i")
            holds = f"EXISTS (SELECT 1 FROM {elements} WHERE {equals})"
            return self._exists(f"{self.dialect.is_array('m')} AND {holds}", literals)
        return self._comparison(name, operand)

    def _is_one_of(self, values: JSON) -> Clause:
        if not isinstance(values, list) or not values:
            raise FilterError(f"metadata {self.key!r}: $in takes a list of values, not {values!r}")
        clauses = [self.dialect.equals("m", self._literal(value)) for value in values]
        return self._exists(*_joined(" OR ", clauses))

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
