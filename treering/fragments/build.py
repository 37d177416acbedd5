"""Building the view: entries to fragments, fragments to vectors, in batches that commit alone.

Splitting and counting terms need no model; an embedder that fails leaves fragments that lexical
scoring finds, and the embedding as pending work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treering.embed.checked import checked, not_finite, shaped, unit_rows
from treering.embed.contract import Embedder
from treering.errors import EmbeddingError, InputError, ModelMismatch
from treering.fragments import store
from treering.fragments.store import Model, State
from treering.journal import entries, work
from treering.journal.contract import Database, Writer
from treering.records import Entry
from treering.relate.contract import Codes, Floats
from treering.score.terms import Terms, dated, terms
from treering.split import Span, split

BATCH_ENTRIES = 64
PROBE = "A sentence that any embedding model can read."
_QUEUED = "they stay queued and are found by their words"
BATCH_FRAGMENTS = 256  # embedded and committed together: a crash redoes half a second of work

Progress = Callable[[int, int], None]
"""Called with how many pieces of work are done and how many there are in all."""


Text = tuple[int, str, str | None]
"""A fragment's id, text and speaker."""


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
        state = self._state()
        if state is None:
            return
        done, total = 0, self._pending(state)
        failure: EmbeddingError | None = None
        while batch := self._next_entries(state):
            failure = self._index(state, batch, embed=failure is None) or failure
            done += len(batch)
            if progress:
                progress(done, total)
            state = self._state() or state
        if state.model is None:  # no embedder has worked for this space so far
            if failure is not None:
                raise failure
            self._decide_model(state.space, self._embedder.dimension)
            state = self._state() or state
        for model in (state.model, state.next):
            if model is not None and model.name == self._embedder.name:
                self.embed(model, progress)

    def embed(self, model: Model, progress: Progress | None = None) -> None:
        """Embed every fragment queued for a model.

        Raises EmbeddingError when the model fails, or when it has made of some fragments what is
        no vector; then all others are embedded and those stay queued.
        """
        state = self._state()
        if state is None:
            return
        with self._database.read() as reader:
            total = work.counts(reader, state.space).get(model.view, 0)
        done = spoilt = 0
        last = -1
        while batch := self._next_texts(state.space, model, last):
            wanted, texts = batch
            spoilt += self._embed_batch(state.space, model, texts)
            last = wanted[-1]
            done += len(wanted)
            if progress:
                progress(done, total)
        if spoilt:
            raise not_finite(self._embedder, spoilt, _QUEUED)

    def reembed(self, embedder: Embedder, progress: Progress | None = None) -> None:
        """Embed all fragments with another model, then let that one answer; resumes if repeated.

        Raises EmbeddingError; the old model goes on answering then.
        """
        with self._database.write() as writer:
            space = entries.space_id(writer, self._space)
            state = store.state(writer, self._space)
            old = state.model if state else None
            new = store.register_model(writer, embedder.name, embedder.dimension)
            begun = state.next if state else None
            if old == new and begun is None:
                raise InputError(f"space {self._space!r} has the model {embedder.name!r} already")
            if begun and begun != new:
                store.drop_vectors(writer, space, begun)
            if old == new:  # back to it from a change that was not finished
                store.set_models(writer, space, old, None)
                return
            store.set_models(writer, space, old, new)
            store.enqueue_all(writer, space, new)
        Builder(self._database, self._space, embedder).embed(new, progress)
        with self._database.write() as writer:
            self._switch(writer, space, new)

    def _switch(self, writer: Writer, space: int, new: Model) -> None:
        """Let a model that has embedded everything answer. Raises ModelMismatch."""
        state = store.state(writer, self._space)
        if state is None or new not in (state.model, state.next):
            raise ModelMismatch(
                f"another reembed() of space {self._space!r} began after this one to {new.name!r}; "
                "that one decides the model"
            )
        if state.next == new:
            store.set_models(writer, space, new, None)
            if state.model is not None:
                store.drop_vectors(writer, space, state.model)

    def _decide_model(self, space: int, dimension: int) -> None:
        """Let this embedder's model be the one of a space that has none. Raises EmbeddingError."""
        with self._database.write() as writer:
            current = store.state(writer, self._space)
            if current is None or current.model is None:
                model = store.register_model(writer, self._embedder.name, dimension)
                store.set_models(writer, space, model, None)
                store.enqueue_all(writer, space, model)

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
        self, space: int, model: Model, last: int
    ) -> tuple[list[int], list[Text]] | None:
        with self._database.read() as reader:
            wanted = work.queued(reader, space, model.view, BATCH_FRAGMENTS, last)
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
            read = [embedded_text(piece.text, speakers[piece.entry]) for piece in pieces]
            try:
                vectors = self._vectors(state, read)
                if state.model is None:
                    self._decide_model(state.space, vectors.shape[1])
            except EmbeddingError as error:
                vectors, failure = None, error
        with self._database.write() as writer:
            self._store(writer, state, batch, pieces, vectors)
        return failure

    def _vectors(self, state: State, texts: Sequence[str]) -> Floats:
        """Unit vectors of texts, checked. Raises EmbeddingError, DimensionMismatch."""
        known = {model.name: model for model in (state.model, state.next) if model}
        model = known.get(self._embedder.name)
        width = model.dimension if model else self._embedder.dimension
        found = [
            checked(self._embedder, texts[start : start + BATCH_FRAGMENTS], dimension=width)
            for start in range(0, len(texts), BATCH_FRAGMENTS)
        ]
        return np.concatenate(found) if found else np.zeros((0, width), dtype=np.float32)

    def _store(
        self,
        writer: Writer,
        state: State,
        batch: dict[int, Entry],
        pieces: Sequence[_Piece],
        vectors: Floats | None,
    ) -> None:
        """Store what a batch became, but for the entries that others took, erased or replaced.

        An entry replaced since it was read is queued under the same number for its new text.
        """
        current = entries.by_seq(writer, list(batch))
        as_read = [seq for seq, entry in batch.items() if current.get(seq) == entry]
        ours = work.claim(writer, state.space, store.VIEW, as_read)
        kept = [place for place, piece in enumerate(pieces) if piece.entry in ours]
        fragments = [
            store.insert(writer, state.space, pieces[at].entry, pieces[at].span, pieces[at].terms)
            for at in kept
        ]
        for target in self._models(writer):
            if vectors is not None and target.name == self._embedder.name:
                store.insert_vectors(writer, state.space, target, fragments, vectors[kept])
            else:
                work.enqueue(writer, state.space, target.view, fragments)
        store.touch(writer, state.space)

    def _models(self, writer: Writer) -> list[Model]:
        """The models whose vectors the space keeps; none before one has embedded something."""
        current = store.state(writer, self._space)
        return [model for model in (current.model, current.next) if model] if current else []

    def _embed_batch(self, space: int, model: Model, texts: Sequence[Text]) -> int:
        """Embed and store a batch; return how many of its vectors are not finite."""
        fragments = np.array([fragment for fragment, _, _ in texts], dtype=np.int64)
        read = [embedded_text(text, speaker) for _, text, speaker in texts]
        try:
            vectors = self._embed_each(read, model.dimension)
        except EmbeddingError as error:
            with self._database.write() as writer:
                work.failed(writer, space, model.view, fragments.tolist(), str(error))
            raise
        finite = np.isfinite(vectors).all(axis=1)
        spoilt: list[int] = fragments[~finite].tolist()
        with self._database.write() as writer:
            self._store_vectors(writer, space, model, fragments[finite], unit_rows(vectors[finite]))
            reason = str(not_finite(self._embedder, len(spoilt), _QUEUED))
            work.failed(writer, space, model.view, spoilt, reason)
        return len(spoilt)

    def _embed_each(self, texts: Sequence[str], dimension: int) -> Floats:
        """Vectors of texts, NaN for a text that the embedder refuses.

        Raises EmbeddingError when it refuses any text whatever: it is down, or wrong.
        """
        try:
            return shaped(self._embedder, texts, dimension)
        except EmbeddingError as error:
            if not self._works(dimension):
                raise error from None
            if len(texts) == 1:
                return np.full((1, dimension), np.nan, dtype=np.float32)
        middle = len(texts) // 2
        halves = (texts[:middle], texts[middle:])
        return np.concatenate([self._embed_each(half, dimension) for half in halves])

    def _works(self, dimension: int) -> bool:
        try:
            shaped(self._embedder, [PROBE], dimension)
        except EmbeddingError:
            return False
        return True

    def _store_vectors(
        self, writer: Writer, space: int, model: Model, fragments: Codes, vectors: Floats
    ) -> None:
        ours = work.claim(writer, space, model.view, fragments.tolist())
        kept = np.isin(fragments, list(ours))
        store.insert_vectors(writer, space, model, fragments[kept].tolist(), vectors[kept])
        store.touch(writer, space)


def _terms(entry: Entry, start: int, stop: int) -> Terms:
    return terms(dated(embedded_text(entry.text[start:stop], entry.speaker), entry.at))


def ensure_same_model(state: State | None, embedder: Embedder, space: str) -> None:
    """Raises ModelMismatch when a space was built with another model than the one given.

    Its dimension is not asked for: an endpoint may be down, and vectors are checked as they come.
    """
    if state is None or state.model is None:
        return
    if embedder.name not in {model.name for model in (state.model, state.next) if model}:
        raise ModelMismatch(
            f"space {space!r} was built with the embedding model {state.model.name!r}, opened with "
            f"{embedder.name!r}; open it with embedder={state.model.name!r} and change the model "
            f"with reembed({embedder.name!r})"
        )
