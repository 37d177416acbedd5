"""Writes due lines into memos (MemoChat, section 3.2): in parallel over conversations.

Calls of the model happen outside transactions. One transaction stores a reply, if the lines are
still as the model saw them. After a crash before that, the next ``settle`` calls again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count, groupby
from typing import Final

from treering.embed.contract import Embedder
from treering.errors import LLMError, TreeringError
from treering.journal import entries, ledger, sources, work
from treering.journal.contract import Reader, Writer
from treering.journal.space import Space
from treering.llm.contract import LLM
from treering.records import Entry, Progress
from treering.search.terms import terms
from treering.views.choices import SpaceSettings
from treering.views.follow import SETTLE_PATIENCE_S, collect_errors, model_calls
from treering.views.memos import changes, store, write
from treering.views.memos.record import NOTO, Claim, speaker_line
from treering.views.memos.store import NewMemo
from treering.views.memos.write import Part, Partition
from treering.views.support import SupportCheck

EXCHANGE: Final = 2
"""Lines of an exchange. The last exchange stays in the recent dialogue."""

Lines = dict[int, Entry]
"""Lines of a conversation by sequence number, in the order they were said."""

VIEW: Final = "memo"
"""The kind of work whose targets are the first lines of batches for which a call failed."""

MOST_LINES: Final = 60
"""Of one memo: about what a 2,048-token window can show. A longer topic begins another memo."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The lines of one conversation that no memo stands for.

    ``gaps`` are runs of such lines before a memo's lines: an erased memo leaves them. ``recent``
    are the lines after the last memo's.
    """

    source: str
    gaps: Sequence[Lines]
    recent: Lines

    def batches(self, settings: SpaceSettings, count: Callable[[str], int]) -> Iterator[Lines]:
        """The lines to write, one call for each batch. The rest stays in the recent dialogue.

        A batch is due where the lines exceed the space's ``memo_lines`` or ``memo_tokens``, which
        ``count`` counts. It is the same whether lines are added one by one or all at once.
        """
        for gap in self.gaps:
            yield from _cut(gap, settings, count)
        *due, _ = _cut(self.recent, settings, count)
        yield from due


def _cut(lines: Lines, settings: SpaceSettings, count: Callable[[str], int]) -> Iterator[Lines]:
    """The due batches; the lines after them come last, however few."""
    batch: list[tuple[int, Entry]] = []
    tokens: list[int] = []
    for seq, line in lines.items():
        batch.append((seq, line))
        tokens.append(count(speaker_line(line, settings.wording)))
        # A user's new line stays alone; a reply stays with the line that it answers.
        staying = 1 if line.role == "user" else EXCHANGE
        is_due = len(batch) > settings.memo_lines or sum(tokens) > settings.memo_tokens
        if is_due and len(batch) > staying:
            yield dict(batch[:-staying])
            del batch[:-staying], tokens[:-staying]
    yield dict(batch)


def read_dialogues(
    reader: Reader, source: str | None = None, *, upgrade: bool = False
) -> list[Dialogue]:
    """The conversations with lines that no memo stands for; of all sources, or of one.

    With ``upgrade``, the lines of fallback memos count as lines without a memo.
    """
    condition, params = (
        ("", ()) if source is None else (" AND s.hash = ?", (sources.name_hash(source),))
    )
    rows = list(
        reader.rows(
            "SELECT e.source, e.seq, EXISTS (SELECT 1 FROM memo_line l"
            " JOIN memo m ON m.space = l.space AND m.id = l.memo"
            " WHERE l.space = e.space AND l.entry = e.seq AND l.covered = 1"
            " AND (? = 0 OR m.origin <> 'fallback'))"
            " FROM entry e JOIN source s ON s.space = e.space AND s.id = e.source"
            f" WHERE s.space = ? AND e.kind = 'chat' AND s.hash <> ?{condition}"
            " ORDER BY e.source, e.position",
            (int(upgrade), reader.space, sources.name_hash(changes.SOURCE), *params),
        )
    )
    by_source = (list(group) for _, group in groupby(rows, key=lambda row: row[0]))
    return [
        _dialogue(reader, [(int(seq), bool(covered)) for _, seq, covered in group])
        for group in by_source
        if not all(covered for _, _, covered in group)
    ]


def _dialogue(reader: Reader, lines: Sequence[tuple[int, bool]]) -> Dialogue:
    there = entries.there(reader, [seq for seq, covered in lines if not covered])
    runs = [
        {seq: there[seq] for seq, _ in run}
        for covered, run in groupby(lines, key=lambda line: line[1])
        if not covered
    ]
    is_recent = not lines[-1][1]  # else a memo stands for the last line, and every run is a gap
    recent = runs.pop() if is_recent else {}
    return Dialogue(next(iter(there.values())).source, runs, recent)


class MemoSettler:
    """Writes the due lines of one space into memos."""

    def __init__(self, space: Space, llm: LLM, embedder: Embedder, settings: SpaceSettings) -> None:
        self._space = space
        self._llm = llm
        self._check = SupportCheck(embedder)
        self._settings = settings

    def run(
        self,
        source: str | None = None,
        progress: Progress | None = None,
        *,
        upgrade: bool = False,
    ) -> None:
        """Write every batch that is due now, of all conversations or of one.

        ``upgrade`` also writes the batches again whose replies could not be read. Raises the first
        LLMError after the other conversations are done; what failed stays due.
        """
        queues = self._due(source, upgrade)
        if not queues:
            return
        # A caller that settles waits for another process that writes the conversation. After a
        # message of a chat nothing waits: the other process's leftovers stay due.
        patience_s = SETTLE_PATIENCE_S if source is None else 0.0
        total, done = sum(map(len, queues)), count(1)

        def step() -> None:
            if progress:
                progress(next(done), total)

        # One failure must not stop the other conversations: their replies are paid for.
        failures: list[TreeringError] = []
        with model_calls(VIEW) as pool:
            running = [pool.submit(self._write, queue, patience_s, step) for queue in queues]
            for future in as_completed(running):
                with collect_errors(failures):
                    future.result()
        if failures:
            raise failures[0]

    def _due(self, source: str | None, upgrade: bool) -> list[list[Lines]]:
        """The due batches of each conversation; notes on failures of other batches are dropped."""
        with self._space.read() as reader:
            dialogues = read_dialogues(reader, source, upgrade=upgrade)
            noted = set(work.targets(reader, reader.id, VIEW, 1 << 62)) if source is None else set()
        queues = [
            list(dialogue.batches(self._settings, self._llm.count_tokens)) for dialogue in dialogues
        ]
        stale = noted - {next(iter(batch)) for queue in queues for batch in queue}
        if stale:
            with self._space.write() as writer:
                work.claim(writer, writer.id, VIEW, stale)
        return [queue for queue in queues if queue]

    def _write(self, queue: Sequence[Lines], patience_s: float, step: Callable[[], None]) -> None:
        """Write the batches of a conversation in order, unless another process does."""
        source = next(iter(queue[0].values())).source
        with self._space.task(f"memos of {source}", patience_s) as is_ours:
            for batch in queue if is_ours else ():
                with self._space.read() as reader:
                    is_written = store.is_written(reader, list(batch))  # by another process since
                if not is_written:
                    self._write_batch(batch)
                step()

    def _write_batch(self, batch: Lines) -> None:
        wording, temperature = self._settings.wording, self._settings.temperature or 0.0
        lines = [speaker_line(line, wording) for line in batch.values()]
        try:
            partition = write.partition(self._llm, lines, wording, temperature)
        except LLMError as error:
            self._note(batch, error)
            raise
        claims = [self._claims(partition, part, lines) for part in partition.parts]
        self._store(batch, partition, claims)

    def _claims(self, partition: Partition, part: Part, lines: Sequence[str]) -> tuple[Claim, ...]:
        if partition.is_fallback:
            return (Claim(part.summary, True),)
        claims = self._check.claims(part.summary, lines[part.start - 1 : part.end])
        return tuple(Claim(*pair) for pair in claims)

    def _note(self, batch: Lines, error: LLMError) -> None:
        """Note why a call failed, unless its lines changed: a reason may quote erased lines."""
        with self._space.write() as writer:
            if _is_unchanged(writer, batch):
                first = [next(iter(batch))]
                work.enqueue(writer, writer.id, VIEW, first)
                work.note_failure(writer, writer.id, VIEW, first, str(error))

    def _store(
        self, batch: Lines, partition: Partition, claims: Sequence[tuple[Claim, ...]]
    ) -> None:
        """Store memos, unless lines changed or another settler was faster. Always note the cost."""
        with self._space.write() as writer:
            ledger.spend(writer, partition.usage.spent("memo", partition.writer))
            lines = list(batch)
            if not _is_unchanged(writer, batch):
                return
            work.claim(writer, writer.id, VIEW, lines)
            if store.is_written(writer, lines):
                return
            store.drop_fallbacks(writer, lines)
            for part, part_claims in zip(partition.parts, claims, strict=True):
                new = NewMemo(
                    topic=part.topic,
                    claims=part_claims,
                    origin="fallback" if partition.is_fallback else "written",
                    made=entries.micros(datetime.now(UTC)),
                    covered=tuple(lines[part.start - 1 : part.end]),
                    seen=tuple(lines),
                    writer=partition.writer,
                )
                _put(writer, new)


def _put(writer: Writer, new: NewMemo) -> None:
    """Store a new memo, or extend the conversation's latest memo on the same topic."""
    name = _name_of_topic(writer, new)
    before = store.find(writer, name) if name else None
    if before is not None and len(before.covered) + len(new.covered) <= MOST_LINES:
        old = before.memo
        new = replace(
            new,
            topic=old.topic,
            claims=tuple(dict.fromkeys((*old.claims, *new.claims))),
            covered=(*before.covered, *new.covered),
            seen=(*store.seen(writer, before.number), *new.seen),
            pinned=old.pinned,
        )
        return store.put(writer, old.id, new)
    return store.put(writer, secrets.token_hex(8), new)


def _name_of_topic(reader: Reader, new: NewMemo) -> str | None:
    """The name of the latest memo on a topic in its conversation, if there is one."""
    if new.topic == NOTO:
        return None
    key = _topic_key(new.topic)
    names = [
        name
        for name, topic in store.topics_beside(reader, new.covered[0])
        if _topic_key(topic) == key
    ]
    return names[-1] if names else None


def _topic_key(topic: str) -> frozenset[int] | str:
    """A key that wordings of a topic share: that of "the boat trip" is that of "Boat trips"."""
    return frozenset(terms(topic)[:, 0].tolist()) or topic.casefold()


def _is_unchanged(reader: Reader, batch: Lines) -> bool:
    """Whether the lines are still there, as they were."""
    current = entries.by_seq(reader, list(batch))
    return all(current.get(seq) == line for seq, line in batch.items())
