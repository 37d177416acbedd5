"""What a worker does, wherever it runs: it cuts entries into pieces and embeds them."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from treering.arrays import Floats
from treering.embed.checked import checked
from treering.embed.contract import Embedder
from treering.embed.minilm import MiniLM
from treering.embed.registry import GROUP, open_embedder
from treering.errors import EmbeddingError, InputError, MissingExtra
from treering.plugins import plugins
from treering.records import Entry
from treering.split import FragmentSize
from treering.views.fragments.cut import Piece, cut_and_embed
from treering.views.fragments.parts import PartwiseEmbedder

TASK_ENTRIES: Final = 64
TASK_CHARS: Final = 1 << 16
"""A task keeps a worker busy for a fraction of a second: so much is done again if it is killed."""

MAX_LOST: Final = 3
"""So many workers may end one after the other over the same task."""


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """Entries by sequence number, and how long their pieces may be."""

    entries: Mapping[int, Entry]
    size: FragmentSize


@dataclass(frozen=True, slots=True)
class Derived:
    """The pieces of a task's entries, and the processor time that they took.

    If the embedder failed, ``error`` says why, and no piece has a vector.
    """

    pieces: Mapping[int, list[Piece]]
    seconds: float
    error: str | None = None


class WorkerPool(Protocol):
    """Workers, so many at a time. A task that is lost with a worker is done by another one."""

    @property
    def size(self) -> int:
        """How many workers there are."""
        ...

    def submit(self, task: WorkerTask) -> Any:
        """Hand a task to a worker; ``collect`` takes what this returns."""
        ...

    def collect(self, pending: Any) -> Derived:
        """Wait for a task. Raises WorkersLost, and InputError if no worker can open the model."""
        ...


class Worker:
    """Does tasks one after the other. The model is loaded once, with the first."""

    def __init__(self, embedder: str | Embedder) -> None:
        self._spec = embedder
        self._embedder: Embedder | None = None

    def derive(self, task: WorkerTask) -> Derived:
        """The pieces of a task's entries. Raises UnknownName for a model that is not there."""
        began = time.process_time()
        errors: list[str] = []

        def vectors_of(texts: list[str]) -> Floats | None:
            try:
                model = self._opened()
                whole = task.size.fits_models
                return checked(model if whole else PartwiseEmbedder(model), texts)
            except (EmbeddingError, MissingExtra) as error:
                errors.append(str(error))
                return None

        pieces = cut_and_embed(task.entries, task.size, vectors_of)
        return Derived(pieces, time.process_time() - began, errors[0] if errors else None)

    def _opened(self) -> Embedder:
        if self._embedder is None:
            # A worker for each processor: more threads would take them from each other.
            is_bundled = self._spec == MiniLM.name
            self._embedder = MiniLM(threads=1) if is_bundled else open_embedder(self._spec)
        return self._embedder


def tasks_of(entries: Mapping[int, Entry], size: FragmentSize) -> Iterator[WorkerTask]:
    """Entries in tasks, each small enough to be done soon."""
    due: dict[int, Entry] = {}
    chars = 0
    for seq, entry in entries.items():
        due[seq] = entry
        chars += len(entry.text)
        if len(due) >= TASK_ENTRIES or chars >= TASK_CHARS:
            yield WorkerTask(due, size)
            due, chars = {}, 0
    if due:
        yield WorkerTask(due, size)


def portable(embedder: Embedder) -> str | Embedder:
    """What another process opens the same model by: its specification, or a copy of it.

    Raises InputError for a model that has neither.
    """
    kind = embedder.name.partition(":")[0]
    if type(embedder).__module__.startswith("treering.") or kind in plugins(GROUP).names:
        return embedder.name
    try:
        pickle.loads(pickle.dumps(embedder))
    except Exception as error:  # whatever the model's own methods raise
        raise InputError(
            f"the embedder {embedder.name!r} cannot be sent to other processes ({error}); give one "
            "by its specification, such as minilm, or make it an entry point of " + GROUP
        ) from error
    return embedder
