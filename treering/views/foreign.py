"""The views of other packages: their entry points, and the tables they name.

They name their tables, so that erasing reaches these where the package is not installed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from treering.errors import ViewError
from treering.journal.contract import Reader
from treering.journal.space import SpaceWriter
from treering.plugins import plugins
from treering.views import progress
from treering.views.contract import Resources, View, ViewFactory, is_foreign
from treering.views.progress import ViewState

GROUP = "treering.views"
"""The entry point group of views of other packages: each names a ``ViewFactory``."""


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


def refuse_equal_names(views: Sequence[View]) -> None:
    """Raises ViewError if two views share a name: they would share their state, too."""
    for name, size in Counter(view.name for view in views).items():
        if size > 1:
            raise ViewError(f"{size} views are called {name!r}; uninstall the package of one")


OWN_TABLES = frozenset(
    (
        *("space", "model", "source", "entry", "work", "spent", "fragment", "gone", "storage"),
        *("code_repository", "code_file", "code_change", "code_relation", "tree", "node", "leaf"),
        *("memo", "memo_version", "memo_line", "serve_key", "reply", "claim", "claim_entry"),
        *("fact_reading", "statement", "unanswered", "body", "label"),
        *("block", "block_rows", "block_postings", "vector_block", "vector_block_data"),
        *("vector_data", "work_error", "intake", "intake_slice", "serve_closed", "reply_shown"),
        *("supersession", "treering_version", "nearest", "secret", "tombstone"),
    )
)
"""Tables that no view of another package has; a file may be anybody's, and names what it likes."""


@contextmanager
def prepared(writer: SpaceWriter, view: View, is_new: bool = True) -> Iterator[None]:
    """Have a view that ``is_new`` to a space make its tables, which it may also do while rows are
    stored.

    Raises ViewError for a table that the view does not name: where the package of the view is
    missing, erased text would stay in it.
    """
    if not is_foreign(view):  # the tables of treering's own views are in the schema
        yield
        return
    before = _columns(writer).keys()
    if is_new:
        view.prepare(writer)
    yield
    there = _columns(writer)
    named = list(map(str.casefold, view.tables))
    if unnamed := sorted(there.keys() - before - set(named)):
        raise ViewError(
            f"view {view.name!r} made {', '.join(unnamed)} and names {list(view.tables)} as its "
            "`tables`; name all of them, so that what is forgotten leaves them where the package "
            "of the view is not installed"
        )
    if bare := [name for name in named if "space" not in there.get(name, ("space",))]:
        raise ViewError(
            f"{', '.join(bare)} of view {view.name!r} has no column `space`; each table of a view "
            "needs one"
        )


def tables_of(view: View, state: ViewState) -> tuple[str, ...]:
    """What is stored as the tables of a view of another package: those that it names, and those
    that an earlier release named.
    """
    return tuple(dict.fromkeys((*state.tables, *view.tables)))


def present(reader: Reader, names: Collection[str]) -> list[str]:
    """Those of some tables of other packages that are there; a view may name one it never made."""
    asked = [name for name in names if name.isidentifier() and name not in OWN_TABLES]
    there = _columns(reader) if asked else {}
    return [name for name in asked if name.casefold() in there]


def unnamed_tables(reader: Reader, views: Sequence[View]) -> list[str]:
    """Return the tables that look like those of a view, and that no view names."""
    named = {table for view in views for table in view.tables} | progress.foreign_tables(reader)
    known = set(map(str.casefold, named | OWN_TABLES))
    return sorted(t for t, of in _columns(reader).items() if t not in known and "space" in of)


def _columns(reader: Reader) -> dict[str, tuple[str, ...]]:
    """The columns of each table; databases take names in capitals and in small letters as one."""
    return {table.name.casefold(): tuple(table.columns) for table in reader.tables()}
