"""The tree view. It grows from fragments when it is used, and does not read entries itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from treering.errors import LLMNotConfigured
from treering.journal import work
from treering.journal.erasure import Trace
from treering.journal.space import SpaceReader, SpaceWriter
from treering.records import Progress
from treering.views.contract import Erased, View
from treering.views.tree import store
from treering.views.tree.aggregate import EXTRACTIVE
from treering.views.tree.grow import count_unplaced
from treering.views.tree.search import TreeRelatives
from treering.views.tree.settings import tree_settings
from treering.views.tree.texts import beside
from treering.views.tree.view import TreeView


class Summaries(View):
    """Summaries of fragments, and of summaries: the nodes of the tree."""

    name: ClassVar[str] = "tree"
    relation_name: ClassVar[str | None] = "tree"
    kinds: ClassVar[tuple[str, ...]] = ("summaries",)
    traces: ClassVar[tuple[Trace, ...]] = (Trace("leaf"),)

    def __init__(
        self, tree: TreeView, grown: Callable[[], TreeView], has_llm: Callable[[], bool]
    ) -> None:
        self._tree = tree
        self._grown = grown
        self._has_llm = has_llm

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """See ``View``. A tree that was never used or chosen costs nothing."""
        if self._tree._is_used():
            self._tree.settle(progress, upgrade=upgrade)

    def pending(self, reader: SpaceReader) -> Mapping[str, int]:
        """The numbers of summaries to make, of leaves to remove and of texts to place.

        Texts count only where ``settle`` places them: elsewhere each use of the tree does.
        """
        counts = work.counts(reader, reader.id)
        kinds = (store.SUMMARIES, store.ERASED, store.LOOSE)
        places = tree_settings(reader).settle == "each"
        return {
            **{kind: counts.get(kind, 0) for kind in kinds},
            store.UNPLACED: count_unplaced(reader) if places else 0,
        }

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """See ``View``."""
        if tree_settings(writer).chat_unit == "rounds":
            work.enqueue(writer, writer.id, store.LOOSE, beside(writer, seqs))
        return Erased({"summaries": store.erase(writer, seqs)})

    def begin_rebuild(self, writer: SpaceWriter) -> None:
        """Drop the tree; it grows again by the settings of the space.

        Raises LLMNotConfigured if a model made summaries and none is configured to repeat that.
        """
        if store.count_written(writer, EXTRACTIVE) and not self._has_llm():
            raise LLMNotConfigured(
                "summaries that a language model made can only be made again by one; configure "
                "one, see `treering doctor`"
            )
        store.fell(writer)

    def finish_rebuild(self, progress: Progress | None = None) -> None:
        """See ``View``. A tree that was never used is not grown."""
        if self._tree._is_used():
            self._tree.settle(progress)

    def relation(self) -> TreeRelatives:
        """See ``View``."""
        return self._grown()._relation()
