"""The fragments view: splits entries into fragments with terms and vectors, in batches.

Splitting and counting terms need no model. If the embedder fails, its fragments are still found by
lexical scoring, and their embedding stays pending.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from treering.arrays import Codes, Floats
from treering.embed.contract import Embedder, not_finite, raw_vectors, unit_rows, unit_vectors
from treering.embed.registry import DEFAULT, open_embedder
from treering.errors import EmbeddingError, InputError, MissingExtra, ModelMismatch
from treering.hints import Hint
from treering.journal import ledger, work
from treering.journal.space import (
    EmbeddingModel,
    Space,
    SpaceReader,
    SpaceState,
    SpaceWriter,
    register_model,
)
from treering.records import Entry, Progress
from treering.search.terms import Terms, terms_version
from treering.split import SPLIT_VERSION, FragmentSize
from treering.text import with_speaker
from treering.views.contract import Erased, View, view_states
from treering.views.follow import SETTLE_PATIENCE_S
from treering.views.fragments import store
from treering.views.fragments.cut import Deriver, PartwiseEmbedder, Piece, cut
from treering.views.fragments.store import Places

_QUEUED = "they stay queued and are found by their words"
PROBE = "A sentence that any embedding model can read."
PATIENCE_S = 2.0
"""An add waits no longer for another process that embeds queued fragments."""

BATCH_CHARS = 1 << 17
"""Characters embedded and committed together, except for one longer fragment."""

EMBED_S = 10.0
"""After this time the remaining fragments are stored without vectors, and embedded batch by batch.
A job that is stopped meanwhile, as by a time limit, resumes there."""

BATCH_FRAGMENTS = 256  # embedded and committed together: a crash redoes half a second of work
Text = tuple[int, str, str | None]
"""A fragment's id, text and speaker."""


class Fragments(View):
    """Pieces of entries, each with its terms and its vector. Search ranks these."""

    name: ClassVar[str] = "fragments"

    def __init__(self, space: Space, embedder: Callable[[], Embedder]) -> None:
        self._space = space
        self._embedder = embedder
        self._refused: EmbeddingError | MissingExtra | None = None
        self.dependents: Sequence[View] = ()
        """The views whose rows refer to fragments."""
        self.deriver: Deriver | None = None
        """Cuts and embeds instead of this process during a bulk ingest."""

    @property
    def version(self) -> str:
        """The version of splitting and of terms. The space records the model of the vectors."""
        size = self._size()
        cut = "" if size == FragmentSize() else f".{size}"
        return f"{SPLIT_VERSION}.{terms_version()}{cut}"

    def _size(self) -> FragmentSize:
        return _fragment_size(self._state())

    def _state(self) -> SpaceState:
        with self._space.read() as reader:
            return reader.state

    def _model(self, size: FragmentSize) -> Embedder:
        embedder = self._embedder()
        return embedder if size.fits_models else PartwiseEmbedder(embedder)

    # ------------------------------------------------------------------ following the journal

    def begin(self) -> None:
        """Forget an earlier failure, so that the embedder is asked again."""
        self._refused = None

    def derive(self, entries: Mapping[int, Entry]) -> Mapping[int, list[Piece]]:
        """See ``View``. An embedder that has failed is not asked again before ``begin``."""
        state = self._space.latest or self._state()
        size, models = _fragment_size(state), state.models
        derived = self._derived_elsewhere(entries, size, models)
        if derived is not None:
            return derived
        return cut(entries, size, lambda texts: self._vectors(texts, size, models))

    def _derived_elsewhere(
        self, entries: Mapping[int, Entry], size: FragmentSize, models: Sequence[EmbeddingModel]
    ) -> Mapping[int, list[Piece]] | None:
        """The deriver's pieces of entries; None without a deriver, or if it fails."""
        if self.deriver is None or self._refused is not None:
            return None
        try:
            derived = self.deriver(entries, size)
        except (EmbeddingError, MissingExtra) as error:
            self._refused = error
            return None
        vectors = (piece.vector for cut in derived.values() for piece in cut)
        first = next((vector for vector in vectors if vector is not None), None)
        if first is not None and not models:
            self._decide_model(len(first))
        return derived

    def rederive(self, entries: Mapping[int, Entry]) -> Mapping[int, list[Piece]]:
        """As ``derive``, without vectors: a rebuild keeps the vectors of unchanged texts."""
        return cut(entries, self._size())

    def store(self, writer: SpaceWriter, derived: Mapping[int, list[Piece]]) -> None:
        """See ``View``."""
        pieces = [(seq, piece) for seq, cut in derived.items() for piece in cut]
        if not pieces:
            return
        places = store.insert(writer, [(seq, piece.span, piece.terms) for seq, piece in pieces])
        self._store_vectors(writer, places, [piece.vector for _, piece in pieces])
        writer.touch()

    def catch_up(self, progress: Progress | None = None) -> None:
        """Embed queued fragments. Raises EmbeddingError; they stay queued then."""
        self._catch_up(progress, PATIENCE_S)

    def _catch_up(self, progress: Progress | None, patience_s: float) -> None:
        if self._refused is not None:
            raise self._refused
        with self._space.read() as reader:
            state, waiting = reader.state, store.has_unembedded(reader)
        if state.model is None and waiting:  # no embedder has worked for this space so far
            self._decide_model(self._embedder().dimension)
            with self._space.read() as reader:
                state, waiting = reader.state, store.has_unembedded(reader)
        if not waiting:
            return
        for model in state.models:
            if model.name == self._embedder().name:
                self.embed(model, progress, patience_s)

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:  # noqa: ARG002
        """See ``View``."""
        self.begin()
        self._catch_up(progress, SETTLE_PATIENCE_S)

    def pending(self, reader: SpaceReader) -> Mapping[str, int]:
        """Fragments to be embedded, by model."""
        counts = work.counts(reader, reader.id)
        return {kind: size for kind, size in counts.items() if kind.startswith("embed:")}

    # ------------------------------------------------------------------ embedding

    def embed(
        self,
        model: EmbeddingModel,
        progress: Progress | None = None,
        patience_s: float = SETTLE_PATIENCE_S,
    ) -> None:
        """Embed every fragment queued for a model, batch by batch.

        Wait up to ``patience_s`` for another process that does so. Raises EmbeddingError if the
        model fails, or if some vectors are not finite. In the second case all other fragments are
        embedded, and those stay queued.
        """
        done = spoilt = total = 0
        if progress:
            with self._space.read() as reader:
                total = work.counts(reader, reader.id).get(model.work, 0)
        last, until = -1, time.monotonic() + patience_s
        while True:
            with self._space.task(model.work) as is_ours:
                batch = self._next_texts(model, last)
                if batch is None:
                    break
                if is_ours:
                    queued, texts = batch
                    spoilt += self._embed_batch(model, texts)
                    last = queued[-1]
                    done += len(queued)
                    if progress:
                        progress(done, total)
                    continue
            if not self._space.await_task(model.work, until - time.monotonic()):
                break
        if spoilt:
            raise not_finite(self._embedder(), spoilt, _QUEUED)

    def reembed(self, embedder: Embedder, progress: Progress | None = None) -> None:
        """Embed all fragments with another model, then switch to it; resumes if repeated.

        Raises EmbeddingError; searches then go on with the old model.
        """
        with self._space.write() as writer:
            old, begun = writer.state.model, writer.state.next
            new = register_model(writer, embedder.name, embedder.dimension)
            if old == new and begun is None:
                raise InputError(f"space {writer.name!r} has the model {embedder.name!r} already")
            if begun and begun != new:
                store.drop_vectors(writer, begun)
            if old == new:  # back to it from a change that was not finished
                writer.set_models(old, None)
                return
            writer.set_models(old, new)
            store.enqueue_all(writer, new)
        Fragments(self._space, lambda: embedder).embed(new, progress)
        with self._space.write() as writer:
            self._switch(writer, new)

    def _switch(self, writer: SpaceWriter, new: EmbeddingModel) -> None:
        """Let searches use a model that has embedded everything. Raises ModelMismatch."""
        state = writer.state
        if new not in state.models:
            raise ModelMismatch(
                f"another reembed() of space {writer.name!r} began after this one to {new.name!r}; "
                "that one decides the model"
            )
        if state.next == new:
            writer.set_models(new, None)
            if state.model is not None:
                store.drop_vectors(writer, state.model)

    def _decide_model(self, dimension: int) -> None:
        """Give a space without a model that of this embedder, and queue its fragments for it.

        Raises DimensionMismatch.
        """
        with self._space.write() as writer:
            if writer.model is None:
                model = register_model(writer, self._embedder().name, dimension)
                writer.set_models(model, None)
                store.enqueue_all(writer, model)

    def _vectors(
        self, texts: Sequence[str], size: FragmentSize, models: Sequence[EmbeddingModel]
    ) -> Sequence[Floats] | None:
        """Unit vectors of the first texts, as many as ``EMBED_S`` allows; None on a failure."""
        if self._refused is not None:
            return None
        embedder = self._model(size)
        dimensions = {model.name: model.dimension for model in models}
        try:
            width = dimensions.get(embedder.name) or embedder.dimension
            batches: list[Floats] = []
            until = time.monotonic() + EMBED_S
            for batch in _batches(texts):
                batches.append(unit_vectors(embedder, batch, dimension=width))
                if time.monotonic() > until:
                    break
            if not models:
                self._decide_model(width)
        except (EmbeddingError, MissingExtra) as error:
            self._refused = error
            return None
        return [row for batch in batches for row in batch]  # not copied into one large array

    def _store_vectors(
        self, writer: SpaceWriter, places: Places, vectors: Sequence[Floats | None]
    ) -> None:
        """Store the vectors of new fragments for the embedder's model; queue all others."""
        for model in writer.state.models:
            ours = model.name == self._embedder().name
            embedded = {
                fragment: vector
                for fragment, vector in zip(places, vectors, strict=True)
                if ours and vector is not None and len(vector) == model.dimension
            }
            if embedded:
                placed = {fragment: places[fragment] for fragment in embedded}
                store.add_vectors(writer, model, placed, [*embedded.values()])
            rest = [fragment for fragment in places if fragment not in embedded]
            work.enqueue(writer, writer.id, model.work, rest)

    def _next_texts(self, model: EmbeddingModel, last: int) -> tuple[list[int], list[Text]] | None:
        with self._space.read() as reader:
            queued = work.targets(reader, reader.id, model.work, BATCH_FRAGMENTS, last)
            texts = store.texts(reader, queued)
        if not queued:
            return None
        most = len(next(_batches([text for _, text, _ in texts]), ()))
        if most < len(texts):
            queued = [fragment for fragment in queued if fragment < texts[most][0]]
        return queued, texts[:most]

    def _embed_batch(self, model: EmbeddingModel, texts: Sequence[Text]) -> int:
        """Embed and store a batch; return how many of its vectors are not finite."""
        fragments = np.array([fragment for fragment, _, _ in texts], dtype=np.int64)
        read = [with_speaker(text, speaker) for _, text, speaker in texts]
        try:
            vectors = self._embed_each(read, model.dimension)
        except EmbeddingError as error:
            self._note(model, texts, error)
            raise
        finite = np.isfinite(vectors).all(axis=1)
        spoilt: list[int] = fragments[~finite].tolist()
        with self._space.write() as writer:
            _store_queued(writer, model, fragments[finite], unit_rows(vectors[finite]))
            reason = str(not_finite(self._embedder(), len(spoilt), _QUEUED))
            work.note_failure(writer, writer.id, model.work, spoilt, reason)
        return len(spoilt)

    def _note(self, model: EmbeddingModel, texts: Sequence[Text], error: EmbeddingError) -> None:
        """Note why texts were not embedded, unless one was erased: a reason may quote it."""
        fragments = [fragment for fragment, _, _ in texts]
        with self._space.write() as writer:
            if store.texts(writer, fragments) == texts:
                work.note_failure(writer, writer.id, model.work, fragments, str(error))

    def _embed_each(self, texts: Sequence[str], dimension: int) -> Floats:
        """Vectors of texts, NaN for a text that the embedder refuses.

        Raises EmbeddingError when it refuses every text: it is down, or misconfigured.
        """
        try:
            return raw_vectors(self._model(self._size()), texts, dimension)
        except EmbeddingError as error:
            if not self._works(dimension):
                raise error from None
            if len(texts) == 1:
                return np.full((1, dimension), np.nan, dtype=np.float32)
        # The embedder refuses one of these texts. Halving finds it, and embeds all others.
        middle = len(texts) // 2
        halves = (texts[:middle], texts[middle:])
        return np.concatenate([self._embed_each(half, dimension) for half in halves])

    def _works(self, dimension: int) -> bool:
        try:
            raw_vectors(self._embedder(), [PROBE], dimension)
        except EmbeddingError:
            return False
        return True

    # ------------------------------------------------------------------ erasing and rebuilding

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """See ``View``."""
        return Erased(store.erase(writer, seqs))

    def renew(
        self, writer: SpaceWriter, derived: Mapping[int, list[Piece]], seqs: Sequence[int]
    ) -> None:
        """See ``View``. If an entry is split as before, its fragments stay and get new terms.

        Rows that refer to them stay valid then, and a sound vector stays, too.
        """
        changed: dict[int, list[Piece]] = {}
        terms: dict[int, Terms] = {}
        for seq in seqs:
            pieces = derived.get(seq, [])
            stored = store.spans(writer, seq)
            if [(start, stop) for _, start, stop in stored] == [piece.span for piece in pieces]:
                for (fragment, _, _), piece in zip(stored, pieces, strict=True):
                    terms[fragment] = piece.terms
            else:
                changed[seq] = pieces
        store.renew_terms(writer, terms)
        store.drop_unsound(writer, list(terms))
        if changed:
            known = view_states(writer)
            for view in self.dependents:
                if view.name in known:  # else it may lack tables
                    view.erase(writer, list(changed))
            self.erase(writer, list(changed))
            self.store(writer, changed)

    def finish_rebuild(self, progress: Progress | None = None) -> None:
        """See ``View``. Fragments without a vector are embedded later, like new ones."""

    def end_rebuild(self, writer: SpaceWriter) -> None:
        """Queue fragments without a vector, and make every process read the columns again."""
        for model in writer.state.models:
            store.enqueue_all(writer, model)
        writer.renew()


def _store_queued(
    writer: SpaceWriter, model: EmbeddingModel, fragments: Codes, vectors: Floats
) -> None:
    """Store the vectors of the fragments that are still queued."""
    ours = work.claim(writer, writer.id, model.work, fragments.tolist())
    still = np.isin(fragments, list(ours))
    store.insert_vectors(writer, model, fragments[still].tolist(), vectors[still])
    writer.touch()


def _fragment_size(state: SpaceState) -> FragmentSize:
    """How long the fragments of a space may be."""
    return FragmentSize.parse(ledger.choice(state, "fragment", str(FragmentSize())))


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Batches of at most ``BATCH_FRAGMENTS`` texts and ``BATCH_CHARS`` characters."""
    start = total = 0
    for at, text in enumerate(texts):
        if at > start and (total + len(text) > BATCH_CHARS or at - start == BATCH_FRAGMENTS):
            yield texts[start:at]
            start, total = at, 0
        total += len(text)
    if start < len(texts):
        yield texts[start:]


def space_embedder(
    space: Space,
    embedder: str | Embedder | None,
    opening: Callable[[str | Embedder], Embedder] = open_embedder,
) -> Embedder:
    """The requested embedding model, or by default the one that the space was built with.

    Raises ModelMismatch, UnknownName.
    """
    with space.read() as reader:
        state = reader.state
    if embedder is None:
        embedder = state.model.name if state.model else DEFAULT
    model = opening(embedder)
    ensure_same_model(state, model, space.name)
    return model


def ensure_same_model(state: SpaceState, embedder: Embedder, space: str) -> None:
    """Raises ModelMismatch when a space was built with another model than the one given.

    Its dimension is not asked for: an endpoint may be down, and vectors are checked as they come.
    """
    if state.model is None:
        return
    if embedder.name not in {model.name for model in state.models}:
        raise ModelMismatch(
            f"space {space!r} was built with the embedding model {state.model.name!r}, opened with "
            f"{embedder.name!r}",
            hint=Hint.CHANGE_MODEL,
            values={"built": state.model.name, "opened": embedder.name},
        )
