"""``memory.facts``: what was stated of people and things, and what later statements superseded."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from treering.errors import LLMReplyError
from treering.journal import entries, ledger
from treering.journal.contract import Reader
from treering.llm.contract import LLM, Usage
from treering.records import Entry, Filter, Hit, Newer, Spent
from treering.views.contract import Resources
from treering.views.facts import store
from treering.views.facts.change import DatedStatement
from treering.views.facts.forms import DOES
from treering.views.facts.judge import (
    ask,
    candidate,
    check_controls,
    controls_right,
    read_verdict,
    speaks_of_change,
)
from treering.views.facts.statement import Statement

log = logging.getLogger("treering")

BATCH_ENTRIES = 512
CANDIDATES = 10  # of which the first that was said before is judged
JUDGED = "judged"
"""The slot of what a model found: it says that something changed, not what."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement as it was found: of whom, about what, which value, in which entry.

    ``superseded_by`` is the newer statement that holds instead, if there is one. ``ends``: it says
    that something does not hold any more.
    """

    subject: str
    slot: str
    value: str
    text: str
    entry_id: str
    source: str
    at: datetime | None
    ends: bool = False
    superseded_by: Newer | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """An older statement, the newer one that superseded it, and who says so (a rule or a model)."""

    slot: str
    entry_id: str
    text: str
    at: datetime | None
    newer: Newer
    made_by: str


class FactView:
    """The statements of one space. Safe to use from many threads."""

    def __init__(self, resources: Resources) -> None:
        self._space = resources.space
        self._searcher = resources.search
        self._llm = resources.llm
        self._catch_up = resources.catch_up
        self._controls: dict[str, int] = {}  # told right, by model

    def judge(self) -> int:
        """Let the language model judge what rules cannot: new messages that speak of a change,
        each with what its speaker said most like it before. Returns how many were superseded.

        Before its first verdict a model is asked eight pairs whose answer is known. A verdict that
        cannot be read counts as none. Raises LLMReplyError if the model tells too few of these
        eight right, LLMNotConfigured and LLMUnavailable; what was not judged by then is judged the
        next time.
        """
        self._catch_up()
        llm, changed = self._llm(), 0
        while batch := self._unjudged():
            for seq, entry in batch.items():
                older = self._candidate(entry) if speaks_of_change(entry) else None
                if older is not None:
                    verdict = self._verdict(llm, older, entry)
                    changed += self._record_verdict(
                        seq, entry, older if verdict else None, llm.model
                    )
            self._record_verdict(max(batch), None, None, llm.model)
        return changed

    def all(self, subject: str | None = None) -> list[Fact]:
        """Statements with one value at a time (homes, numbers, …) in the order they were said.

        Habits are found too, but only listed once something has superseded them.
        """
        self._catch_up()
        with self._space.read() as reader:
            facts = list(_facts(reader, reader.id))
        folded = subject.casefold() if subject else None
        return [
            fact
            for fact in facts
            if folded in (None, fact.subject)
            and (not fact.slot.startswith(DOES) or fact.superseded_by is not None or fact.ends)
        ]

    def current(self, subject: str | None = None) -> list[Fact]:
        """The statements that nothing has superseded."""
        return [fact for fact in self.all(subject) if fact.superseded_by is None]

    def changes(self) -> list[Change]:
        """What was superseded by what, in the order of the newer statements."""
        self._catch_up()
        with self._space.read() as reader:
            pairs = store.pairs(reader, reader.id)
            older = entries.there(reader, [entry for entry, *_ in pairs])
        return [
            Change(slot, older[seq].id, older[seq].text, older[seq].at, newer, made_by)
            for seq, _, newer, slot, made_by in pairs
        ]

    def _unjudged(self) -> dict[int, Entry]:
        """The next messages a model has not judged, in the order they were added."""
        with self._space.read() as reader:
            seqs = store.unjudged(reader, reader.id, BATCH_ENTRIES)
            return dict(sorted(entries.by_seq(reader, seqs).items()))

    def _candidate(self, entry: Entry) -> Hit | None:
        same = Filter(speaker=entry.speaker, kind="chat")
        hits = self._searcher.search([entry.text], CANDIDATES, same, "dense", {})[0]
        return candidate(entry, hits)

    def _verdict(self, llm: LLM, older: Hit, newer: Entry) -> bool:
        if llm.model not in self._controls:
            self._controls[llm.model], cost = controls_right(llm)
            self._spend(llm.model, cost)
        check_controls(llm.model, self._controls[llm.model])
        reply = ask(llm, older.text, newer.text)
        self._spend(reply.model, reply.usage)
        try:
            return read_verdict(reply.text)
        except LLMReplyError as error:
            log.warning("both statements stand: %s", error)
            return False

    def _spend(self, model: str, usage: Usage) -> None:
        cost = Spent("fact", model, usage.calls, usage.prompt_tokens, usage.completion_tokens)
        with self._space.write() as writer:
            ledger.spend(writer, writer.id, cost)

    def _record_verdict(self, seq: int, entry: Entry | None, older: Hit | None, model: str) -> bool:
        """Note up to where was judged, and what a message supersedes, unless one of both has gone.

        Returns whether it does.
        """
        with self._space.write() as writer:
            space = writer.id
            store.set_judged(writer, space, seq)
            if entry is None or older is None:
                return False
            both = entries.by_seq(writer, [seq, store.seq_of(writer, space, older)])
            if len(both) < 2 or both[seq].text != entry.text:
                return False
            statement = Statement("", JUDGED, "", "begins", 0, len(entry.text))
            newer = DatedStatement(statement, seq, entries.micros(entry.at or entry.added))
            [place] = both.keys() - {seq}
            store.put_superseded(writer, space, place, newer, stale=False, made_by=model)
            return True


def _facts(reader: Reader, space: int) -> Iterable[Fact]:
    dated_statements = store.dated_statements(reader, space)
    entry_of = entries.there(reader, [dated.entry for dated in dated_statements])
    against = store.newer_statements(reader, space)
    for dated in dated_statements:
        statement, entry = dated.statement, entry_of[dated.entry]
        newer = against.get((dated.entry, statement.subject, statement.slot))
        yield Fact(
            subject=statement.subject,
            slot=statement.slot,
            value=statement.value,
            text=entry.text[statement.start : statement.stop],
            entry_id=entry.id,
            source=entry.source,
            at=entry.at,
            ends=statement.sense == "ends",
            superseded_by=newer or against.get((dated.entry, "", JUDGED)),
        )
