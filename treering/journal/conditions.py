"""Conditions on metadata as SQL: a value that a key must have, or what holds for it.

A condition is an object whose keys begin with ``$``, as in other stores: ``{"$in": ["a", "b"]}``,
``{"$gte": 2020, "$lt": 2025}``, ``{"$not": "done"}``. Anything else is the value itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from treering.errors import FilterError
from treering.journal.contract import Value
from treering.records import JSON

MAX_INTEGER_BITS: Final = 63  # beyond it SQLite compares rounded numbers
MAX_DEPTH: Final = 8

Clause = tuple[str, list[Value]]

_COMPARISONS: Final = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_OPERATORS: Final = (*_COMPARISONS, "$in", "$contains", "$exists", "$not")

# Equality is that of JSON texts: type and value must agree, since 1 is not true.
_EQUALS: Final = (
    "CASE {0}.type WHEN 'text' THEN json_quote({0}.value) WHEN 'true' THEN 'true'"
    " WHEN 'false' THEN 'false' WHEN 'null' THEN 'null' ELSE {0}.value END"
    " = CASE WHEN json_type(?) IN ('integer', 'real') THEN json_extract(?, '$')"
    " WHEN json_type(?) = 'text' THEN json_quote(json_extract(?, '$')) ELSE ? END"
)


def metadata_clause(key: str, value: JSON) -> Clause:
    """What must hold for one top-level key of what an entry says, ``b``. Raises FilterError."""
    if not isinstance(key, str) or not key:
        raise FilterError(f"metadata key {key!r}; it must be a text that is not empty")
    return _clause(key, value, MAX_DEPTH)


def _clause(key: str, value: JSON, depth: int) -> Clause:
    if not _is_condition(key, value):
        return _exists(key, _EQUALS.format("m"), _literals(key, value))
    assert isinstance(value, Mapping)  # what a condition is
    if not depth:
        raise FilterError(f"metadata {key!r}: conditions are nested over {MAX_DEPTH} deep")
    clauses = [_operation(key, name, operand, depth) for name, operand in value.items()]
    sql = " AND ".join(clause for clause, _ in clauses)
    return f"({sql})", [param for _, params in clauses for param in params]


def _operation(key: str, name: str, operand: JSON, depth: int) -> Clause:
    if name == "$not":
        inner, params = _clause(key, operand, depth - 1)
        return f"NOT {inner}", params
    if name == "$exists":
        if not isinstance(operand, bool):
            raise FilterError(f"metadata {key!r}: $exists takes true or false, not {operand!r}")
        inner, params = _exists(key, "1", [])
        return (inner if operand else f"NOT {inner}"), params
    if name == "$in":
        if not isinstance(operand, list) or not operand:
            raise FilterError(f"metadata {key!r}: $in takes a list of values, not {operand!r}")
        any_of = " OR ".join(_EQUALS.format("m") for _ in operand)
        return _exists(key, f"({any_of})", [p for value in operand for p in _literals(key, value)])
    if name == "$contains":
        holds = f"EXISTS (SELECT 1 FROM json_each(m.value) i WHERE {_EQUALS.format('i')})"
        condition = f"m.type = 'array' AND {holds}"
        return _exists(key, condition, _literals(key, operand))
    return _comparison(key, name, operand)


def _comparison(key: str, name: str, operand: JSON) -> Clause:
    """A range of numbers, or of texts: dates in ISO 8601 are in order as texts."""
    if isinstance(operand, bool) or not isinstance(operand, int | float | str):
        raise FilterError(f"metadata {key!r}: {name} takes a number or a text, not {operand!r}")
    types = "('text')" if isinstance(operand, str) else "('integer', 'real')"
    literal = _literals(key, operand)[0]
    condition = f"m.type IN {types} AND m.value {_COMPARISONS[name]} json_extract(?, '$')"
    return _exists(key, condition, [literal])


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


def _exists(key: str, condition: str, params: list[Value]) -> Clause:
    sql = f"EXISTS (SELECT 1 FROM json_each(b.metadata) m WHERE m.key = ? AND {condition})"
    return sql, [key, *params]


def _literals(key: str, value: JSON) -> list[Value]:
    """The parameters of ``_EQUALS``."""
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        raise FilterError(f"metadata {key!r}: {value} has over 64 bits; keep such numbers as texts")
    literal = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return [literal] * 5
