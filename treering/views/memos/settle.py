"""Writes due lines into memos: in parallel over conversations, and safe to interrupt.

The model is asked outside any transaction. One transaction stores its reply and takes the batch off
the queue, and only if the lines are still as the model saw them. After a crash before that, the
model is asked again.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from treering.embed.contract import Embedder
from treering.errors import LLMError, UnknownName
from treering.journal import entries, ledger, work
from treering.journal.contract import Reader, Writer
from treering.journal.space import Space
from treering.llm.contract import LLM
from treering.records import Progress
from treering.search.terms import terms
from treering.views.follow import SETTLE_PATIENCE_S
from treering.views.memos import store, write
from treering.views.memos.due import Line, Window, batches, dialogues
from treering.views.memos.record import NOTO, Claim, spoken
from treering.views.memos.store import NewVersion, StoredMemo
from treering.views.memos.write import Part, Partition
from treering.views.settings import SpaceSettings
from treering.views.support import SupportCheck

CALLS_IN_FLIGHT: Final = 8
"""Language model calls at a time: a small local server and usual rate limits bear as many."""

MOST_LINES: Final = 60
"""Of one memo: about what a 2,048-token window can show. A longer topic begins another memo."""

Batch = tuple[Line, ...]
Key = frozenset[int] | str
MemoIds = dict[Key, str]
"""The id of the latest memo on each topic of a conversation."""


@dataclass(slots=True)
class _Counter:
    """Counts finished batches, for a progress bar."""

    total: int
    progress: Progress | None
    done: int = 0

    def step(self) -> None:
        self.done += 1
        if self.progress:
            self.progress(self.done, self.total)


class MemoSettler:
    """Writes the due lines of one space into memos."""

    def __init__(
        self,
        space: Space,
        llm: LLM,
        embedder: Embedder,
        settings: SpaceSettings,
    ) -> None:
        self._space = space
        self._llm = llm
        self._check = SupportCheck(embedder)
        self._settings = settings
        self._window = Window.from_settings(settings, llm.count_tokens)

    def run(
        self,
        source: str | None = None,
        progress: Progress | None = None,
        *,
        upgrade: bool = False,
    ) -> None:
        """Write every batch that is due now, of all conversations or of one.

        ``upgrade`` also writes the batches again whose replies could not be read. Raises the first
        LLMError after the other conversations are done. The failed batch and those after it in its
        conversation stay queued.
        """
        queues = self._queue(source, upgrade)
        if not queues:
            return
        counter = _Counter(sum(len(queue) for queue in queues), progress)
        # One failure must not stop the other conversations: their replies are paid for.
        failures: list[LLMError] = []
        with ThreadPoolExecutor(CALLS_IN_FLIGHT, thread_name_prefix="treering-memo") as pool:
            # Who settles waits for another process that writes the conversation; after a message of
            # a chat nobody does, and what the other one leaves stays queued.
            patience_s = SETTLE_PATIENCE_S if source is None else 0.0
            try:
                running = [
                    pool.submit(self._conversation, queue, counter, patience_s) for queue in queues
                ]
                for future in as_completed(running):
                    error = future.exception()
                    if isinstance(error, LLMError):
                        failures.append(error)
                    elif error is not None:
                        raise error
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        if failures:
            raise failures[0]

    def _queue(self, source: str | None, upgrade: bool) -> list[list[Batch]]:
        """Put the due batches of each conversation on the queue and return them.

        The queue is read in the transaction that reads the lines. So a batch that another settler
        queues while tokens are counted is not taken for stale.
        """
        with self._space.read() as reader:
            open_dialogues = dialogues(reader, reader.id, source, upgrade=upgrade)
            queued = set(work.queued(reader, reader.id, store.VIEW, store.ALL))
        queues = [list(batches(dialogue, self._window)) for dialogue in open_dialogues]
        # A batch is queued under its first line. A queued line that begins no batch any more is
        # stale, but only a look at all conversations can tell.
        firsts = {batch[0].seq for queue in queues for batch in queue}
        stale = queued - firsts if source is None else set()
        if firsts - queued or stale:
            with self._space.write() as writer:
                work.claim(writer, writer.id, store.VIEW, stale)
                work.enqueue(writer, writer.id, store.VIEW, sorted(firsts))
        return [queue for queue in queues if queue]

    def _conversation(self, queue: list[Batch], counter: _Counter, patience_s: float) -> None:
        """Write the batches of a conversation, unless another process does."""
        with self._space.task(f"memos of {queue[0][0].entry.source}", patience_s) as is_ours:
            if is_ours:
                self._write(queue, counter)

    def _write(self, queue: list[Batch], counter: _Counter) -> None:
        """Write batches in order, so that a topic that returns finds its first memo."""
        memo_ids = self._memo_ids(queue[0])
        for batch in queue:
            if self._is_written(batch):
                counter.step()
                continue
            wording, temperature = self._settings.wording, self._settings.temperature or 0.0
            lines = [spoken(line.entry, wording) for line in batch]
            try:
                partition = write.partition(self._llm, lines, wording, temperature)
            except LLMError as error:
                self._note(batch, error)
                raise
            claims = [self._claims(partition, part, lines) for part in partition.parts]
            self._store(batch, partition, claims, memo_ids)
            counter.step()

    def _is_written(self, batch: Batch) -> bool:
        """Whether another process has written a batch before this one had its turn."""
        with self._space.read() as reader:
            if not store.written(reader, [line.seq for line in batch]):
                return False
        with self._space.write() as writer:  # it may have been queued again since
            work.claim(writer, writer.id, store.VIEW, [batch[0].seq])
        return True

    def _claims(self, partition: Partition, part: Part, lines: Sequence[str]) -> tuple[Claim, ...]:
        if partition.fallback:
            return (Claim(part.summary, True),)
        claims = self._check.claims(part.summary, lines[part.start - 1 : part.end])
        return tuple(Claim(*pair) for pair in claims)

    def _note(self, batch: Batch, error: LLMError) -> None:
        """Note why a call failed, unless its lines changed: a reason may quote erased lines."""
        with self._space.write() as writer:
            if _as_seen(writer, batch):
                work.failed(writer, writer.id, store.VIEW, [batch[0].seq], str(error))

    def _memo_ids(self, batch: Batch) -> MemoIds:
        with self._space.read() as reader:
            neighbours = store.beside(reader, reader.id, batch[0].seq)
        return {_key(topic): name for name, topic in neighbours}

    def _store(
        self, batch: Batch, partition: Partition, claims: list[tuple[Claim, ...]], memo_ids: MemoIds
    ) -> None:
        """Store memos, unless lines changed or another settler was faster. Always note the cost.

        The memos show whether another settler was faster. The queue does not: a slower settler
        may have queued a batch again that was written in the meantime.
        """
        with self._space.write() as writer:
            ledger.spend(writer, partition.usage.spent("memo", partition.writer))
            if not _as_seen(writer, batch):
                return
            space = writer.id
            work.claim(writer, space, store.VIEW, [batch[0].seq])
            lines = [line.seq for line in batch]
            if store.written(writer, lines):
                return
            store.drop_fallbacks(writer, lines)
            for part, part_claims in zip(partition.parts, claims, strict=True):
                new = NewVersion(
                    topic=part.topic,
                    claims=part_claims,
                    origin="fallback" if partition.fallback else "written",
                    made=entries.micros(datetime.now(UTC)),
                    covered=tuple(lines[part.start - 1 : part.end]),
                    seen=tuple(lines),
                    writer=partition.writer,
                )
                _put(writer, space, memo_ids, new)


def _put(writer: Writer, space: int, memo_ids: MemoIds, new: NewVersion) -> None:
    """Store a new memo, or extend the conversation's memo on the same topic."""
    key = _key(new.topic)
    before = _extensible(writer, space, memo_ids.get(key), new)
    if before is not None:
        new = _extended(writer, before, new)
    name = before.memo.id if before else secrets.token_hex(8)
    store.add_version(writer, store.create(writer, space, name), new)
    memo_ids[key] = name


def _extensible(reader: Reader, space: int, name: str | None, new: NewVersion) -> StoredMemo | None:
    """The memo of that name, if it still has the topic and room for more lines."""
    if name is None or new.topic == NOTO:
        return None
    try:
        stored = store.find(reader, space, name)
    except UnknownName:  # deleted, erased or merged meanwhile
        return None
    same = _key(stored.memo.topic) == _key(new.topic)
    return stored if same and len(stored.covered) + len(new.covered) <= MOST_LINES else None


def _key(topic: str) -> Key:
    """A key that wordings of a topic share: that of "the boat trip" is that of "Boat trips"."""
    return frozenset(terms(topic)[:, 0].tolist()) or topic.casefold()


def _extended(reader: Reader, before: StoredMemo, new: NewVersion) -> NewVersion:
    """The old text, then the new one, over the lines of both."""
    old = before.memo
    return replace(
        new,
        topic=old.topic,
        claims=tuple(dict.fromkeys((*old.claims, *new.claims))),
        covered=(*before.covered, *new.covered),
        seen=(*store.seen(reader, before.version), *new.seen),
        pinned=old.pinned,
    )


def _as_seen(reader: Reader, batch: Batch) -> bool:
    """Whether the lines are still there, unchanged."""
    current = entries.by_seq(reader, [line.seq for line in batch])
    return all(current.get(line.seq) == line.entry for line in batch)
