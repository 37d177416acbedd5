"""The views as searches see them: relations by name, and marks on texts."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from treering.errors import EntryCorrupt, ViewError
from treering.journal import entries, ledger
from treering.journal.space import Space, SpaceReader
from treering.records import Entry
from treering.search.marks import UNMARKED, Mark, Quote
from treering.search.relations.contract import Plan, Relation
from treering.search.relations.registry import Chosen, choose_plan, load_plan
from treering.views.contract import View, attribute_errors, view_states
from treering.views.tree.search import with_tree

log = logging.getLogger("treering")

Alpha = float | Mapping[str, float]


class Planner:
    """The relations of a space, and those that its ``views`` provide by name."""

    def __init__(self, space: Space, views: Sequence[View]) -> None:
        self._space = space
        self._views = views

    def plan(
        self,
        relations: Chosen | None,
        alpha: Alpha | None,
        *,
        tree: bool = False,
        defaults: Plan | None = None,
    ) -> Plan:
        """The chosen relations with weights. ``tree`` adds the tree relation to the defaults."""
        defaults = self.defaults() if defaults is None else defaults
        others = {
            view.relation_name: cache(partial(_relation_of, view))
            for view in self._views
            if view.relation_name
        }
        # Settings without any relation, as a preset may give them, get none of the tree either.
        if relations is None and tree and any(defaults.values()):
            defaults = with_tree(defaults, others["tree"]())
        return choose_plan(defaults, relations, alpha, others)

    def defaults(self) -> Plan:
        """The shipped relations of each kind of content, or those that ``fit`` found."""
        with self._space.read() as reader:
            return load_plan(ledger.settings(reader))


def _relation_of(view: View) -> Relation:
    with attribute_errors(view):
        relation = view.relation()
    if relation is None:
        raise ViewError(f"view {view.name!r} has no relation {view.relation_name!r} to give")
    return relation


class Marking:
    """The marks of the views of a space."""

    def __init__(self, views: Sequence[View]) -> None:
        self._views = views
        self._stored: frozenset[str] = frozenset()

    def views_with_rows(self, reader: SpaceReader) -> Iterator[View]:
        """The views that have stored anything. Other packages' views may lack tables."""
        if any(view.name not in self._stored for view in self._views):
            self._stored = frozenset(view_states(reader))
        return (view for view in self._views if view.name in self._stored)

    def marks(self, reader: SpaceReader, quotes: Sequence[Quote]) -> list[Mark]:
        """The marks of all views for each quote; if two views differ, the first one wins."""
        marked = [UNMARKED] * len(quotes)
        for view in self.views_with_rows(reader) if quotes else ():
            for place, mark in _marks_of(view, reader, quotes).items():
                marked[place] = marked[place].join(mark)
        return _without_expired(reader, marked)

    def mark_entries(self, reader: SpaceReader, rows: Sequence[tuple[int, Entry]]) -> list[Entry]:
        """Entries, by sequence number, with their marks."""
        marks = self.marks(reader, [Quote.whole(seq, entry) for seq, entry in rows])
        return [
            replace(entry, superseded_by=mark.superseded_by, stale=mark.stale)
            if mark.superseded_by or mark.stale
            else entry
            for (_, entry), mark in zip(rows, marks, strict=True)
        ]


def _without_expired(reader: SpaceReader, marks: list[Mark]) -> list[Mark]:
    """Take back marks by entries that have expired: another thread may be erasing them."""
    statements = [(mark.superseded_by, mark.stale) for mark in marks]
    newer = {statement.entry_id for pair in statements for statement in pair if statement}
    expired = set(entries.expired_seqs(reader, reader.id)) if newer else set()
    if not expired:
        return marks
    gone = {one for one in newer if expired.intersection(entries.seqs_of(reader, reader.id, [one]))}
    return [
        replace(
            mark,
            superseded_by=None if older and older.entry_id in gone else older,
            stale=None if dated and dated.entry_id in gone else dated,
        )
        for mark, (older, dated) in zip(marks, statements, strict=True)
    ]


def _marks_of(view: View, reader: SpaceReader, quotes: Sequence[Quote]) -> Mapping[int, Mark]:
    """The marks of one view, without those that rest on damaged entries, which the log names."""
    try:
        with attribute_errors(view):
            return view.marks(reader, quotes)
    except EntryCorrupt as error:
        if len(quotes) == 1:
            log.warning("a mark of entry %r is left out: %s", quotes[0].entry.id, error)
            return {}
    of_each = (_marks_of(view, reader, [quote]) for quote in quotes)
    return {place: marks[0] for place, marks in enumerate(of_each) if marks}
