"""Taking in files, folders and URIs with many workers.

First everything goes into the journal, as ``add`` puts it there: file by file, durable one by one.
Then the views follow, and what takes long, cutting and embedding, is done by workers while this
process stores what they have done. Whatever is killed, nothing is lost or doubled: the same call
passes over the files that are there, and goes on with the entries that the views have not read.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from treering.bulk.ahead import ReadAhead, WorkDone
from treering.bulk.processes import Processes
from treering.bulk.remote import FILE, RemoteFiles, is_uri, local_path
from treering.bulk.worker import WorkerPool, portable
from treering.embed.contract import Embedder
from treering.errors import InputError, MissingExtra
from treering.ingest.drafts import Envelope
from treering.ingest.intake import Intake
from treering.ingest.transcripts.importing import is_export
from treering.llm.processors import usable_processors
from treering.memory import Memory, intake_of, space_of, views_of
from treering.records import JSON, Kind, Receipt, Skipped
from treering.views.registry import Views

_MEGA: Final = 1e6

IngestStep = Literal["reading", "embedding"]


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far a bulk ingest is.

    While it is ``reading``, ``done`` files went into the journal, with ``entries`` new entries;
    while it is ``embedding``, ``done`` of ``total`` entries were read by the views. ``texts`` and
    ``chars`` are what workers cut and embedded in ``seconds`` of that step.
    """

    step: IngestStep
    done: int
    total: int
    entries: int
    texts: int
    chars: int
    seconds: float

    @property
    def texts_per_second(self) -> float:
        """Pieces embedded a second."""
        return self.texts / self.seconds if self.seconds else 0.0

    @property
    def megachars_per_second(self) -> float:
        """Characters embedded a second, in millions: megabytes, where letters are of ASCII."""
        return self.chars / _MEGA / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Until all is embedded, at the speed so far; None where that cannot be told."""
        if self.step != "embedding" or not self.done:
            return None
        return self.seconds * (self.total - self.done) / self.done


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What a bulk ingest has done; all of it is durable.

    The counts of entries are those of a ``Receipt``, summed over ``files``. ``texts`` are the
    pieces that ``workers`` cut and embedded, ``chars`` the characters of their entries. It took
    ``seconds``, and ``worker_seconds`` of the workers' processors.
    """

    files: int
    added: int
    unchanged: int
    removed: int
    moved: int
    masked: int
    private: int
    pending: int
    texts: int
    chars: int
    seconds: float
    workers: int
    worker_seconds: float
    skipped: tuple[Skipped, ...] = ()
    gone: tuple[str, ...] = ()


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
    progress: Callable[[IngestProgress], None] | None = None,
) -> IngestReport:
    """Take in files and folders as ``memory.add`` does, in less time: many workers embed.

    ``places`` are paths, or URIs that fsspec reads (extra ``remote``): ``s3://bucket/folder``. A
    file is whatever ``add`` reads, JSON lines of messages among it, or an export. The journal is
    the same as after ``add`` of each in this order. ``workers`` (default: one a processor) are
    processes of this machine, or with ``ray`` (``auto``, ``local`` or an address; extra ``ray``)
    actors there. Each loads the embedding model once.

    Safe to interrupt and to repeat: called again, it goes on. A worker that is killed is replaced.

    Raises InputError for a place that is not there, before anything is taken in, and for a file
    that cannot be read; those of a folder are ``skipped``. Raises WorkersLost when workers end
    again and again, JournalError and MissingExtra.
    """
    views, model = views_of(memory), views_of(memory).embedder
    envelope = Envelope.of(kind, at, speaker, session, metadata, mask)
    given = _checked(places)
    _check_workers(workers)
    intake_of(memory).recover()  # what an earlier call left must not come after what is new
    run = _Run(memory, envelope, source, progress)
    with _pool(portable(model), workers, ray) as pool, intake_of(memory).under_way():
        ahead = ReadAhead(space_of(memory), pool, run.embedded)
        with views.deriving_with(ahead):
            for place in given:
                run.take_in(place)
            run.begin_embedding(views.pending(), ahead.done)
            pending = _build(views)
            return run.report(pool.size, ahead.done, pending)


def _build(views: Views) -> int:
    """Let the views follow the journal; return how many entries they could not get done.

    Another process that indexes for longer than a build waits for it is waited for again, as long
    as the two get on.
    """
    pending = views.pending()
    while True:
        views.build()
        before, pending = pending, views.pending()
        if pending == 0 or pending >= before:
            return pending


@dataclass(slots=True)
class _Run:
    """One call: what was taken in so far, and whom to tell."""

    memory: Memory
    envelope: Envelope
    source: str | None
    progress: Callable[[IngestProgress], None] | None
    _counts: Counter[str] = field(default_factory=Counter)
    _skipped: list[Skipped] = field(default_factory=list)
    _gone: list[str] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _embedding: _Embedding | None = None

    def take_in(self, place: Path | RemoteFiles) -> None:
        """Put a file, the files of a folder, or those at a URI into the journal."""
        last = None
        # Closed at once if who is told raises: what is left of a large file can be taken in then.
        with closing(self._receipts(place)) as receipts:
            for name, receipt in receipts:
                for count in ("added", "unchanged", "removed", "moved"):
                    self._counts[count] += getattr(receipt, count)
                if name != last and (receipt.added or receipt.unchanged):
                    self._counts["files"] += 1
                    last = name
                self._skipped += receipt.skipped
                self._gone += receipt.gone
                self._tell_files()

    def begin_embedding(self, entries: int, done: WorkDone) -> None:
        """From now on so many entries are embedded; workers have ``done`` something before."""
        self._embedding = _Embedding(entries, replace(done))

    def embedded(self, done: WorkDone) -> None:
        """Workers have done some more."""
        step = self._embedding
        if self.progress is None or step is None:
            return
        self.progress(
            IngestProgress(
                "embedding",
                min(done.entries - step.before.entries, step.entries),
                step.entries,
                entries=self._counts["added"],
                texts=done.texts - step.before.texts,
                chars=done.chars - step.before.chars,
                seconds=time.monotonic() - step.began,
            )
        )

    def report(self, workers: int, done: WorkDone, pending: int) -> IngestReport:
        """What was done in all."""
        hidden = self.envelope.count(Receipt())
        return IngestReport(
            **{
                name: self._counts[name]
                for name in ("files", "added", "unchanged", "removed", "moved")
            },
            masked=hidden.masked,
            private=hidden.private,
            pending=pending,
            texts=done.texts,
            chars=done.chars,
            seconds=time.monotonic() - self._began,
            workers=workers,
            worker_seconds=done.seconds,
            skipped=tuple(self._skipped),
            gone=tuple(self._gone),
        )

    def _receipts(self, place: Path | RemoteFiles) -> Generator[tuple[object, Receipt], None, None]:
        """What each file, by some name, came to; one that is large has several receipts."""
        intake = intake_of(self.memory)
        if isinstance(place, RemoteFiles):
            yield from _of_remote(intake, place, self.source, self.envelope)
        elif is_export(place):
            yield place, self.memory.import_(place)
        else:
            yield from intake.each_file(place, self.source, self.envelope)

    def _tell_files(self) -> None:
        if self.progress is not None:
            files, seconds = self._counts["files"], time.monotonic() - self._began
            self.progress(IngestProgress("reading", files, 0, self._counts["added"], 0, 0, seconds))


@dataclass(frozen=True, slots=True)
class _Embedding:
    """The second step: how many entries, what workers had done before it, and when it began."""

    entries: int
    before: WorkDone
    began: float = field(default_factory=time.monotonic)


def _of_remote(
    intake: Intake, place: RemoteFiles, source: str | None, envelope: Envelope
) -> Iterator[tuple[str, Receipt]]:
    """Take in the files at a URI, one copy on this disk at a time; each is named by its URI."""
    for uri in place:
        name = uri if source is None else source if place.is_one else f"{source}/{place.below(uri)}"
        try:
            for receipt in _of_uri(intake, place, uri, name, envelope):
                yield uri, receipt
        except (InputError, MissingExtra) as error:
            if place.is_one:
                raise
            reason = str(error).removeprefix(uri).lstrip(": ")
            yield uri, Receipt(skipped=(Skipped(uri, reason),))


def _of_uri(
    intake: Intake, place: RemoteFiles, uri: str, name: str, envelope: Envelope
) -> Iterator[Receipt]:
    """Take in one file. Raises InputError and MissingExtra."""
    with place.fetched(uri) as file:
        try:
            yield from intake.file(file, name, envelope)
        except OSError as error:
            raise InputError(f"{uri}: {error}") from error


def _checked(places: Sequence[str | Path]) -> list[Path | RemoteFiles]:
    """What is to be read. Raises InputError if something of it is not there."""
    if not places:
        raise InputError("there is nothing to take in; give at least one file, folder or URI")
    given: list[Path | RemoteFiles] = []
    for place in places:
        if isinstance(place, str) and is_uri(place) and (path := local_path(place)) is None:
            given.append(RemoteFiles(place))
            continue
        path = place if isinstance(place, Path) else local_path(place) or Path(place)
        # An empty path would be the folder that one is in.
        if str(place) in ("", FILE) or not _is_there(path):
            raise InputError(f"there is no file or folder {str(place)!r}")
        given.append(path)
    return given


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long for any file
        return False


def _check_workers(workers: int | None) -> None:
    if workers is not None and workers < 1:
        raise InputError(
            f"workers is {workers}; give at least 1, or none for one a processor", param="workers"
        )


def _pool(
    model: str | Embedder, workers: int | None, ray: str | None
) -> AbstractContextManager[WorkerPool]:
    """The workers. Raises MissingExtra, InputError."""
    if ray is None:
        return Processes(model, workers or usable_processors())
    from treering.bulk.ray_actors import RayActors

    return RayActors(model, workers, ray)
