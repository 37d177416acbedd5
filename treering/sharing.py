"""Several spaces of one database in one call: ask them together, copy entries to another one."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Self

from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.forgetting import Forgetting
from treering.ingest.intake import Intake
from treering.journal import entries, storage
from treering.journal.fields import metadata_json, required_name
from treering.journal.space import UNNAMED, WITHHELD, Space, begin
from treering.journal.writing import Draft
from treering.records import JSON, Context, Entry, Filter, Forgotten, Hit, Level, Mode, Receipt
from treering.search.context import CountTokens, Layout
from treering.search.relations.contract import Plan
from treering.search.relations.registry import Chosen
from treering.search.searcher import Search
from treering.search.union import SpaceUnion
from treering.views.choices import SpaceSettings
from treering.views.memos import changes
from treering.views.registry import Views
from treering.views.search_hooks import Alpha

MAX_OPEN: Final = 64
"""Spaces beside one that stay loaded."""

ORIGIN: Final = "shared_from"
"""Metadata of a copy: the name of the space, and the id, of the entry that was shared."""

COPY_BYTES: Final = 12  # of a digest: no two copies of a space share it by chance


@dataclass(frozen=True, slots=True)
class AskedSpaces:
    """The spaces that a call asks, each with its relations; ``settings`` are those of the first."""

    views: Sequence[Views]
    plans: Sequence[Plan]
    settings: SpaceSettings

    @classmethod
    def of_one(cls, views: Views, settings: SpaceSettings) -> Self:
        """Return one space with its own relations; the caller has brought it up to date."""
        plan = views.planner.plan(None, None, tree=settings.level != "texts")
        return cls([views], [plan], settings)

    @property
    def union(self) -> SpaceUnion | None:
        """The spaces as one; None for a single space."""
        if len(self.views) == 1:
            return None
        searchers = [views.searcher for views in self.views]
        return SpaceUnion([*zip(searchers, self.plans, strict=True)])

    def search(
        self,
        queries: Sequence[str],
        k: int,
        condition: Filter,
        mode: Mode,
        level: Level,
        *,
        rounds: bool,
        every: bool,
    ) -> list[list[Hit]]:
        """Return the k best hits for each query, best first, of a ``level`` of one space.

        Without ``rounds`` messages of chats are ranked one by one.
        """
        if (union := self.union) is not None:
            return [union.search(query, k, condition, mode, every=every) for query in queries]
        [views], [plan], settings = self.views, self.plans, self.settings
        if level == "texts":
            unit = settings.chat_unit if rounds else "messages"
            asked = [Search(query, condition, mode, plan, unit) for query in queries]
            return views.searcher.search_many(asked, k, every=every)
        asked = [Search(query, condition, mode, plan) for query in queries]
        return [views.tree._hits(search, k, replace(settings, level=level)) for search in asked]

    def context(
        self,
        query: str,
        condition: Filter,
        mode: Mode,
        budget: int,
        count: CountTokens,
        least: float = 0.0,
        *,
        cites: bool = True,
    ) -> Context:
        """Return passages for a query as the settings say."""
        settings = self.settings
        layout = Layout(settings.k, settings.order, cites)
        if (union := self.union) is not None:
            return union.context(query, condition, mode, budget, count, least, layout)
        [views], [plan] = self.views, self.plans
        search = Search(query, condition, mode, plan, settings.chat_unit)
        if settings.level != "texts":
            return views.tree._nodes(search, budget, count, least, layout, settings)
        return views.searcher.context(search, budget, count, least, layout)

    def best(self, query: str, k: int, condition: Filter, mode: Mode) -> list[Hit]:
        """Return the k best fragments, pinned ones first; whole rounds if the settings say so."""
        if (union := self.union) is not None:
            return [candidate.hit for candidate in union.candidates(query, condition, mode, k)[:k]]
        [views], unit = self.views, self.settings.chat_unit
        search = Search(query, condition, mode, views.planner.defaults(), unit)
        with closing(views.searcher.candidates(search)) as ranked:  # it reads within a transaction
            return [candidate.hit for candidate in islice(ranked, k)]


class SpacesBeside:
    """The spaces of a database as one of them sees them."""

    def __init__(
        self,
        own: Views,
        open_views: Callable[[str], Views] | None = None,
    ) -> None:
        self._own = own
        self._open_views = open_views or self._open
        self._opening = threading.Lock()
        self._opened: OrderedDict[str, Views] = OrderedDict()

    def seen_from(self, views: Views) -> SpacesBeside:
        """Return the spaces as another one of them sees them."""
        return SpacesBeside(views, self.views)

    def views(self, name: str) -> Views:
        """Return the views of a space, which need not exist."""
        return self._own if name == self._own.space.name else self._open_views(name)

    def ask(
        self,
        spaces: Sequence[str] | None,
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        *,
        level: Level | None = None,
    ) -> AskedSpaces:
        """Return the spaces of these names, by default the own one, ready to be asked.

        Beside others, the own one may be new. Raise UnknownName, InputError.
        """
        asked = [self._own]
        if spaces is not None:
            if isinstance(spaces, str) or not spaces:
                raise InputError(f"spaces is {spaces!r}; give a list of names", param="spaces")
            names = dict.fromkeys(required_name(name, "spaces") for name in spaces)
            if len(names) > 1 and level not in (None, "texts"):
                raise InputError(f"level {level!r} is of one space; leave out level or spaces")
            asked = [self.views(name) for name in names if len(names) == 1 or self._is_there(name)]
        planned = [views.catch_up_and_plan(relations, alpha, level=level) for views in asked]
        return AskedSpaces(asked, [plan for plan, _ in planned], planned[0][1])

    def share(self, entry_ids: Sequence[str], to: str) -> tuple[Receipt, Views]:
        """Copy entries to another space, which exists; return its views, too.

        The id of a copy follows from its origin, so that it is stored once and can be found. Its
        source names the own space alone: a path may be private. Raise UnknownName, InputError.
        """
        if isinstance(entry_ids, str) or not entry_ids:
            raise InputError(f"ids is {entry_ids!r}; give a list of ids", param="ids")
        name, target = self._own.space.name, self.views(required_name(to, "to"))
        if target is self._own:
            raise InputError(f"to is {to!r}, the space of the entries; name another", param="to")
        begin(target.space, create=False)  # it raises: a misspelt name must not begin a space
        with self._own.space.read() as reader:
            reader.ensure_there()
            seqs = entries.matching_ids(reader, reader.id, Filter(), entry_ids)
            shared = entries.there(reader, sorted(seqs))
        drafts = [_copy_draft(name, entry) for entry in shared.values()]
        self._note_copies()
        return self._intake(target).copy_in(f"shared/{name}", drafts), target

    def copies(self, entry_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the ids of the copies of entries of the own space, by the space that has them.

        They follow from the ids of the entries, which may be gone.
        """
        own = self._own.space
        ids = json.dumps(sorted(_copy_id(own.name, entry_id) for entry_id in entry_ids))
        found: dict[str, list[str]] = defaultdict(list)
        if own.latest is not None and not own.latest.has_copies:
            return found
        with own.database.read() as reader:
            for name, copy in reader.rows(
                "SELECT s.name, e.id FROM space s JOIN entry e ON e.space = s.id"
                " WHERE s.name <> ? AND e.id IN (SELECT value FROM json_each(?))",
                (own.name, ids),
            ):
                found[str(name).removeprefix(WITHHELD)].append(str(copy))
        return found

    def count_copies(self, entry_ids: Collection[str]) -> int:
        """Return the number of copies of entries of the own space."""
        return sum(map(len, self.copies(entry_ids).values()))

    def forget_copies(self, entry_ids: Collection[str], *, replies: bool) -> list[Forgotten]:
        """Erase the copies of entries. Raise as ``forget`` does."""
        return [
            Forgetting(views.space, views, Filter(), replies).forget(ids)
            for views, ids in (
                (self.views(name), ids) for name, ids in self.copies(entry_ids).items()
            )
        ]

    def note_copies_in(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines of an export, which may have copies that other entries lead to."""
        for line in lines:
            if ORIGIN in line:
                self._note_copies()
            yield line

    def _note_copies(self) -> None:
        with self._own.space.read() as reader:
            is_noted = reader.state.has_copies
        if not is_noted:
            with self._own.space.database.write(UNNAMED) as writer:
                storage.note_copies(writer)

    @staticmethod
    def _intake(views: Views) -> Intake:
        return Intake(views.space, views.eraser)

    def _is_there(self, name: str) -> bool:
        """Return whether a space is another one, or has begun."""
        if name != self._own.space.name:
            return True
        with self._own.space.read() as reader:
            return reader.is_there

    def _open(self, name: str) -> Views:
        """Return the views of a space, opened again if its embedding model has changed."""
        own, space = self._own, Space(self._own.space.database, name)
        with self._opening:
            with space.read() as reader:
                model = reader.model
            views = self._opened.get(name)
            if views is None or (model is not None and model.name != views.embedder.name):
                embedder = own.embedder
                if model is not None and model.name != embedder.name:
                    embedder = open_embedder(model.name)
                views = self._opened[name] = Views(space, embedder, own.account.of_space(space))
            self._opened.move_to_end(name)
            while len(self._opened) > MAX_OPEN:
                self._opened.popitem(last=False)
            return views


def _copy_draft(space: str, entry: Entry) -> Draft:
    """Return the copy of an entry of a space; that of a copy has the first one's origin."""
    changes.refuse(entry.source)
    origin = entry.metadata.get(ORIGIN)
    if not isinstance(origin, dict) or entry.id != _copy_id(**_texts(origin)):
        origin = {"space": space, "id": entry.id}
    identity = _copy_id(**_texts(origin))
    return Draft.from_entry(entry, identity)._replace(
        id=identity,
        metadata=metadata_json({**entry.metadata, ORIGIN: origin}),
        position=None,
        added=None,
        pinned=False,
    )


def _copy_id(space: str, id: str) -> str:
    # A name has no line break, so no two pairs are one text.
    return hashlib.blake2b(f"{space}\n{id}".encode(), digest_size=COPY_BYTES).hexdigest()


def _texts(origin: dict[str, JSON]) -> dict[str, str]:
    return {name: str(origin.get(name)) for name in ("space", "id")}
