"""The views of one space: the list of them, and the loops over it."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treering.embed.contract import Embedder
from treering.errors import (
    EmbeddingError,
    InputError,
    JournalCorrupt,
    JournalError,
    LLMError,
    MissingExtra,
    ViewError,
)
from treering.journal import blocks, entries, ledger, storage, vector_blocks
from treering.journal.space import Space, SpaceReader
from treering.llm.account import ModelAccount
from treering.records import Filter, Hit, Level, Progress, Stats
from treering.search.relations.contract import Plan
from treering.search.relations.registry import (
    CONFIGURED,
    Chosen,
    FitReport,
    Suggestion,
    load_plan,
    with_fitted,
)
from treering.search.searcher import Search, Searcher
from treering.search.snapshot import FragmentSource
from treering.views import presets, settings
from treering.views.choices import SpaceSettings
from treering.views.code.rounds.changes import CodeChanges
from treering.views.contract import Resources, View, attribute_errors
from treering.views.erase import Eraser
from treering.views.facts.extract import FactExtractor
from treering.views.facts.store import newer_entries
from treering.views.facts.view import Facts, FactView
from treering.views.follow import Follower
from treering.views.foreign import check_names, views_of_other_packages
from treering.views.fragments import store
from treering.views.fragments.build import Fragments
from treering.views.fragments.cut import Deriver
from treering.views.fragments.table import Table
from treering.views.memos.view import MemoRows, MemoView
from treering.views.search_hooks import Alpha, Marking, Planner
from treering.views.settle import Settler, outdated_views
from treering.views.tree import store as tree_store
from treering.views.tree.view import Summaries, TreeView

if TYPE_CHECKING:
    from treering.views.code.memory import CodeMemory
    from treering.views.fit import Scoring

log = logging.getLogger("treering")

CATCH_UP_ENTRIES = 256
CATCH_UP_BYTES = 1 << 17
"""A search first indexes up to this many entries that a crash left, and so much text: some seconds
of work. If more is pending, the search logs a warning and does not wait."""

BUILD_PATIENCE_S = 2.0
"""An add waits no longer for another thread or process to index; ``Receipt.pending`` says what is
left."""


class Views:
    """Fragments with their relations, facts, tree, memos, code, and the views of other packages."""

    def __init__(
        self,
        space: Space,
        embedder: Embedder,
        account: ModelAccount,
        code_roots: Sequence[Path] | None = None,
    ) -> None:
        self.account = account
        self._code_roots = code_roots
        self._space = self.space = space
        self.embedder = embedder
        self._erasing = threading.Lock()
        self._opening_code = threading.Lock()
        self._code: CodeMemory | None = None
        self._views: list[View] = []
        self.eraser = Eraser(space, self._views)
        self.marking = Marking(self._views)
        self.planner = Planner(space, self._views)

        def current() -> Embedder:
            return self.embedder

        self._corpus = _corpus(space)
        self.searcher = Searcher(space, self._corpus, current, self.marking.marks, newer_entries)
        resources = Resources(
            space=space,
            embedder=current,
            llm=account.llm,
            has_llm=lambda: account.has_model,
            search=self.searcher,
            marks=self.marking.marks,
            defaults=self.planner.defaults,
            catch_up=self.catch_up,
            erase_expired=self.erase_expired,
        )
        self.facts = FactView(resources)
        self.memos = MemoView(resources)
        self._tree = TreeView(resources)
        self._fragments = Fragments(space, current)
        summaries = Summaries(self._tree, lambda: self.tree, resources.has_llm)
        self._views += [
            self._fragments,
            summaries,
            MemoRows(self.memos, resources.has_llm),
            Facts(FactExtractor(space, account.llm), resources.has_llm),
            CodeChanges(),
            *views_of_other_packages(resources),
        ]
        check_names(self._views)
        self._fragments.dependents = [summaries]
        self._follower = Follower(space, self._views, self._fragments)
        self.settler = Settler(space, self._views, self._follower, self._corpus)

    @property
    def code(self) -> CodeMemory:
        """The code of the space. Its parsers, graphs and guard are imported when it is first used:
        that takes as long as all that an add and a search need."""
        from treering.views.code.memory import CodeMemory

        with self._opening_code:
            if self._code is None:
                self._code = CodeMemory(
                    self._space,
                    self.embedder,
                    self.build,
                    self.eraser,
                    self._beside_code,
                    self.account,
                    self._code_roots,
                )
            return self._code

    @property
    def tree(self) -> TreeView:
        """The tree, grown by the texts since its last use.

        What the disk cannot do now is done by the next use or ``settle``. Raises UnknownName.
        """
        return self.tree_so_far(None)

    def tree_so_far(self, seconds: float | None) -> TreeView:
        """The tree, grown for about so many seconds at most; None: until it has everything.

        Raises UnknownName for a space that is not there.
        """
        with self._space.read() as reader:
            reader.ensure_there()
        self.erase_expired()
        try:
            self._tree._grower.grow(seconds)
        except JournalError as error:
            log.warning("the tree is delayed; settle() retries: %s", error)
        return self._tree

    # ------------------------------------------------------------------ keeping up to date

    def build(self, progress: Progress | None = None, *, added: int = 0, wait: bool = True) -> None:
        """Let all views read the journal.

        Work that the embedder or the disk fails stays queued.

        One thread builds until nothing is left, so that threads adding at the same time find their
        entries indexed, many in one batch. After a few seconds the rest is left pending if it is
        more than the caller has ``added``: another process takes in much, and indexes it. Failures
        are logged, not raised: the entries are durable already, and an error would suggest that
        they are not. Raises JournalCorrupt.
        """
        patience_s = BUILD_PATIENCE_S if wait else 0
        if not self._follower.turn.acquire(timeout=patience_s):
            return
        until = time.monotonic() + BUILD_PATIENCE_S
        try:
            with _log_delays("index"):
                self._follower.follow(
                    progress,
                    patience_s=patience_s,
                    leave=lambda: (
                        time.monotonic() > until
                        and self._fragments.deriver is None
                        and self.count_pending() > added
                    ),
                )
        finally:
            self._follower.turn.release()

    @contextmanager
    def deriving_with(self, deriver: Deriver) -> Iterator[None]:
        """Have entries cut and embedded by others than this process, while the block lasts."""
        self._fragments.deriver = deriver
        try:
            yield
        finally:
            self._fragments.deriver = None

    def catch_up(self, *, begins: bool = False) -> None:
        """Index what is left before a search; if that is too much, log a warning instead.

        Raises UnknownName for a space that is not there, unless the caller ``begins`` one.
        """
        with self._space.read() as reader:
            if not begins:
                reader.ensure_there()
            fresh, expired = self._fresh(reader), bool(entries.expired_seqs(reader, reader.id))
        if expired:
            self.erase_expired()
        self._index(fresh)

    def catch_up_and_plan(
        self,
        relations: Chosen | None,
        alpha: Alpha | None,
        *,
        level: Level | None = None,
    ) -> tuple[Plan, SpaceSettings]:
        """``catch_up`` and ``plan`` in one read transaction, with the settings of the space.

        The tree relation is among the defaults where the ``level`` has summaries; None is the level
        of the settings. Raises UnknownName.
        """
        with self._space.read() as reader:
            reader.ensure_there()
            stored = ledger.settings(reader)
            fresh, defaults = self._fresh(reader), load_plan(stored)
            expired = bool(entries.expired_seqs(reader, reader.id))
            self.searcher.expect(reader.model)
        now = settings.choices_of(stored)
        tree = (level or now.level) != "texts"
        if expired:
            # A search among texts leaves it out anyway; a summary may still hold its words.
            self.erase_expired(alone=not tree)
        self._index(fresh)
        return self.planner.plan(relations, alpha, tree=tree, defaults=defaults), now

    def erase_expired(self, *, alone: bool = False) -> None:
        """Erase the entries whose time has passed. Their bytes go with the next ``settle``.

        What the disk cannot do now is done by the next use. With ``alone``, nothing is done while
        another thread does it, which may have to wait for who is writing.
        """
        if not self._erasing.acquire(blocking=not alone):
            return
        try:
            with self._space.read() as reader:
                expired = entries.expired_seqs(reader, reader.id)
            if expired:
                with self._space.write() as writer:
                    self.eraser.erase(writer, entries.expired_seqs(writer, writer.id))
        except JournalCorrupt:
            raise
        except JournalError as error:
            log.warning("expired entries are not erased yet: %s", error)
        finally:
            self._erasing.release()

    def _fresh(self, reader: SpaceReader) -> int:
        """Entries and fragments that a search would miss."""
        embed = [model.work for model in reader.state.models]
        unread = self._follower.unread(reader, untried=True, also=embed)
        return sum(unread.get(kind, 0) for kind in (Fragments.name, *embed))

    def _index(self, fresh: int) -> None:
        """Index so many entries and fragments, unless a search should not wait for it."""
        is_quick = 0 < fresh <= CATCH_UP_ENTRIES
        if is_quick:
            with self._space.read() as reader:
                unread = self._follower.unread_bytes(reader, Fragments.name)
            is_quick = unread <= CATCH_UP_BYTES
        if is_quick:
            self.build(wait=False)  # another thread that builds now has later entries
        elif fresh:
            log.warning(
                "%d entries or fragments of space %r are not indexed yet and may be missed; "
                "settle() indexes them",
                fresh,
                self._space.name,
            )

    def settle_round(self, source: str, *, writes_memos: bool) -> None:
        """Write the memos of a conversation that are due; settle a tree that does so each time.

        Failed work stays queued.
        """
        if writes_memos:
            with _log_delays("memos"):
                self.memos.settle(source=source)
        if self._tree._grower.settings().tree_settle == "each":
            with _log_delays("summaries"):
                self._tree.settle()

    def count_pending(self) -> int:
        """Entries that are durable but not fully searchable yet."""
        with self._space.read() as reader:
            model = reader.model and reader.model.work
            unread = self._follower.unread(reader, also=[model] if model else [])
            is_embedded = model is not None and model not in unread
            unfinished = 0 if is_embedded else store.count_unfinished(reader)
            return unread.get(self._fragments.name, 0) + unfinished

    def stats(self, size: int) -> Stats:
        """Counts, the model, pending work by kind, views whose rebuild is due, and costs."""
        with self._space.read() as reader:
            model = reader.model
            counts = ledger.counts(reader)
            pending = Counter(self._behind(reader))
            for view in self.marking.views_with_rows(reader):
                with attribute_errors(view):
                    pending.update(view.pending(reader))
            pending[storage.SCRUB] = int(self.eraser.is_scrub_due(reader))
            return Stats(
                space=self._space.name,
                entries=counts["entry"],
                sources=counts["source"],
                fragments=blocks.count(reader, reader.id),
                embedded=vector_blocks.count(reader, reader.id, model) if model else 0,
                pending={kind: size for kind, size in sorted(pending.items()) if size},
                model=model.name if model else None,
                dimension=model.dimension if model else None,
                bytes=size,
                spent=ledger.spent(reader, reader.id),
                outdated=tuple(view.name for view in outdated_views(self._views, reader)),
                text_bytes=ledger.read_size(reader).bytes,
                quota=self._space.database.quota.limits(),
                code_files=counts["code_file"],
            )

    def reembed(self, model: Embedder, progress: Progress | None) -> None:
        """Embed everything with another model. Searches use it when that is complete."""
        self._fragments.reembed(model, progress)
        with self._opening_code:
            self.embedder = model
            code = self._code
        if code is not None:
            code._use(model)

    # ------------------------------------------------------------------ giving back

    def fit(self, progress: Progress | None) -> list[FitReport]:
        """Choose relations and weights from the space's own text, and keep them."""
        from treering.views.fit import fit  # here, as nothing else needs its trials

        with self._space.read() as reader:
            stored = ledger.settings(reader)
            plan, configured = load_plan(stored), stored.get(CONFIGURED, {})
            scoring = self._scoring(reader, progress)
            reports = fit(reader, scoring, self.embedder, plan, configured)
        with self._space.write() as writer:
            before = ledger.settings(writer)
            ledger.save_settings(writer, with_fitted(before, reports))
        return reports

    def suggest_relations(self, progress: Progress | None) -> list[Suggestion]:
        """Relations that the language model proposes, kept if they rank better."""
        from treering.views.suggest import suggest

        trials = partial(self._scoring, progress=progress)
        return suggest(self._space, trials, self.embedder, self.account)

    def configure(self, preset: str | None, choices: Mapping[str, object]) -> SpaceSettings:
        """The settings of the space, changed if anything is given. The next ``settle`` derives
        again the rows that depend on them; the tree is rebuilt when it is used.

        Raises UnknownName, InputError; nothing is changed then.
        """
        given = {name: value for name, value in choices.items() if value is not None}
        with self._space.read() as reader:
            stored = ledger.settings(reader)
        if preset is None and not given:
            return presets.read(stored)
        presets.configure(stored, preset, given)  # raises before a space is begun
        with self._space.write() as writer:
            if preset is not None:
                presets.check_fit(preset, writer, writer.id)
            stored = ledger.settings(writer)
            changed = presets.configure(stored, preset, given)
            before, after = presets.read(stored), presets.read(changed)
            ledger.save_settings(writer, changed)
            if before.growth != after.growth:
                tree_store.fell(writer)
        return after

    # ------------------------------------------------------------------ inside

    def _scoring(self, reader: SpaceReader, progress: Progress | None) -> Scoring:
        """How searches of the space score, for trials of relations. Raises InputError."""
        from treering.views.fit import Scoring

        fragments, chosen = self.searcher.snapshot(), settings.settings_in(reader)
        if fragments is None:
            raise InputError(f"space {self._space.name!r} is empty; add something first")
        rows, row_of = fragments, np.arange(len(fragments))
        if chosen.chat_unit == "rounds":
            rows, row_of = self.searcher.rounds.group(reader, fragments)
        return Scoring(rows, fragments, row_of, chosen.mode, progress)

    def _behind(self, reader: SpaceReader) -> dict[str, int]:
        """Unread entries by view. A view is left out if it is as far as fragments."""
        unread = self._follower.unread(reader)
        together = unread.get(Fragments.name, 0)
        return {n: size for n, size in unread.items() if n == Fragments.name or size > together}

    def _beside_code(self, question: str, k: int) -> list[Hit]:
        """Hits in conversations and recorded rounds for a question about code."""
        chosen, _ = self.catch_up_and_plan(("context",), None)
        return self.searcher.search(Search(question, Filter(), "hybrid", chosen), k)


@contextmanager
def _log_delays(what: str) -> Iterator[None]:
    """Log errors of work that stays queued."""
    try:
        yield
    except JournalCorrupt:
        raise
    except (LLMError, EmbeddingError, JournalError, MissingExtra, ViewError) as error:
        log.warning("%s: delayed and still queued; settle() retries: %s", what, error)


def _corpus(space: Space) -> FragmentSource:
    """Where fragments come from: main memory, or a database that has more than fit there."""
    loaded = Table(space)
    limit = space.database.limit
    if limit is None:
        return loaded
    from treering.views.candidates.source import CandidateSource

    return CandidateSource(space, loaded, limit)
