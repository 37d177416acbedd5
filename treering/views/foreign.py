"""The views of other packages: their entry points, and the names of their tables.

The tables of view NAME are ``view_NAME`` and ``view_NAME_...``, so that erasing reaches them where
the package is not installed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from treering.errors import ViewError
from treering.journal.contract import Reader
from treering.journal.space import SpaceWriter
from treering.journal.storage import FOREIGN
from treering.plugins import plugins
from treering.views.contract import Resources, View, ViewFactory, is_foreign

GROUP: Final = "treering.views"
"""The entry point group of views of other packages: each names a ``ViewFactory``."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*")
"""Without "_": the tables of one view would else pass for those of another."""


def views_of_other_packages(resources: Resources) -> Iterator[View]:
    """A view of each, in the order of their names. Raises ViewError for one that cannot be made."""
    for entry_point in sorted(plugins(GROUP), key=lambda point: point.name):
        try:
            factory: ViewFactory = entry_point.load()
            view = factory(resources)
        except Exception as error:
            raise ViewError(
                f"view {entry_point.name!r} cannot be made: {type(error).__name__}: {error}; mend "
                "or uninstall the package that brings it"
            ) from error
        yield view


def check_names(views: Sequence[View]) -> None:
    """Raise ViewError if two views share a name, and thereby their state, or one has a bad name."""
    for name, size in Counter(view.name for view in views).items():
        if size > 1:
            raise ViewError(f"{size} views are called {name!r}; uninstall the package of one")
        if not _NAME.fullmatch(name):
            raise ViewError(
                f"a view is called {name!r}; a name has small letters and digits, such as 'orders'"
            )


@contextmanager
def prepare_tables(writer: SpaceWriter, view: View, is_new: bool = True) -> Iterator[None]:
    """Have a view that ``is_new`` to a space make its tables, or make them in the block.

    Raise ViewError for a table that has another name, or no column ``space``: where the package of
    the view is missing, erased text would stay in it.
    """
    if not is_foreign(view):  # the tables of treering's own views are in the schema
        yield
        return
    before = {table.name for table in writer.tables()}
    if is_new:
        view.prepare(writer)
    yield
    own = f"{FOREIGN}{view.name}"
    for table in writer.tables():
        if table.name in before:
            continue
        if not _is_table_of(view.name, table.name):
            raise ViewError(
                f"view {view.name!r} made table {table.name}; call it {own} or {own}_..., so that "
                "what is forgotten leaves it where the package of the view is not installed"
            )
        if "space" not in table.columns:
            raise ViewError(f"{table.name} of view {view.name!r} needs a column `space`")


def tables_of(reader: Reader, name: str = "") -> list[str]:
    """The tables of the view of that name, or of all views of other packages."""
    tables = (table.name for table in reader.tables(f"{FOREIGN}{name}"))
    return sorted(table for table in tables if _is_table_of(name or _NAME.pattern, table))


def _is_table_of(name: str, table: str) -> bool:
    """Whether a table has a name that a view may give: no other is put into a statement, as a file
    may be anybody's.
    """
    return re.fullmatch(rf"{FOREIGN}{name}(_[a-z0-9_]+)?", table) is not None
