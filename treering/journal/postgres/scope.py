"""Of which space a transaction is: row-level security shows it no rows of others.

It is set anew in every transaction, and ends with it. A transaction without one sees no row of any
space. What concerns all spaces, such as their keys, says so and sees all. The owner of the tables
is bound, too; a superuser, and a role with BYPASSRLS, is not.
"""

from __future__ import annotations

from typing import Final

from psycopg import sql

from treering.journal.postgres.texts import escaped
from treering.journal.space import UNNAMED

ALL: Final = "SELECT set_config('treering.all', 'on', true)"
"""Lets a transaction see the rows of all spaces."""

_OF_SPACE: Final = sql.SQL(
    "SELECT set_config('treering.all', '', true), set_config('treering.name', {name}, true),"
    " set_config('treering.space',"
    " coalesce((SELECT CAST(id AS TEXT) FROM space WHERE name = {name}), ''), true)"
)


def statement(space: str | None) -> str:
    """What puts a transaction into the space of that name, which need not be there yet."""
    if space is None or space == UNNAMED:
        return ALL
    return _OF_SPACE.format(name=sql.Literal(escaped(space))).as_string(None)
