"""Building the view: entries to fragments, fragments to vectors, in batches that commit alone.

Splitting and counting terms need no model; an embedder that fails leaves fragments that lexical
scoring finds, and the embedding as pending work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treering.embed.contract import Embedder
from treering.errors import DimensionMismatch, EmbeddingError, InputError, ModelMismatch
from treering.fragments import store
from treering.fragments.store import Model, State
from treering.journal import entries, work
from treering.journal.contract import Database, Writer
from treering.records import Entry
from treering.relate.contract import Floats
from treering.score.terms import Terms, dated, terms
from treering.split import Span, split

BATCH_ENTRIES = 64
BATCH_FRAGMENTS = 256  # embedded and committed together: a crash redoes half a second of work

Progress = Callable[[int, int], None]
"""Called with how many pieces of work are done and how many there are in all."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A fragment before it is stored."""

    entry: int
    span: Span
    text: str
    terms: Terms


def embedded_text(text: str, speaker: str | None) -> str:
    """What the embedder reads of a fragment: a turn is understood better with who said it."""
    return f"{speaker}: {text}" if speaker else text


class Builder:
    """Does the pending work of one space's fragments view."""

    def __init__(self, database: Database, space: str, embedder: Embedder) -> None:
        self._database = database
        self._space = space
        self._embedder = embedder

    def build(self, progress: Progress | None = None) -> None:
        """Split and embed until nothing is pending.

        Raises EmbeddingError when the embedder fails; by then every entry has been split, and the
        embedding stays queued.
        """
        done = 0
        state = self._state()
        if state is None:
            return
        total = self._pending(state)
        failure: EmbeddingError | None = None
        while batch := self._next_entries(state):
            failure = self._index(state, batch, embed=failure is None) or failure
            done += len(batch)
            if progress:
                progress(done, total)
            state = self._state() or state
        if failure is not None:
            raise failure
        for model in (state.model, state.next):
            if model is not None and model.name == self._embedder.name:
                self.embed(model, progress)

    def embed(self, model: Model, progress: Progress | None = None) -> None:
        """Embed every fragment queued for a model. Raises EmbeddingError."""
        state = self._state()
        if state is None:
            return
        with self._database.read() as reader:
            total = work.counts(reader, state.space).get(model.view, 0)
        done = 0
        while batch := self._next_texts(state.space, model):
            wanted, texts = batch
            try:
                vectors = self._vectors([embedded_text(text, who) for _, text, who in texts])
            except EmbeddingError as error:
                with self._database.write() as writer:
                    work.failed(writer, state.space, model.view, wanted, str(error))
                raise
            with self._database.write() as writer:
                self._store_vectors(writer, state.space, model, wanted, texts, vectors)
            done += len(wanted)
            if progress:
                progress(done, total)

    def reembed(self, embedder: Embedder, progress: Progress | None = None) -> None:
        """Embed all fragments with another model, then let that one answer; resumes if repeated.

        Raises EmbeddingError; the old model goes on answering then.
        """
        with self._database.write() as writer:
            space = entries.space_id(writer, self._space)
            state = store.state(writer, self._space)
            old = state.model if state else None
            new = store.register_model(writer, embedder.name, embedder.dimension)
            if old == new:
                raise InputError(f"space {self._space!r} has the model {embedder.name!r} already")
            if state and state.next and state.next != new:
                store.drop_vectors(writer, space, state.next)
            store.set_models(writer, space, old, new)
            store.enqueue_all(writer, space, new)
        Builder(self._database, self._space, embedder).embed(new, progress)
        with self._database.write() as writer:
            store.set_models(writer, space, new, None)
            if old is not None:
                store.drop_vectors(writer, space, old)

    def _state(self) -> State | None:
        with self._database.read() as reader:
            return store.state(reader, self._space)

    def _pending(self, state: State) -> int:
        with self._database.read() as reader:
            return work.counts(reader, state.space).get(store.VIEW, 0)

    def _next_entries(self, state: State) -> dict[int, Entry]:
        with self._database.read() as reader:
            seqs = work.queued(reader, state.space, store.VIEW, BATCH_ENTRIES)
            return entries.by_seq(reader, seqs)

    def _next_texts(
        self, space: int, model: Model
    ) -> tuple[list[int], list[tuple[int, str, str | None]]] | None:
        with self._database.read() as reader:
            wanted = work.queued(reader, space, model.view, BATCH_FRAGMENTS)
            return (wanted, store.texts(reader, wanted)) if wanted else None

    def _index(self, state: State, batch: dict[int, Entry], embed: bool) -> EmbeddingError | None:
        """Split, count, embed and store a batch; return why it could not be embedded, if so."""
        pieces = [
            _Piece(seq, (start, stop), entry.text[start:stop], _terms(entry, start, stop))
            for seq, entry in batch.items()
            for start, stop in split(entry.text, entry.kind)
        ]
        speakers = {seq: entry.speaker for seq, entry in batch.items()}
        vectors, failure = None, None
        if embed:
            try:
                vectors = self._vectors(
                    [embedded_text(piece.text, speakers[piece.entry]) for piece in pieces]
                )
            except EmbeddingError as error:
                failure = error
        with self._database.write() as writer:
            self._store(writer, state, batch, pieces, vectors)
        return failure

    def _vectors(self, texts: Sequence[str]) -> Floats:
        """Unit vectors of texts, checked. Raises EmbeddingError, DimensionMismatch."""
        found = [
            checked(self._embedder, texts[start : start + BATCH_FRAGMENTS])
            for start in range(0, len(texts), BATCH_FRAGMENTS)
        ]
        width = self._embedder.dimension
        return np.concatenate(found) if found else np.zeros((0, width), dtype=np.float32)

    def _store(
        self,
        writer: Writer,
        state: State,
        batch: dict[int, Entry],
        pieces: Sequence[_Piece],
        vectors: Floats | None,
    ) -> None:
        """Store what a batch became, but for the entries that another process took or erased."""
        ours = work.claim(writer, state.space, store.VIEW, batch)
        kept = [place for place, piece in enumerate(pieces) if piece.entry in ours]
        fragments = [
            store.insert(writer, state.space, pieces[at].entry, pieces[at].span, pieces[at].terms)
            for at in kept
        ]
        for target in self._models(writer, state):
            if vectors is not None and target.name == self._embedder.name:
                store.insert_vectors(writer, state.space, target, fragments, vectors[kept])
            else:
                work.enqueue(writer, state.space, target.view, fragments)
        store.touch(writer, state.space)

    def _models(self, writer: Writer, state: State) -> list[Model]:
        """The models whose vectors the space keeps; the first to index a space decides it."""
        current = store.state(writer, self._space)
        if current is not None and current.model is not None:
            return [current.model] + ([current.next] if current.next else [])
        model = store.register_model(writer, self._embedder.name, self._embedder.dimension)
        store.set_models(writer, state.space, model, None)
        return [model]

    def _store_vectors(
        self,
        writer: Writer,
        space: int,
        model: Model,
        wanted: Sequence[int],
        texts: Sequence[tuple[int, str, str | None]],
        vectors: Floats,
    ) -> None:
        ours = work.claim(writer, space, model.view, wanted)
        kept = [place for place, (fragment, _, _) in enumerate(texts) if fragment in ours]
        fragments = [texts[place][0] for place in kept]
        store.insert_vectors(writer, space, model, fragments, vectors[kept])
        store.touch(writer, space)


def _terms(entry: Entry, start: int, stop: int) -> Terms:
    return terms(dated(embedded_text(entry.text[start:stop], entry.speaker), entry.at))


def checked(embedder: Embedder, texts: Sequence[str], *, query: bool = False) -> Floats:
    """Unit vectors of texts, shape (len(texts), d).

    Raises EmbeddingError when a vector is not finite, DimensionMismatch when the shape is wrong.
    """
    vectors = np.asarray(embedder.embed(texts, query=query), dtype=np.float32)
    expected = (len(texts), embedder.dimension)
    if vectors.shape != expected:
        raise DimensionMismatch(
            f"embedder {embedder.name!r} returned shape {vectors.shape}, expected {expected}"
        )
    if not np.isfinite(vectors).all():
        raise EmbeddingError(f"embedder {embedder.name!r} returned a vector that is not finite")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = vectors / np.maximum(norms, np.float32(1e-12))
    return unit


def ensure_same_model(state: State | None, embedder: Embedder, space: str) -> None:
    """Raises ModelMismatch when a space was built with another model than the one given."""
    if state is None or state.model is None:
        return
    if embedder.name not in {model.name for model in (state.model, state.next) if model}:
        raise ModelMismatch(
            f"space {space!r} was built with the embedding model {state.model.name!r}, opened with "
            f"{embedder.name!r}; open it with embedder={state.model.name!r} and change the model "
            f"with reembed({embedder.name!r})"
        )
    if embedder.name == state.model.name and embedder.dimension != state.model.dimension:
        raise DimensionMismatch(
            f"embedder {embedder.name!r} has {embedder.dimension} dimensions, space {space!r} was "
            f"built with {state.model.dimension}; was the model exchanged under the same name?"
        )
