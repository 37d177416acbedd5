"""What the engines write differently in SQL, where one statement cannot serve all of them.

Metadata is stored as JSON text, and every engine has functions of its own to look into that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

Param = str | int | float
SqlCondition = tuple[str, list[Param]]
"""A condition with its parameters."""


class Dialect(Protocol):
    """How an engine looks into JSON texts.

    ``alias`` names a row of ``members`` or ``elements``; literals are JSON texts.
    """

    @property
    def in_heap_of_space(self) -> str:
        """The condition, with one parameter, that a row of a heap is of the space of that number.

        A heap is a table whose rows a file overwrites in place. Its rows have no space there: the
        number alone tells them apart, and the condition always holds.
        """
        ...

    @property
    def entry_indexes(self) -> tuple[Sequence[str], Sequence[str]]:
        """Indexes that each lead to all entries of a space, and to all of a source, by which one
        can be checked against the other. None of an engine that checks its own.
        """
        ...

    @property
    def unlocked(self) -> str:
        """What ends a SELECT of rows to be deleted, if those that others hold are left out."""
        ...

    def members(self, text: str, alias: str) -> str:
        """What to select from to get a row for each key of an object; ``alias`` has ``key``."""
        ...

    def elements(self, of: str, alias: str) -> str:
        """What to select from to get a row for each element of an array in a row ``of``."""
        ...

    def kind_and_value(self, alias: str) -> str:
        """Two columns: text, integer, real, true, false, null, array or object; and the value.

        The value is a Python text or number for the first three.
        """
        ...

    def joined(self, numbers: str) -> str:
        """The whole numbers of a group as one text, with commas between them."""
        ...

    def is_array(self, alias: str) -> str:
        """The condition that a value is an array."""
        ...

    def equals(self, alias: str, literal: str) -> SqlCondition:
        """The condition that a value is the literal, in type and content."""
        ...

    def compares(self, alias: str, operator: str, literal: str, *, is_text: bool) -> SqlCondition:
        """The condition that a value is a text, or number, below or above the literal."""
        ...


class SqliteDialect:
    """The JSON functions of SQLite, in which nobody else holds rows."""

    unlocked = ""
    in_heap_of_space = "? IS NOT NULL"
    entry_indexes = (
        ("entry_by_space", "sqlite_autoindex_entry_1"),  # the latter of UNIQUE (space, id)
        ("entry_by_position", "sqlite_autoindex_entry_2"),  # the latter of UNIQUE (source, digest)
    )

    # Equality is that of JSON texts: type and value must agree, since 1 is not true.
    _EQUALS: Final = (
        "CASE {0}.type WHEN 'text' THEN json_quote({0}.value) WHEN 'true' THEN 'true'"
        " WHEN 'false' THEN 'false' WHEN 'null' THEN 'null' ELSE {0}.value END"
        " = CASE WHEN json_type(?) IN ('integer', 'real') THEN json_extract(?, '$')"
        " WHEN json_type(?) = 'text' THEN json_quote(json_extract(?, '$')) ELSE ? END"
    )

    def members(self, text: str, alias: str) -> str:
        """See ``Dialect``."""
        return f"json_each({text}) {alias}"

    def elements(self, of: str, alias: str) -> str:
        """See ``Dialect``."""
        return f"json_each({of}.value) {alias}"

    def kind_and_value(self, alias: str) -> str:
        """See ``Dialect``."""
        return f"{alias}.type, {alias}.value"

    def joined(self, numbers: str) -> str:
        """See ``Dialect``."""
        return f"group_concat({numbers})"

    def is_array(self, alias: str) -> str:
        """See ``Dialect``."""
        return f"{alias}.type = 'array'"

    def equals(self, alias: str, literal: str) -> SqlCondition:
        """See ``Dialect``."""
        return self._EQUALS.format(alias), [literal] * 5

    def compares(self, alias: str, operator: str, literal: str, *, is_text: bool) -> SqlCondition:
        """See ``Dialect``."""
        types = "('text')" if is_text else "('integer', 'real')"
        sql = f"{alias}.type IN {types} AND {alias}.value {operator} json_extract(?, '$')"
        return sql, [literal]
