"""Reads facts with a language model: batches of entries, as pending work that survives a crash.

One transaction stores a reply's rows and takes the entries off the queue that are unchanged.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Final

from treering.errors import LLMError, LLMReplyError
from treering.journal import entries, ledger, work
from treering.journal.space import Space, SpaceReader
from treering.llm.contract import LLM, Reply, Usage
from treering.llm.prompts import load
from treering.llm.structured import ask_structured
from treering.records import Entry, Progress
from treering.search.terms import find_words
from treering.views.facts import store
from treering.views.facts.change import (
    SENSES,
    Statement,
    attribute_key,
    is_single,
    speaker_of,
    states_facts,
)
from treering.views.follow import SETTLE_PATIENCE_S, model_calls, read_sound

log = logging.getLogger("treering")

PAGE: Final = 512  # entries read from the queue at a time
BATCH_ENTRIES: Final = 8
BATCH_CHARS: Final = 3_000
"""Of a batch, about 1,000 tokens: with the prompt and the reply it fits a window of 4,096."""

REPLY_TOKENS: Final = 1_200
"""About 20 rows of 60 tokens each."""

MAX_VALUE_CHARS: Final = 200
MAX_NAME_CHARS: Final = 60

_OF_SPEAKER: Final = re.compile(r"(?:my|the speaker's|speaker's)\s+", re.IGNORECASE)

Field = str | int | float | bool | None
Batch = Mapping[int, Entry]


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of the model's reply, not trusted yet. Missing fields are empty."""

    message: Field = None
    quote: Field = None
    subject: Field = None
    attribute: Field = None
    value: Field = None
    sense: Field = "holds"
    single: Field = False


class FactExtractor:
    """Lets a language model read the queued entries of one space."""

    def __init__(self, space: Space, llm: Callable[[], LLM]) -> None:
        self._space = space
        self._llm = llm

    def run(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """Read the queued entries; with ``upgrade``, all that no model has read.

        Raises the first LLMError after the other batches; entries whose call failed stay queued.
        """
        if upgrade:
            self._enqueue_unread()
        with self._space.read() as reader:
            total = work.counts(reader, reader.id, [store.VIEW]).get(store.VIEW, 0)
        if not total:
            return
        llm, done, failures = self._llm(), 0, list[LLMError]()
        with (
            self._space.task(store.VIEW, SETTLE_PATIENCE_S) as is_ours,
            model_calls(store.VIEW) as pool,
        ):
            for queued in self._pages(_queued) if is_ours else ():
                parts = list(batches(queued))
                errors = pool.map(partial(self._read, llm), parts)
                for batch, error in zip(parts, errors, strict=True):
                    failures += [error] if error else []  # the other batches go on
                    done += len(batch)
                    if progress:
                        progress(min(done, total), total)
        if failures:
            raise failures[0]

    def _enqueue_unread(self) -> None:
        for unread in self._pages(store.unread):
            stating = [seq for seq, entry in unread.items() if states_facts(entry)]
            with self._space.write() as writer:
                if writer.is_there:
                    there = entries.by_seq(writer, stating)
                    work.enqueue(writer, writer.id, store.VIEW, sorted(there))

    def _pages(
        self, seqs_after: Callable[[SpaceReader, int, int], list[int]]
    ) -> Iterator[dict[int, Entry]]:
        """Entries, page by page, without damaged ones."""
        seqs = [-1]
        while seqs:
            with self._space.read() as reader:
                seqs = seqs_after(reader, seqs[-1], PAGE)
                page, _ = read_sound(reader, seqs)
            yield page

    def _read(self, llm: LLM, batch: Batch) -> LLMError | None:
        """Ask the model about a batch and store the rows that the batch supports."""
        replies = list[Reply]()
        try:
            rows = ask(llm, batch, replies.append)
        except LLMReplyError:  # its text quotes the reply, which quotes the entries
            log.warning(
                "the model's reply held no JSON list; facts of %d entries were found by forms "
                "instead",
                len(batch),
            )
            self._store(batch, None, replies)
        except LLMError as error:
            self._store(batch, None, replies, str(error))
            return error
        else:
            self._store(batch, rows, replies)
        return None

    def _store(
        self,
        batch: Batch,
        rows: list[FoundRow] | None,
        replies: Sequence[Reply],
        failure: str | None = None,
    ) -> None:
        """Store the rows of entries that are still there and unchanged. Always note the cost.

        After an unreadable reply (``rows`` is None) the entries leave the queue, but do not count
        as read: ``upgrade`` asks again. After a ``failure`` they stay queued.
        """
        with self._space.write() as writer:
            if not writer.is_there:
                return
            if replies:
                usage = sum((reply.usage for reply in replies), Usage())
                ledger.spend(writer, usage.spent("fact", replies[-1].model))
            current = entries.by_seq(writer, list(batch))
            unchanged = [seq for seq, entry in batch.items() if current.get(seq) == entry]
            if failure is not None:
                if len(unchanged) == len(batch):  # a reason may quote a text that was erased
                    work.note_failure(writer, writer.id, store.VIEW, unchanged, failure)
                return
            claimed = sorted(work.claim(writer, writer.id, store.VIEW, unchanged))
            if rows is None:
                return
            groups = set[store.Group]()
            stated = supported_statements(rows, batch, replies[-1].model)
            for seq in claimed:
                said_at = entries.micros(batch[seq].at or batch[seq].added)
                groups |= store.put(writer, seq, said_at, stated.get(seq, ()))
            store.note_read(writer, claimed)
            store.decide(writer, groups)


def _queued(reader: SpaceReader, after: int, limit: int) -> list[int]:
    return work.targets(reader, reader.space, store.VIEW, limit, after)


def batches(queued: Mapping[int, Entry]) -> Iterator[Batch]:
    """A few entries of one speaker at a time: orders in a text reach no rows of other people."""
    ordered = sorted(queued.items(), key=lambda item: (*_owner(item[1]), item[0]))
    for _, group in groupby(ordered, key=lambda item: _owner(item[1])):
        batch, size = dict[int, Entry](), 0
        for seq, entry in group:
            length = min(len(entry.text), BATCH_CHARS)
            if batch and (len(batch) == BATCH_ENTRIES or size + length > BATCH_CHARS):
                yield batch
                batch, size = {}, 0
            batch[seq] = entry
            size += length
        yield batch


def ask(
    llm: LLM, batch: Batch, on_reply: Callable[[Reply], object] | None = None
) -> list[FoundRow]:
    """The rows that a model finds in a batch. Raises LLMError."""
    return ask_structured(
        llm,
        prompt(batch),
        list[FoundRow],
        max_tokens=REPLY_TOKENS,
        say_form=False,
        on_reply=on_reply,
    )


def prompt(batch: Batch) -> str:
    """The request for the facts of a batch; its messages are numbered from 1."""
    lines = [
        json.dumps({"message": n, "text": entry.text[:BATCH_CHARS]}, ensure_ascii=False)
        for n, entry in enumerate(batch.values(), 1)
    ]
    return load("fact_read").fill(messages="\n".join(lines))


def supported_statements(
    rows: Sequence[FoundRow], batch: Batch, reader: str
) -> dict[int, list[Statement]]:
    """The statements of the rows that the texts support, by entry; other rows are refused."""
    by_number = {str(number): item for number, item in enumerate(batch.items(), 1)}
    statements: dict[int, list[Statement]] = {}
    for row in rows:
        seq, entry = by_number.get(_text(row.message), (0, None))
        statement = _statement(row, entry, reader) if entry else None
        if statement is not None and statement not in statements.get(seq, []):
            statements.setdefault(seq, []).append(statement)
    return statements


def _statement(row: FoundRow, entry: Entry, reader: str) -> Statement | None:
    """The statement of a row; None unless the entry holds its quote, value and subject."""
    quote = find_words(_text(row.quote), entry.text)
    value, attribute = _text(row.value), attribute_key(_text(row.attribute))
    subject = _subject(_text(row.subject), entry)
    sense = next((sense for sense in SENSES if sense == row.sense), None)
    if not quote or subject is None or sense is None or not _is_name(attribute):
        return None
    if len(value) > MAX_VALUE_CHARS or not find_words(_fold(value), _fold(quote[0])):
        return None
    single = row.single is True or is_single(attribute)
    found = quote.start(), quote.end(), single, speaker_of(entry), reader
    return Statement(subject, attribute, value, sense, *found)


def _subject(name: str, entry: Entry) -> str | None:
    """A subject as forms write it; None for a name that the entry does not hold."""
    speaker, folded = speaker_of(entry), _fold(name)
    if folded in ("i", "me", "speaker", "the speaker", "user", speaker):
        return speaker
    of_speaker = _OF_SPEAKER.match(folded)
    if of_speaker is not None or folded.startswith(f"{speaker}'s "):
        thing = folded[of_speaker.end() if of_speaker else len(speaker) + 3 :]
        return f"{speaker}'s {thing}" if _is_name(thing) else None
    return folded if find_words(folded, _fold(entry.text)) else None


def _is_name(text: str) -> bool:
    return 0 < len(text) <= MAX_NAME_CHARS and text.isprintable()


def _text(field: Field) -> str:
    return "" if field is None or isinstance(field, bool) else str(field).strip()


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _owner(entry: Entry) -> tuple[str, str]:
    return entry.source, speaker_of(entry)
