"""The tree in memory, kept in step with its rows. An embedded fragment becomes a leaf at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import numpy as np

from treering.journal import damage, ledger, vector_blocks, work
from treering.journal.contract import Reader, Writer
from treering.journal.space import EmbeddingModel, Space, SpaceReader, SpaceWriter
from treering.search.snapshot import Snapshot
from treering.views.choices import TREE, SpaceSettings
from treering.views.settings import settings_in, settings_of
from treering.views.tree import store
from treering.views.tree.leaves import (
    NewLeaf,
    detach,
    fragments_by_leaf,
    leaf_by_digest,
    new_leaves,
    put_leaf,
)
from treering.views.tree.shape import ROOT, Insertion, Tree
from treering.views.tree.store import TreeState
from treering.views.tree.texts import changes, has_all, leaf_vectors

BATCH_VECTORS: Final = 1024
"""Fragments attached in one transaction: about a quarter of a second."""

SHORT_BATCH_VECTORS: Final = 256
"""The same while a request waits."""


class Grower:
    """The one owner of a space's tree in this process. Safe to use from many threads.

    The tree in memory is that of ``TreeState.revision``. Another process that changes the rows
    raises the revision, and the tree is loaded again.
    """

    def __init__(self, space: Space, snapshot: Callable[[], Snapshot | None]) -> None:
        self._space = space
        self._snapshot = snapshot
        self._lock = threading.RLock()
        self._tree: Tree | None = None
        self._state: TreeState | None = None

    def grow(self, seconds: float | None = None) -> None:
        """Attach every embedded fragment without a leaf, and remove every erased leaf.

        With ``seconds``, stop soon after so long, but not before some have been attached; the next
        call goes on from there. 0 attaches none. Where the tree settles after each text, only
        ``grow_one`` attaches any.
        """
        if seconds == 0:
            return
        end = None if seconds is None else time.monotonic() + seconds
        size = BATCH_VECTORS if end is None else SHORT_BATCH_VECTORS
        if self.settings().tree_settle == "each":
            size = 0
        while self._grow_batch(size):
            if end is not None and time.monotonic() >= end:
                break

    def grow_one(self) -> bool:
        """Attach the next text alone; return whether there was any."""
        return self._grow_batch(1)

    def count_unplaced(self) -> int:
        """How many embedded fragments lack a leaf."""
        with self._space.read() as reader:
            return count_unplaced(reader)

    def is_used(self) -> bool:
        """Whether the tree of the space has ever been grown, or its settings chosen."""
        with self._space.read() as reader:
            chosen = ledger.settings(reader).get(ledger.CHOICES, {})
            return store.state(reader) is not None or not chosen.keys().isdisjoint(TREE)

    def settings(self) -> SpaceSettings:
        """The settings of the space, by which its tree grows."""
        return settings_of(self._space)

    @contextmanager
    def read(self) -> Iterator[tuple[SpaceReader, Tree]]:
        """The tree and the transaction it agrees with; an empty one without vectors."""
        with self._lock, self._space.read() as reader:
            yield reader, self._sync(reader)

    @contextmanager
    def write(self) -> Iterator[tuple[SpaceWriter, Tree]]:
        """As ``read``, for changes. A failed transaction also drops the tree in memory."""
        with self._lock:
            try:
                with self._space.write() as writer:
                    yield writer, self._sync(writer)
            except BaseException:
                # The tree in memory may have changes that the rolled back rows lack: load it again.
                self._tree = None
                raise

    def revision(self) -> int:
        """The revision of the tree in memory."""
        return self._state.revision if self._state else 0

    def commit(self, writer: Writer, tree: Tree, mark: int | None = None) -> None:
        """Store the changed state of the tree; called last inside ``write``."""
        assert self._state is not None  # set by _sync
        self._state = replace(
            self._state,
            mark=self._state.mark if mark is None else mark,
            bound=tree.bound,
            revision=self._state.revision + 1,
        )
        store.save_state(writer, self._state)

    def _grow_batch(self, size: int) -> bool:
        """Attach one batch of leaves, and remove erased ones; return whether there was any."""
        if not self._has_work(attaches=size > 0):
            return False
        # Before the transaction: a snapshot is read in one of its own. Most trees need none.
        snapshot = self._snapshot() if self.settings().chat_unit == "rounds" else None
        with self.write() as (writer, tree):
            model = writer.model
            if model is None or self._state is None:
                return False
            mark, new = self._state.mark, list[NewLeaf]()
            if size:
                mark, new = new_leaves(writer, model, mark, size)
            if size and tree.settings.chat_unit == "rounds":
                if snapshot is None or not has_all(snapshot, new):
                    return True  # something was added meanwhile: the next batch begins after it
                loose = work.targets(writer, writer.space, store.LOOSE, size)
                new = _in_rounds(writer, model, tree, snapshot, new, loose)
                work.claim(writer, writer.space, store.LOOSE, loose)
            erased = work.targets(writer, writer.space, store.ERASED, BATCH_VECTORS)
            for leaf in erased:
                _take_out(writer, tree, leaf)
            work.claim(writer, writer.space, store.ERASED, erased)
            _attach(writer, tree, new)
            self.commit(writer, tree, mark)
        return True

    def _has_work(self, *, attaches: bool) -> bool:
        with self._space.read() as reader:
            model = reader.model
            if model is None:
                return False
            if work.is_queued(reader, reader.space, [store.ERASED]):
                return True
            return attaches and bool(
                work.is_queued(reader, reader.space, [store.LOOSE])
                or vector_blocks.next_after(reader, reader.space, model, _mark(reader, model), 1)
            )

    def _sync(self, reader: SpaceReader) -> Tree:
        """The tree as it is stored, with the vectors of the model that answers."""
        model = reader.model
        if model is None:
            return Tree(1)
        stored = store.state(reader) or TreeState(model.id, 0, ROOT + 1, 0)
        if stored.model != model.id:
            stored = replace(stored, model=model.id, mark=0)
        settings = settings_in(reader)
        # Another process may have changed the rows; the revision in ``stored`` says so.
        if self._tree is None or (stored, settings) != (self._state, self._tree.settings):
            with damage.decoding("the tree of summaries"), np.errstate(invalid="raise"):
                self._tree = _load(reader, model, settings, stored.bound)
            self._state = stored
        return self._tree


def count_unplaced(reader: SpaceReader) -> int:
    """How many embedded fragments of a space lack a leaf."""
    model = reader.model
    if model is None:
        return 0
    return vector_blocks.count_after(reader, reader.space, model, _mark(reader, model))


def _mark(reader: Reader, model: EmbeddingModel) -> int:
    """The last vector of the model that the stored tree has seen; 0 if it has seen none."""
    stored = store.state(reader)
    return stored.mark if stored and stored.model == model.id else 0


def _load(reader: Reader, model: EmbeddingModel, settings: SpaceSettings, bound: int) -> Tree:
    nodes = store.nodes(reader)
    leaves = [node.number for node in nodes if node.leaf]
    vectors = (
        pair
        for first in range(0, len(leaves), BATCH_VECTORS)
        for pair in leaf_vectors(reader, model, leaves[first : first + BATCH_VECTORS]).items()
    )
    contents = {number: vector for number, _, vector in store.embedded_summaries(reader, model)}
    return Tree.restore(model.dimension, settings, nodes, vectors, contents, bound=bound)


def _attach(writer: Writer, tree: Tree, new: Sequence[NewLeaf]) -> None:
    """Insert leaves, store new and moved nodes, queue the summaries above the new leaves."""
    changed: set[int] = set()
    touched: set[int] = set()
    for leaf in new:
        # An exact repetition shares the leaf of the first text, and changes no summary.
        number = leaf_by_digest(writer, leaf.digests()[0])
        if number is None:
            inserted = tree.insert(leaf.vector)
            number = inserted.leaf
            touched.update(_summaries_to_update(tree, inserted))
            moved = (number, inserted.split, inserted.sibling)
            changed.update(node for node in moved if node is not None)
        put_leaf(writer, number, leaf)
    store.put_nodes(writer, [tree.node(number) for number in sorted(changed)])
    work.enqueue(writer, writer.space, store.SUMMARIES, sorted(touched))


def _summaries_to_update(tree: Tree, inserted: Insertion) -> Sequence[int]:
    """The summaries that take in a new leaf: all above it, or as the settings say."""
    if tree.settings.tree_receiver == "merged" or inserted.split is not None:
        return inserted.path  # an expanded leaf gets a text, though not another than it had
    return inserted.path[:-1]


def _in_rounds(
    writer: Writer,
    model: EmbeddingModel,
    tree: Tree,
    snapshot: Snapshot,
    new: Sequence[NewLeaf],
    loose: Sequence[int],
) -> list[NewLeaf]:
    """The new texts, chats as rounds, once the leaves that rounds outgrew have been taken out."""
    chats = [fragment for leaf in new if leaf.kind == "chat" for fragment in leaf.fragments]
    rounds, outgrown = changes(writer, model, snapshot, [*chats, *loose])
    emptied, rest = detach(writer, outgrown)
    placed = {fragment for leaf in rounds for fragment in leaf.fragments}
    work.enqueue(writer, writer.space, store.LOOSE, set(rest).difference(placed))
    for leaf in emptied:
        store.outdate(writer, [leaf])
        _take_out(writer, tree, leaf, erased=False)
    return [*(leaf for leaf in new if leaf.kind != "chat"), *rounds]


def _take_out(writer: Writer, tree: Tree, leaf: int, *, erased: bool = True) -> None:
    """Remove a leaf, unless it is gone already or the same text has been added again."""
    if leaf not in tree or fragments_by_leaf(writer, [leaf]):
        return
    removed = tree.remove(leaf, erased=erased)
    store.drop_nodes(writer, [leaf])
    if removed.dissolved is not None and removed.heir is not None:
        store.drop_nodes(writer, [removed.dissolved])
        store.put_nodes(writer, [tree.node(removed.heir)])
