"""The memo view. Single entries derive nothing; a language model writes the lines that are due."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from treering.errors import LLMNotConfigured
from treering.journal import work
from treering.journal.space import SpaceReader, SpaceWriter
from treering.journal.traces import Trace
from treering.llm.tokens import estimate_tokens
from treering.records import Progress
from treering.views.contract import Erased, View
from treering.views.memos import changes, due, store
from treering.views.memos.search import Topic
from treering.views.memos.view import MemoView


class Memos(View):
    """Keeps memos: what has been talked about, topic by topic."""

    name: ClassVar[str] = "memo"
    tables: ClassVar[tuple[str, ...]] = ("memo",)
    relation_name: ClassVar[str | None] = "topic"
    kinds: ClassVar[tuple[str, ...]] = ("memos",)
    traces: ClassVar[tuple[Trace, ...]] = (
        Trace("memo_version", "change"),
        Trace("memo_line", "entry"),
    )

    def __init__(self, memos: MemoView, has_llm: Callable[[], bool]) -> None:
        self._memos = memos
        self._has_llm = has_llm

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """See ``View``."""
        self._memos.settle(progress, upgrade=upgrade)

    def pending(self, reader: SpaceReader) -> Mapping[str, int]:
        """The batches a model would write now, queued or not. Without a model: those queued.

        Tokens are estimated: a count for a person must not wait for a model, nor fail with it.
        """
        counts = work.counts(reader, reader.id)
        batches = (
            due.waiting(reader, estimate_tokens) if self._has_llm() else counts.get(store.VIEW, 0)
        )
        return {store.VIEW: batches, changes.VIEW: counts.get(changes.VIEW, 0)}

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """See ``View``. The entries of a person's changes to an erased memo are erased, too."""
        memos, change_entries = store.erase(writer, seqs)
        return Erased({"memos": memos}, change_entries)

    def renew(
        self, writer: SpaceWriter, derived: Mapping[int, object], seqs: Sequence[int]
    ) -> None:
        """See ``View``. Single entries derive nothing."""

    def begin_rebuild(self, writer: SpaceWriter) -> None:
        """Mark all memos that a model wrote for rewriting. Each stays until it is replaced.

        Raises LLMNotConfigured if there are such memos and there is no model to rewrite them.
        """
        if not store.any_written(writer, writer.id):
            return
        if not self._has_llm():
            raise LLMNotConfigured(
                "memos that a language model wrote can only be written again by one; configure "
                "one, see `treering doctor`"
            )
        store.let_rewrite(writer, writer.id)

    def finish_rebuild(self, progress: Progress | None = None) -> None:
        """See ``View``."""
        self._memos.settle(progress, upgrade=True)

    def relation(self) -> Topic:
        """See ``View``."""
        return self._memos._relation()
