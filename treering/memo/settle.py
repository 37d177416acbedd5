"""Writing what is due into memos: in parallel over conversations, safe to interrupt.

The model is asked outside any transaction. A reply is stored together with taking its batch off the
queue, and only if the lines are still as the model saw them; a crash before that asks again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from treering.embed.contract import Embedder
from treering.errors import LLMError
from treering.fragments import store as fragments
from treering.journal import entries, ledger, work
from treering.journal.contract import Database, Reader, Writer
from treering.llm.contract import LLM
from treering.memo import store
from treering.memo.claims import Check
from treering.memo.due import Line, batches, dialogues
from treering.memo.lines import spoken
from treering.memo.record import NOTO, Claim
from treering.memo.store import NewVersion, Stored
from treering.memo.write import Part, Partition, Wording, partition
from treering.records import Spent
from treering.score.terms import terms

CALLS_IN_FLIGHT: Final = 8
"""Language model calls at a time: what a small local server batches and a rate limit bears."""

MOST_LINES: Final = 60
"""Of one memo: about what a 2,048-token window can show. A topic that goes on begins another."""

Batch = tuple[Line, ...]
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class _Counter:
    """How far it is, for a bar."""

    total: int
    progress: Progress | None
    done: int = 0

    def step(self) -> None:
        self.done += 1
        if self.progress:
            self.progress(self.done, self.total)


class Settler:
    """Writes the due lines of one space into memos."""

    def __init__(
        self,
        database: Database,
        space: str,
        llm: LLM,
        embedder: Embedder,
        wording: Wording = "mended",
    ) -> None:
        self._database = database
        self._space = space
        self._llm = llm
        self._check = Check(embedder)
        self._wording: Wording = wording

    def run(self, source: str | None = None, progress: Progress | None = None) -> None:
        """Write every batch that is due now, of all conversations or of one.

        Raises the first LLMError after the other conversations have been done; what failed, and
        what comes after it in its conversation, stays queued.
        """
        queues = self._queue(source)
        if not queues:
            return
        counter = _Counter(sum(len(queue) for queue in queues), progress)
        failures: list[LLMError] = []
        with ThreadPoolExecutor(CALLS_IN_FLIGHT, thread_name_prefix="treering-memo") as pool:
            try:
                running = [pool.submit(self._conversation, queue, counter) for queue in queues]
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

    def _queue(self, source: str | None) -> list[list[Batch]]:
        """The batches of each conversation, put on the queue."""
        with self._database.read() as reader:
            state = fragments.state(reader, self._space)
            found = dialogues(reader, state.space, source) if state else []
        if state is None:
            return []
        queues = [list(batches(one, self._llm.count_tokens)) for one in found]
        firsts = {batch[0].seq for queue in queues for batch in queue}
        with self._database.read() as reader:
            queued = set(work.queued(reader, state.space, store.VIEW, store.ALL))
        stale = queued - firsts if source is None else set()
        if firsts - queued or stale:
            with self._database.write() as writer:
                work.claim(writer, state.space, store.VIEW, stale)
                work.enqueue(writer, state.space, store.VIEW, sorted(firsts))
        return [queue for queue in queues if queue]

    def _conversation(self, queue: list[Batch], counter: _Counter) -> None:
        """Batches in their order: a topic that comes up again finds the memo of its first time."""
        for batch in queue:
            lines = [spoken(line.entry) for line in batch]
            try:
                made = partition(self._llm, lines, self._wording)
            except LLMError as error:
                self._note(batch, error)
                raise
            claims = [self._claims(made, part, lines) for part in made.parts]
            self._store(batch, made, claims)
            counter.step()

    def _claims(self, made: Partition, part: Part, lines: Sequence[str]) -> tuple[Claim, ...]:
        if made.fallback:
            return (Claim(part.summary, True),)
        return self._check(part.summary, lines[part.start - 1 : part.end])

    def _note(self, batch: Batch, error: LLMError) -> None:
        with self._database.write() as writer:
            space = entries.space_id(writer, self._space)
            work.failed(writer, space, store.VIEW, [batch[0].seq], str(error))

    def _store(self, batch: Batch, made: Partition, claims: list[tuple[Claim, ...]]) -> None:
        """Store memos, unless lines have changed or somebody else was faster; pay in any case."""
        with self._database.write() as writer:
            space = entries.space_id(writer, self._space)
            ledger.spend(writer, space, _cost(made))
            if not _as_seen(writer, batch):
                return
            if not work.claim(writer, space, store.VIEW, [batch[0].seq]):
                return
            for part, said in zip(made.parts, claims, strict=True):
                lines = batch[part.start - 1 : part.end]
                _put(writer, space, _version(made, part, said, lines, batch))


def _put(writer: Writer, space: int, new: NewVersion) -> None:
    """A memo of its own, or what extends the one of the same topic in the same conversation."""
    before = _same_topic(writer, space, new)
    if before is not None:
        new = _extended(writer, before, new)
    name = before.memo.id if before else secrets.token_hex(8)
    store.add_version(writer, store.create(writer, space, name), new)


def _same_topic(reader: Reader, space: int, new: NewVersion) -> Stored | None:
    """The latest memo of this topic in the same conversation that has room for more lines."""
    if new.topic == NOTO:
        return None
    wanted = _key(new.topic)
    for name, topic, lines in store.beside(reader, space, new.covered[0]):
        if _key(topic) == wanted and lines + len(new.covered) <= MOST_LINES:
            return store.find(reader, space, name)
    return None


def _key(topic: str) -> frozenset[int] | str:
    """What the wordings of a topic share: "the boat trip" and "Boat trips" are one."""
    return frozenset(terms(topic)[:, 0].tolist()) or topic.casefold()


def _extended(reader: Reader, before: Stored, new: NewVersion) -> NewVersion:
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


def _version(
    made: Partition, part: Part, claims: tuple[Claim, ...], lines: Batch, batch: Batch
) -> NewVersion:
    return NewVersion(
        topic=part.topic,
        claims=claims,
        origin="fallback" if made.fallback else "written",
        made=entries.micros(datetime.now(UTC)),
        covered=tuple(line.seq for line in lines),
        seen=tuple(line.seq for line in batch),
        writer=made.writer,
    )


def _as_seen(reader: Reader, batch: Batch) -> bool:
    """Whether the lines are still there, unchanged."""
    current = entries.by_seq(reader, [line.seq for line in batch])
    return all(current.get(line.seq) == line.entry for line in batch)


def _cost(made: Partition) -> Spent:
    usage = made.usage
    return Spent("memo", made.writer, usage.calls, usage.prompt_tokens, usage.completion_tokens)
