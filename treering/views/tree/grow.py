"""The tree in memory, kept in step with its rows. An embedded fragment becomes a leaf at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import numpy as np

from treering.journal import damage, ledger, work
from treering.journal.contract import Reader, Writer
from treering.journal.space import EmbeddingModel, Space, SpaceReader, SpaceState, SpaceWriter
from treering.search.snapshot import Snapshot
from treering.views.fragments import store as fragments
from treering.views.tree import store
from treering.views.tree.family import Rows
from treering.views.tree.leaves import (
    NewLeaf,
    detach,
    fragments_of,
    leaf_by_digest,
    new_leaves,
    put_leaf,
    rounds,
    standing,
)
from treering.views.tree.rounds import changes, has_all
from treering.views.tree.settings import (
    Settings,
    is_chosen,
    tree_settings,
    with_tree_settings,
)
from treering.views.tree.shape import ROOT, Insertion, Node, Tree
from treering.views.tree.store import TreeState
from treering.views.tree.texts import leaf_vectors

BATCH_VECTORS: Final = 1024
"""Fragments attached in one transaction: about a quarter of a second."""

SHORT_BATCH_VECTORS: Final = 256
"""The same for somebody who waits."""


class Grower:
    """The one owner of a space's tree in this process. Safe to use from many threads.

    The tree in memory is that of ``TreeState.revision``. Another process that changes the rows
    raises the revision, and the tree is loaded again.
    """

    def __init__(
        self,
        space: Space,
        snapshot: Callable[[], Snapshot | None],
    ) -> None:
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
        if self._tree is None:
            with self.reading():  # loads it with the vectors that searches use
                pass
        size = BATCH_VECTORS if end is None else SHORT_BATCH_VECTORS
        if self.settings().settle == "each":
            size = 0
        while self._grow_batch(size):
            if end is not None and time.monotonic() >= end:
                break

    def grow_one(self) -> bool:
        """Attach the next text alone; return whether there was any."""
        return self._grow_batch(1)

    def unplaced(self) -> int:
        """How many embedded fragments have no leaf yet."""
        with self._space.read() as reader:
            return count_unplaced(reader)

    def is_used(self) -> bool:
        """Whether the tree of the space has ever been grown, or its settings chosen."""
        with self._space.read() as reader:
            return store.state(reader, reader.id) is not None or is_chosen(reader)

    def settings(self) -> Settings:
        """How the space's tree grows."""
        with self._space.read() as reader:
            return tree_settings(reader)

    def replant(self, settings: Settings) -> None:
        """Drop the tree and its summaries, and grow it again by these settings."""
        with self._lock, self._space.write() as writer:
            before = ledger.settings(writer)
            ledger.save_settings(writer, with_tree_settings(before, settings))
            store.fell(writer, writer.id)
        self.grow()

    @contextmanager
    def reading(self) -> Iterator[tuple[SpaceReader, SpaceState, Tree] | None]:
        """The tree and the transaction it agrees with; None if the space has no vectors yet."""
        with self._lock, self._space.read() as reader:
            state = reader.state
            if state.model is None:
                yield None
            else:
                base = self._snapshot() if self._tree is None else None
                yield reader, state, self._synced(reader, state.id, state.model, base)

    @contextmanager
    def writing(self) -> Iterator[tuple[SpaceWriter, SpaceState, Tree] | None]:
        """As ``reading``, for changes. A failed transaction also drops the tree in memory."""
        with self._lock:
            try:
                with self._space.write() as writer:
                    state = writer.state
                    if state.model is None:
                        yield None
                    else:
                        yield writer, state, self._synced(writer, state.id, state.model)
            except BaseException:
                # The tree in memory may have changes that the rolled back rows lack: load it anew.
                self._tree = None
                raise

    def revision(self) -> int:
        """The revision of the tree in memory."""
        return self._state.revision if self._state else 0

    def commit(self, writer: Writer, space: int, tree: Tree, mark: int | None = None) -> None:
        """Store the changed state of the tree; called last inside ``writing``."""
        assert self._state is not None  # set by _synced
        self._state = replace(
            self._state,
            mark=self._state.mark if mark is None else mark,
            bound=tree.bound,
            revision=self._state.revision + 1,
        )
        store.save_state(writer, space, self._state)

    def _grow_batch(self, size: int) -> bool:
        """Attach one batch of leaves, and remove erased ones; return whether there was any."""
        if not self._anything(attaches=size > 0):
            return False
        # Before the transaction: a snapshot is read in one of its own. Most trees need none.
        snapshot = self._snapshot() if self.settings().chat_unit == "rounds" else None
        with self.writing() as open_tree:
            if open_tree is None:
                return False
            writer, state, tree = open_tree
            assert state.model is not None  # checked by writing()
            assert self._state is not None  # set by _synced
            mark, new = self._state.mark, list[NewLeaf]()
            if size:
                mark, new = new_leaves(writer, state.id, state.model, mark, size)
            if size and tree.settings.chat_unit == "rounds":
                if snapshot is None or not has_all(snapshot, new):
                    return True  # something was added meanwhile: the next batch begins after it
                loose = work.queued(writer, state.id, store.LOOSE, size)
                new = _in_rounds(writer, state.id, state.model, tree, snapshot, new, loose)
                work.claim(writer, state.id, store.LOOSE, loose)
            erased = work.queued(writer, state.id, store.ERASED, BATCH_VECTORS)
            for leaf in erased:
                _take_out(writer, state.id, tree, leaf)
            work.claim(writer, state.id, store.ERASED, erased)
            _attach(writer, state.id, tree, new)
            self.commit(writer, state.id, tree, mark)
        return True

    def _anything(self, *, attaches: bool) -> bool:
        with self._space.read() as reader:
            state = reader.state
            if state.model is None:
                return False
            if work.queued(reader, state.id, store.ERASED, 1):
                return True
            mark = _mark(reader, state.id, state.model)
            return attaches and (
                bool(work.queued(reader, state.id, store.LOOSE, 1))
                or fragments.is_embedded_after(reader, state.id, state.model, mark)
            )

    def _synced(
        self, reader: SpaceReader, space: int, model: EmbeddingModel, base: Snapshot | None = None
    ) -> Tree:
        """The tree as it is stored, with the vectors of the model that answers.

        Vectors that ``base`` holds are shared with it, not copied.
        """
        stored = store.state(reader, space) or TreeState(model.id, 0, ROOT + 1, 0)
        if stored.model != model.id:
            stored = replace(stored, model=model.id, mark=0)
        settings = tree_settings(reader)
        # Another process may have changed the rows; the revision in ``stored`` tells.
        if self._tree is None or (stored, settings) != (self._state, self._tree.settings):
            with damage.decoding("the tree of summaries"), np.errstate(invalid="raise"):
                self._tree = _load(reader, space, model, settings, stored.bound, base)
            self._state = stored
        return self._tree


def count_unplaced(reader: SpaceReader) -> int:
    """How many embedded fragments of a space have no leaf yet."""
    state = reader.state
    if state.model is None:
        return 0
    mark = _mark(reader, state.id, state.model)
    return fragments.count_vectors_after(reader, state.id, state.model, mark)


def _mark(reader: Reader, space: int, model: EmbeddingModel) -> int:
    """The last vector of the model that the stored tree has seen; 0 if it has seen none."""
    stored = store.state(reader, space)
    return stored.mark if stored and stored.model == model.id else 0


def _load(
    reader: Reader,
    space: int,
    model: EmbeddingModel,
    settings: Settings,
    bound: int,
    base: Snapshot | None,
) -> Tree:
    nodes = store.nodes(reader, space)
    leaves = {node.number for node in nodes if node.leaf}
    single = leaves.difference(part.leaf for part in rounds(reader, space).values())
    rows = Rows(model.dimension)
    if base is not None and base.state.model == model:
        places = dict(zip(base.fragment.tolist(), range(len(base)), strict=True))
        row_of = {
            number: places[fragment]
            for fragment, number in standing(reader, space)
            if number in single and fragment in places and base.embedded[places[fragment]]
        }
        numbers = np.fromiter(row_of, dtype=np.int64, count=len(row_of))
        rows.share(
            base.items.vectors,
            numbers,
            np.fromiter(row_of.values(), np.int64, len(row_of)),
        )
        leaves -= row_of.keys()
    vectors = leaf_vectors(reader, space, model) if leaves else {}
    empty = np.zeros(model.dimension, dtype=np.float32)  # of a leaf whose fragment was erased
    for number in leaves:
        rows[number] = vectors.get(number, empty)
    tree = Tree.restore(model.dimension, settings, nodes, rows, bound=bound)
    if settings.route == "content":
        for number, vector in store.summary_vectors(reader, space, model).items():
            tree.set_content(number, vector)
    return tree


def _attach(writer: Writer, space: int, tree: Tree, new: Sequence[NewLeaf]) -> None:
    """Insert leaves, store new and moved nodes, queue the summaries above the new leaves."""
    changed: set[int] = set()
    touched: set[int] = set()
    for leaf in new:
        # An exact repetition shares the leaf of the first text, and changes no summary.
        number = leaf_by_digest(writer, space, leaf.digests()[0])
        if number is None:
            inserted = tree.insert(leaf.vector)
            number = inserted.leaf
            touched.update(_merging(tree, inserted))
            moved = (number, inserted.split, inserted.sibling)
            changed.update(node for node in moved if node is not None)
        put_leaf(writer, space, number, leaf)
    store.put_nodes(writer, space, _sorted(tree, changed))
    work.enqueue(writer, space, store.SUMMARIES, sorted(touched))


def _merging(tree: Tree, inserted: Insertion) -> Sequence[int]:
    """The summaries that take in a new leaf: all above it, or as the settings say."""
    if tree.settings.receiver == "merged" or inserted.split is not None:
        return inserted.path  # an expanded leaf gets a text, though not another than it had
    return inserted.path[:-1]


def _in_rounds(
    writer: Writer,
    space: int,
    model: EmbeddingModel,
    tree: Tree,
    snapshot: Snapshot,
    new: Sequence[NewLeaf],
    loose: Sequence[int],
) -> list[NewLeaf]:
    """The new texts, chats as rounds, once the leaves that rounds outgrew have been taken out."""
    chats = [fragment for leaf in new if leaf.kind == "chat" for fragment in leaf.fragments]
    rounds, outgrown = changes(writer, space, model, snapshot, [*chats, *loose])
    emptied, rest = detach(writer, space, outgrown)
    placed = {fragment for leaf in rounds for fragment in leaf.fragments}
    work.enqueue(writer, space, store.LOOSE, set(rest).difference(placed))
    for leaf in emptied:
        store.outdate(writer, space, leaf)
        _take_out(writer, space, tree, leaf, erased=False)
    return [*(leaf for leaf in new if leaf.kind != "chat"), *rounds]


def _take_out(writer: Writer, space: int, tree: Tree, leaf: int, *, erased: bool = True) -> None:
    """Remove a leaf, unless it is gone already or the same text has been added again."""
    if leaf not in tree or fragments_of(writer, space, leaf):
        return
    removed = tree.remove(leaf, erased=erased)
    store.drop_nodes(writer, space, [leaf])
    if removed.dissolved is not None and removed.heir is not None:
        store.drop_nodes(writer, space, [removed.dissolved])
        store.put_nodes(writer, space, [tree.node(removed.heir)])


def _sorted(tree: Tree, numbers: set[int]) -> list[Node]:
    return [tree.node(number) for number in sorted(numbers)]
