"""``memory.facts``: statements about people and things, and which of them are superseded."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from treering.errors import LLMReplyError
from treering.journal import entries, ledger
from treering.journal.fields import parse_time
from treering.journal.space import SpaceReader
from treering.llm.contract import LLM, Usage
from treering.records import Entry, Filter, Hit, Newer, Spent
from treering.views.contract import Resources
from treering.views.facts import store, then
from treering.views.facts.change import DatedStatement
from treering.views.facts.form import DOES
from treering.views.facts.judge import (
    ask,
    candidate,
    check_controls,
    controls_right,
    read_verdict,
    speaks_of_change,
)
from treering.views.facts.record import Statement
from treering.views.facts.store import BY_PERSON, Replacement
from treering.views.follow import SETTLE_PATIENCE_S

log = logging.getLogger("treering")

When = datetime | str | None

BATCH_ENTRIES = 512
CANDIDATES = 10  # of which the first that was said before is judged
USER = "user"
"""Who speaks in a chat whose messages say no more than that."""

NAMES = frozenset({"name", "called"})
"""Slots of a person's own name: "my name is Ana", "I'm Ana"."""

JUDGED = "judged"
"""The slot of a model's verdict, which says that something changed, but not what."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about ``subject``: its ``slot`` has that ``value``, by that entry.

    ``superseded_by`` is the newer statement that holds instead, if there is one. ``ends`` is true
    if the statement says that something does not hold any more.
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
    """An older statement, the newer one that supersedes it, and the rule or model that says so."""

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
        self._controls: dict[str, int] = {}  # pairs judged right, by model

    def judge(self) -> int:
        """Let the language model judge what rules cannot; return how many messages were superseded.

        It judges new messages that speak of a change, each with its speaker's most similar earlier
        message. Before its first verdict, a model is asked eight pairs whose answer is known. An
        unreadable verdict supersedes nothing. Raises LLMReplyError if the model judges too few of
        the eight right, LLMNotConfigured and LLMUnavailable. The next call goes on from there. If
        another process lets a model judge, it is waited for, and what is left then is judged here.
        """
        self._catch_up()
        llm, changed = self._llm(), 0
        with self._space.task("facts", SETTLE_PATIENCE_S) as is_ours:
            while is_ours and (batch := self._unjudged()):
                changed += self._judge(llm, batch)
        return changed

    def _judge(self, llm: LLM, batch: Mapping[int, Entry]) -> int:
        """Let a model judge messages; return how many were superseded."""
        changed = 0
        for seq, entry in batch.items():
            older = self._candidate(entry) if speaks_of_change(entry) else None
            if older is not None:
                verdict = self._verdict(llm, older, entry)
                changed += self._record_verdict(seq, entry, older if verdict else None, llm.model)
        self._record_verdict(max(batch), None, None, llm.model)
        return changed

    def all(self, subject: str | None = None, as_of: When = None) -> list[Fact]:
        """Statements of slots like home or number, in the order they were said.

        A habit is listed only if it is superseded or ends. ``as_of`` gives what had been said by
        then, and what held.
        """
        self._catch_up()
        with self._space.read() as reader:
            facts = list(_facts(reader, _micros(as_of)))
        folded = subject.casefold() if subject else None
        named = _named(facts)
        return [
            fact
            for fact in (replace(fact, subject=_renamed(fact.subject, named)) for fact in facts)
            if folded is None or fact.subject == _renamed(folded, named)
            if not fact.slot.startswith(DOES) or fact.superseded_by is not None or fact.ends
        ]

    def current(self, subject: str | None = None, as_of: When = None) -> list[Fact]:
        """The statements of ``all`` that are not superseded: each as it was last stated."""
        return [fact for fact in self.all(subject, as_of) if fact.superseded_by is None]

    def changes(self, as_of: When = None) -> list[Change]:
        """The superseded statements, each with the newer one, in the order of the newer ones."""
        self._catch_up()
        with self._space.read() as reader:
            pairs = _replacements(reader, _micros(as_of))
            entry_of = entries.there(reader, [seq for p in pairs for seq in (p.older, p.newer)])
        pairs.sort(key=lambda pair: _said(entry_of[pair.newer]))
        return [
            Change(
                pair.slot,
                entry_of[pair.older].id,
                entry_of[pair.older].text,
                entry_of[pair.older].at,
                pair.statement,
                pair.made_by,
            )
            for pair in pairs
        ]

    def _unjudged(self) -> dict[int, Entry]:
        """The next messages that no model has judged, in the order they were added."""
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
            ledger.spend(writer, cost)

    def _record_verdict(self, seq: int, entry: Entry | None, older: Hit | None, model: str) -> bool:
        """Note the last judged message and what it supersedes; return whether there is such.

        Nothing is superseded if one of the two messages was erased or changed in the meantime.
        """
        with self._space.write() as writer:
            if not writer.is_there:
                return False
            space = writer.id
            store.set_judged(writer, space, seq)
            if entry is None or older is None:
                return False
            both = entries.by_seq(writer, [seq, store.seq_of(writer, space, older)])
            if len(both) < 2 or both[seq].text != entry.text:
                return False
            statement = Statement("", JUDGED, "", "begins", 0, len(entry.text))
            newer = DatedStatement(statement, seq, entries.micros(entry.at or entry.added))
            # Of the two entries, the one that is not the newer is superseded.
            [place] = both.keys() - {seq}
            store.put_superseded(writer, space, place, newer, stale=False, made_by=model)
            return True


def _named(facts: Iterable[Fact]) -> str | None:
    """The name that the user of a chat last gave, "I'm Ana"; None if there is none."""
    names = [f.value.casefold() for f in facts if f.subject == USER and f.slot in NAMES]
    return names[-1] if names else None


def _renamed(subject: str, name: str | None) -> str:
    """A subject by the name of the person, where it is the user of a chat or somebody of theirs."""
    if name is None or not (subject == USER or subject.startswith(f"{USER}'s ")):
        return subject
    return name + subject.removeprefix(USER)


def _micros(as_of: When) -> int | None:
    return None if as_of is None else entries.micros(parse_time(as_of, "as_of"))


def _said(entry: Entry) -> datetime:
    return entry.at or entry.added


def _replacements(reader: SpaceReader, as_of: int | None) -> list[Replacement]:
    """What is superseded by what, or was at a time; of two rows for one the last counts."""
    if as_of is None:
        by_rules = store.replacements(reader)
    else:
        by_rules = then.replacements(reader, reader.id, as_of)
    return [*by_rules, *store.by_person(reader, as_of)]


def _facts(reader: SpaceReader, as_of: int | None) -> Iterable[Fact]:
    dated_statements = [
        dated
        for dated in store.dated_statements(reader, reader.id)
        if as_of is None or dated.at <= as_of
    ]
    entry_of = entries.there(reader, [dated.entry for dated in dated_statements])
    against: dict[tuple[int, str, str], Newer] = {}
    for pair in _replacements(reader, as_of):
        of_whole = pair.slot in (JUDGED, BY_PERSON)
        key = ("", JUDGED) if of_whole else (pair.subject, pair.slot)
        against[pair.older, *key] = pair.statement
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
