"""The contract of chat policies: from a message and its conversation to a prompt's parts. No I/O.

A policy reads the memory through ``Sources`` and nothing else, so it is tested with plain lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from treering.records import Context, Entry, Hit, Passage
from treering.search.context import LABEL_CHARS, CountTokens
from treering.views.memos.record import LINE_JOIN, MemoEvidence

JOIN = LINE_JOIN

JOIN_TOKENS = 3
_JOINT = re.compile("#{3,}")
Layout = Literal["tagged", "printed", "fragrel", "memtree"]
"""``printed`` is that of MemoChat's table 8, ``fragrel`` is FragRel's prompt 3, ``memtree`` that of
A.2.2. In these a text can pass for an instruction; in ours it cannot, because no text can close a
tag."""
QUERY_CHARS = 4_000  # of the last round and the message: the most that embedding models read


@dataclass(frozen=True, slots=True)
class Turn:
    """A message to be answered.

    ``history`` is the conversation before it, oldest first, as far back as could matter. ``room``
    is how many tokens evidences and recent dialogue may have together. FragRel's protocol (appendix
    B.3) shows a conversation whole up to ``whole_tokens`` and ``whole_rounds``.
    """

    message: str
    history: tuple[Entry, ...]
    room: int
    count: CountTokens
    whole_tokens: int = 1_000
    whole_rounds: int = 10
    layout: Layout = "tagged"

    @property
    def query(self) -> str:
        """FragRel's retrieval query (appendix B.3): the last round, then the new message."""
        texts = [*(entry.text for entry in self.last_round), self.message]
        return "\n".join(texts).strip()[-QUERY_CHARS:]

    @property
    def is_short(self) -> bool:
        """Whether the conversation is shown whole: it has few rounds and tokens, and fits."""
        rounds = sum(entry.role == "user" for entry in self.history)
        if max(rounds, len(self.history) / 2) > self.whole_rounds:
            return False
        return tokens(self.history, self.count) <= min(self.whole_tokens, self.room)

    @property
    def last_round(self) -> tuple[Entry, ...]:
        """The last user message, and the lines after it."""
        places = [n for n, entry in enumerate(self.history) if entry.role == "user"]
        return self.history[places[-1] :] if places else self.history[-1:]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something remembered, as it is shown, and the ids of the entries it stands for.

    The texts of those in ``whole`` are shown as they stand, those in ``brief`` summarised or cut.
    """

    text: str
    whole: tuple[str, ...] = ()
    brief: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[str, ...]:
        """All it stands for."""
        return self.whole + self.brief


@dataclass(frozen=True, slots=True)
class Materials:
    """The parts of a prompt: evidences, and recent dialogue in the order it was said."""

    evidences: tuple[Evidence, ...] = ()
    recent: tuple[Entry, ...] = ()
    context: Context | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user's message with its replies, each whole; a single fragment of other texts.

    ``score`` is the sum of its fragments' scores above the mean of the space.
    """

    hits: tuple[Hit, ...]
    score: float

    @property
    def entries(self) -> tuple[str, ...]:
        """The ids of its entries."""
        return tuple(dict.fromkeys(hit.entry_id for hit in self.hits))

    @property
    def key(self) -> tuple[str, int]:
        """Its identity: the begin of its first piece."""
        return self.hits[0].entry_id, self.hits[0].start

    @property
    def order(self) -> tuple[float, str, int, int]:
        """Sorts by time where there is one, then by place."""
        first = self.hits[0]
        stamp = first.at.timestamp() if first.at else float("-inf")
        return stamp, first.source, first.position, first.start


class Sources(Protocol):
    """A memory as policies see it. Results leave out the entries of ``without``."""

    def passages(self, query: str, budget: int, without: frozenset[str]) -> Context:
        """Relation-aware passages within ``budget`` tokens."""
        ...

    def exchanges(self, query: str, k: int, without: frozenset[str]) -> Sequence[Exchange]:
        """The exchanges of the k best fragments, best first.

        One that newer statements supersede comes after those.
        """
        ...

    def memos(self, query: str) -> Sequence[Evidence]:
        """Topic and summary of pinned memos, then of those that search finds, best first."""
        ...

    def choose_memos(self, query: str) -> Sequence[MemoEvidence]:
        """The memos that the language model chooses for a query, with their lines."""
        ...

    def written_lines(self, source: str) -> frozenset[str]:
        """The ids of the lines of a conversation that memos stand for."""
        ...

    def nodes(self, query: str, budget: int) -> Sequence[Evidence]:
        """Summaries and texts of the tree, as the settings say; of all levels by default."""
        ...


class Policy(Protocol):
    """A way to choose what the model sees besides the message."""

    @property
    def name(self) -> str:
        """Its name in ``memory.chat(policy=...)``."""
        ...

    @property
    def writes_memos(self) -> bool:
        """Whether memos that are due are written after each round, not only by ``settle``."""
        ...

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """The materials for a message, within ``turn.room`` tokens."""
        ...


def line(entry: Entry) -> str:
    """A dialogue line; marks between lines are broken up in it, so that it cannot pass for two."""
    return _JOINT.sub(
        lambda match: " ".join(match[0]), f"{entry.speaker or entry.role}: {entry.text}"
    )


def indent(text: str) -> str:
    """A text with all lines but the first indented, so that none can pass for a new evidence.

    One space is enough, and costs no token.
    """
    return "\n ".join(text.splitlines())


def newest(history: Sequence[Entry], limit: int, count: CountTokens) -> tuple[Entry, ...]:
    """The longest end of a conversation that has at most ``limit`` tokens."""
    recent: list[Entry] = []
    for entry in reversed(history):
        limit -= count(line(entry)) + JOIN_TOKENS
        if limit < 0:
            break
        recent.append(entry)
    return tuple(reversed(recent))


def tokens(entries: Iterable[Entry], count: CountTokens) -> int:
    """Tokens of dialogue lines, an upper bound."""
    return sum(count(line(entry)) + JOIN_TOKENS for entry in entries)


def ids(entries: Iterable[Entry]) -> frozenset[str]:
    """The ids of entries."""
    return frozenset(entry.id for entry in entries)


def cite(context: Context, layout: Layout) -> tuple[Evidence, ...]:
    """The passages of a context as evidences, below their origins in our layout."""
    return tuple(
        Evidence(
            f"{origin(passage.source, passage.at)}\n{passage.text}"
            if layout == "tagged"
            else passage.text,
            entries_of(passage),
        )
        for passage in context.passages
    )


def entries_of(passage: Passage) -> tuple[str, ...]:
    """The ids of the entries that a passage shows."""
    return tuple(dict.fromkeys(hit.entry_id for hit in passage.hits))


def origin(source: str, at: datetime | None) -> str:
    """Source and time of a text; of a long source the end, where sources differ."""
    label = source if len(source) <= LABEL_CHARS else f"…{source[1 - LABEL_CHARS :]}"
    return f"{label}, {at:%Y-%m-%d %H:%M}" if at else label
