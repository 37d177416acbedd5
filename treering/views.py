"""The views of one space: what is derived from its journal, wired together and kept up to date."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from treering.answer import Answerer
from treering.code.coder import Model
from treering.code.memory import CodeMemory
from treering.embed.contract import Embedder
from treering.embed.registry import DEFAULT, open_embedder
from treering.errors import (
    EmbeddingError,
    InputError,
    JournalCorrupt,
    JournalError,
    LLMError,
    LLMReplyError,
    MissingExtra,
)
from treering.facts.view import FactView
from treering.fragments import store
from treering.fragments.build import Builder, Progress, ensure_same_model
from treering.journal import entries, ledger
from treering.journal.contract import Database
from treering.llm.tokens import estimate_tokens
from treering.material import material
from treering.memo import due
from treering.memo import store as memo
from treering.memo.view import MemoView
from treering.recall.brief import BriefMaterial
from treering.recall.search import Searcher
from treering.records import Filter, Hit
from treering.relate import fit as fitting
from treering.relate import settings as fitted
from treering.relate.defaults import DEFAULTS
from treering.relate.registry import CODE, TOPIC, TREE, Chosen, Named, Plan, plan
from treering.tree.search import with_tree
from treering.tree.view import TreeView

log = logging.getLogger("treering")

CATCH_UP_ENTRIES = 256
"""A search first does up to this much pending work, such as a crash left: about a second of it."""

BUILD_PATIENCE_S = 2.0
"""An add waits no longer for another thread to index; ``Receipt.pending`` says what is left."""

Alpha = float | Mapping[str, float]


class Views:
    """Fragments with their relations, tree, memos, facts and code of one space."""

    def __init__(
        self, database: Database, space: str, embedder: Embedder, answerer: Answerer
    ) -> None:
        self._answerer = answerer
        llm, model = answerer.llm, Model(answerer.llm, answerer.pay)
        self._database = database
        self._space = space
        self._embedder = embedder
        self._building = threading.Lock()
        self._builder = Builder(database, space, embedder)
        self.searcher = Searcher(database, space, embedder)
        self.facts = FactView(database, space, self.searcher, llm)
        self.code = CodeMemory(database, space, embedder, self.build, self._beside_code, model)
        self._tree = TreeView(
            database, space, lambda: self._embedder, llm, self.searcher, self.defaults
        )
        self.memos = MemoView(
            database, space, lambda: self._embedder, llm, self.searcher, self.defaults
        )

    @property
    def tree(self) -> TreeView:
        """The tree, grown by what was added since it was last used.

        What the disk cannot do now is done by the next use or ``settle``.
        """
        try:
            self._tree.grow()
        except JournalError as error:
            log.warning("the tree is delayed; settle() retries: %s", error)
        return self._tree

    # ------------------------------------------------------------------ keeping up to date

    def build(self, progress: Progress | None = None, *, wait: bool = True) -> None:
        """Index what was added; what an embedder or the disk cannot do now stays queued.

        One thread builds, and goes on until nothing is queued: threads that add at the same time
        find their entries done, many in one batch. The entries are durable by then: an error here
        would read as if they were not. Raises JournalCorrupt.
        """
        if not self._building.acquire(timeout=BUILD_PATIENCE_S if wait else 0):
            return
        try:
            self._index(progress)
        except JournalCorrupt:
            raise
        except (EmbeddingError, JournalError, MissingExtra) as error:
            log.warning("indexing is delayed and stays queued; settle() retries: %s", error)
        finally:
            self._building.release()

    def catch_up(self) -> None:
        """Index what little is left from before a search; say so if it is much."""
        with self._database.read() as reader:
            state = store.state(reader, self._space)
            fresh = store.untried(reader, state) if state else 0
        if 0 < fresh <= CATCH_UP_ENTRIES:
            self.build(wait=False)  # what another thread builds now is not added yet
        elif fresh:
            log.warning(
                "%d entries or fragments of space %r are not indexed yet and may be missed; "
                "settle() indexes them",
                fresh,
                self._space,
            )

    def settle(self, progress: Progress | None, *, upgrade: bool) -> None:
        """Do all pending work now. Raises what stood in its way; the rest stays queued."""
        with self._building:
            self._index(progress)
        failures: list[LLMError | EmbeddingError] = []
        for view in (self.memos, self._tree):
            try:
                view.settle(progress, upgrade=upgrade)
            except (LLMError, EmbeddingError) as error:  # the other one may get on
                failures.append(error)
        if failures:
            raise failures[0]
        if upgrade:
            self._judge_facts()

    def _judge_facts(self) -> None:
        """Ask the model what the rules cannot tell; one that is not up to it is no failure."""
        try:
            self.facts.judge()
        except LLMReplyError as error:
            log.warning("what has changed is left to the rules: %s", error)

    def write_memos(self, source: str) -> None:
        """Write the memos of a conversation that are due; what cannot be written stays queued."""
        try:
            self.memos.settle(source=source)
        except JournalCorrupt:
            raise
        except (LLMError, EmbeddingError, JournalError, MissingExtra) as error:
            log.warning("memos are delayed and stay queued; settle() retries: %s", error)

    def with_memos(self, pending: Mapping[str, int]) -> Mapping[str, int]:
        """Pending work, and the memos that a model would write now: queued or not, they are due.

        Tokens are estimated: a count for a person must not wait for a model, nor fail with it.
        """
        if not self._answerer.has_model:
            return pending
        with self._database.read() as reader:
            state = store.state(reader, self._space)
            if state is None:
                return pending
            memos = due.waiting(reader, state.space, estimate_tokens)
        others = {view: size for view, size in pending.items() if view != memo.VIEW}
        return others | ({memo.VIEW: memos} if memos else {})

    def pending(self) -> int:
        """Entries that are durable but not fully searchable yet."""
        with self._database.read() as reader:
            state = store.state(reader, self._space)
            return store.unfinished(reader, state) if state else 0

    def reembed(self, model: Embedder, progress: Progress | None) -> None:
        """Embed everything by another model, which answers once that is complete."""
        self._builder.reembed(model, progress)
        self._embedder = model
        self._builder = Builder(self._database, self._space, model)
        self.searcher.use(model)
        self.code.use(model)

    def material(self) -> BriefMaterial:
        """What a brief is made of. The tree is used as far as it has grown."""
        return material(self._database, self._space, self.facts, self.memos, self._tree)

    # ------------------------------------------------------------------ relations

    def plan(self, relations: Chosen | None, alpha: Alpha | None, *, tree: bool = False) -> Plan:
        """The relations asked for, weighted; ``tree``: relatives in the tree are a default too."""
        defaults = self.defaults()
        if relations is None and tree:
            defaults = with_tree(defaults, self.tree.relation())
        if relations is not None and not isinstance(relations, str):
            relations = [self._relation(one) for one in relations]
        return plan(defaults, relations, alpha)

    def defaults(self) -> Plan:
        """The shipped relations of each kind of content, or those that ``fit`` found."""
        with self._database.read() as reader:
            state = store.state(reader, self._space)
            found = ledger.settings(reader, state.space) if state else {}
        return fitted.load(found)

    def fit(self, progress: Progress | None) -> list[fitting.Report]:
        """Choose relations and weights from the space's own text, and keep them."""
        snapshot = self.searcher.snapshot()
        if snapshot is None:
            raise InputError(f"space {self._space!r} is empty; add something first")
        with self._database.read() as reader:
            reports = fitting.fit(reader, snapshot, self._embedder, DEFAULTS, progress)
        with self._database.write() as writer:
            space = entries.space_id(writer, self._space)
            before = ledger.settings(writer, space)
            ledger.save_settings(writer, space, fitted.updated(before, reports))
        return reports

    # ------------------------------------------------------------------ inside

    def _index(self, progress: Progress | None) -> None:
        self._builder.build(progress)
        self.facts.follow()
        self.code.follow()

    def _relation(self, one: Named) -> Named:
        """The relations that need to know the space are not made by name alone."""
        if one == TREE:
            return self.tree.relation()
        if one == CODE:
            return self.code.relation()
        return self.memos.relation() if one == TOPIC else one

    def _beside_code(self, question: str, k: int) -> list[Hit]:
        """What talk and recorded rounds say to a question about code."""
        self.catch_up()
        chosen = self.plan(("context", CODE), None)
        return self.searcher.search([question], k, Filter(), "hybrid", chosen)[0]


def space_embedder(
    database: Database,
    space: str,
    embedder: str | Embedder | None,
    opening: Callable[[str | Embedder], Embedder] = open_embedder,
) -> Embedder:
    """The embedding model asked for, or the one that a space was built with.

    Raises ModelMismatch, UnknownName.
    """
    with database.read() as reader:
        state = store.state(reader, space)
    if embedder is None:
        embedder = state.model.name if state and state.model else DEFAULT
    model = opening(embedder)
    ensure_same_model(state, model, space)
    return model
