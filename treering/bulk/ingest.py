"""Add files and folders with many workers.

First every file goes into the journal, as ``add`` stores it: durable one by one. Then the views
follow: workers cut and embed while this process stores the results. A kill loses and doubles
nothing: the same call skips the files that are stored, and continues with the entries that the
views have not read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treering.bulk.worker import (
    Derived,
    ReadAhead,
    WorkerPool,
    WorkerTask,
    WorkerThreads,
    portable,
)
from treering.embed.contract import Embedder
from treering.errors import InputError
from treering.files import exists
from treering.ingest.drafts import Envelope
from treering.ingest.transcripts.importing import is_export
from treering.llm.processors import usable_processors
from treering.memory import Memory, memory_parts
from treering.records import JSON, Kind, Progress, Receipt, Skipped
from treering.views.registry import Views


@dataclass(slots=True)
class IngestReport:
    """The result of a bulk ingest; all of it is durable.

    The counts of entries are those of a ``Receipt``, summed over ``files``. ``texts`` are the
    pieces that ``workers`` cut and embedded, ``chars`` the characters of their entries. It took
    ``seconds``, and ``worker_seconds`` of the workers' processors.
    """

    files: int = 0
    added: int = 0
    unchanged: int = 0
    removed: int = 0
    moved: int = 0
    masked: int = 0
    private: int = 0
    pending: int = 0
    texts: int = 0
    chars: int = 0
    seconds: float = 0.0
    workers: int = 0
    worker_seconds: float = 0.0
    skipped: list[Skipped] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def _count(self, receipt: Receipt) -> None:
        self.added += receipt.added
        self.unchanged += receipt.unchanged
        self.removed += receipt.removed
        self.moved += receipt.moved
        self.skipped += receipt.skipped
        self.gone += receipt.gone


def bulk_ingest(
    memory: Memory,
    *places: str | Path,
    workers: int | None = None,
    ray: str | None = None,
    source: str | None = None,
    kind: Kind | None = None,
    at: Any = None,
    speaker: str | None = None,
    session: str | None = None,
    metadata: Mapping[str, JSON] | None = None,
    mask: bool = False,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> IngestReport:
    """Add files and folders as ``memory.add`` does, in less time: many workers embed.

    ``places`` are paths. A file is anything that ``add`` reads, JSON lines of messages included, or
    an export. The journal is the same as after ``add`` of each in this order. ``workers`` (default:
    one a processor) are threads of this process, or with ``ray`` (``auto``, ``local`` or an
    address; extra ``ray``) actors there, each of which loads the embedding model once. ``progress``
    counts entries; its total is 0 while files are read.

    Safe to interrupt and to repeat: a second call continues. An actor that is killed is replaced.

    Raises InputError for a missing place, before anything is added, and for a file that cannot be
    read; those of a folder are ``skipped``. Raises WorkersLost when actors end again and again,
    JournalError and MissingExtra.
    """
    began = time.monotonic()
    given = _checked_places(places)
    if workers is not None and workers < 1:
        raise InputError(
            f"workers is {workers}; give at least 1, or none for one a processor", param="workers"
        )
    space, views, *_ = memory_parts(memory)
    envelope = Envelope.check(kind, at, speaker, session, metadata, mask, encoding=encoding)
    report = IngestReport()
    embedded = total = 0

    def count(task: WorkerTask, derived: Derived) -> None:
        nonlocal embedded
        embedded += len(task.entries)
        report.texts += sum(map(len, derived.pieces.values()))
        report.chars += sum(len(entry.text) for entry in task.entries.values())
        report.worker_seconds += derived.seconds
        if progress is not None and total:
            progress(min(embedded, total), total)

    with _pool(views.embedder, workers, ray) as pool:
        with views.deriving_with(ReadAhead(space, pool, count)):
            for place in given:
                for receipt in _receipts(memory, place, source, envelope):
                    report._count(receipt)
                    report.files += bool(receipt.added or receipt.unchanged)
                    if progress is not None:
                        progress(report.added, 0)
            total, embedded = views.count_pending(), 0  # progress begins again
            report.pending = _build(views)
        report.workers = pool.size
    if report.added and envelope.cleaner is not None:
        report.masked, report.private = envelope.cleaner.masked, envelope.cleaner.private
    report.seconds = time.monotonic() - began
    return report


def _build(views: Views) -> int:
    """Let the views follow the journal; return the number of entries that they could not finish.

    If another process indexes for longer than a build waits, wait again while both make progress.
    """
    pending = views.count_pending()
    while True:
        views.build()
        before, pending = pending, views.count_pending()
        if pending == 0 or pending >= before:
            return pending


def _receipts(
    memory: Memory, place: Path, source: str | None, envelope: Envelope
) -> Iterator[Receipt]:
    """Store a file or a folder; yield the receipt of each file."""
    if is_export(place):
        yield memory.import_(place)
    else:
        yield from memory_parts(memory).intake.each_file(place, source, envelope)


def _checked_places(places: Sequence[str | Path]) -> list[Path]:
    """Return the places to read. Raise InputError if one does not exist."""
    if not places:
        raise InputError("there is nothing to take in; give at least one file or folder")
    for place in places:
        if not str(place) or not exists(place):  # an empty path would be the current folder
            raise InputError(f"there is no file or folder {str(place)!r}")
    return [Path(place) for place in places]


def _pool(
    model: Embedder, workers: int | None, ray: str | None
) -> AbstractContextManager[WorkerPool]:
    """Return the workers. Raise MissingExtra, InputError."""
    if ray is None:
        return WorkerThreads(model, workers or usable_processors())
    from treering.bulk.ray_actors import RayActors

    return RayActors(portable(model), workers, ray)
