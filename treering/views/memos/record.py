"""What a memo is: a topic and a summary that stand for spans of the journal. All values frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from treering.llm.contract import Usage
from treering.records import Why

NOTO: Final = "NOTO"
"""The topic of the option "None of the others.", and of memos that no reply could be read for."""

LINE_JOIN: Final = " ### "
"""MemoChat's mark between the lines of a dialogue."""

Origin = Literal["written", "fallback", "edited"]
"""Written by a language model, put in place of a reply that could not be read, or by a person."""

Chooser = Literal["model", "search"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a summary, and whether the lines that it stands for support it.

    What a person wrote counts as supported.
    """

    text: str
    supported: bool


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of one conversation that follow each other: positions from ``first`` to ``last``.

    ``at`` and ``until`` are the times of the first and last line that has one.
    """

    source: str
    first: int
    last: int
    entry_ids: tuple[str, ...]
    at: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Memo:
    """One topic of a conversation: a summary, and the lines it stands for, which stay in the
    journal as they were said.

    A topic that comes up again has several spans. ``made`` is when this version became known;
    ``version`` counts from 1; ``writer`` is the language model that wrote it, or empty.
    """

    id: str
    topic: str
    claims: tuple[Claim, ...]
    spans: tuple[Span, ...]
    origin: Origin
    made: datetime
    pinned: bool = False
    deleted: bool = False
    version: int = 1
    writer: str = ""

    @property
    def summary(self) -> str:
        """All that was written, supported or not."""
        return " ".join(claim.text for claim in self.claims)

    @property
    def stated(self) -> str:
        """What may be served as fact: the sentences that the lines support."""
        return " ".join(claim.text for claim in self.claims if claim.supported)

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The sentences that the lines do not support."""
        return tuple(claim.text for claim in self.claims if not claim.supported)

    @property
    def source(self) -> str:
        """The conversation that it began in; empty if its lines are not here."""
        return self.spans[0].source if self.spans else ""

    @property
    def entry_ids(self) -> tuple[str, ...]:
        """The ids of its lines, in the order they were said."""
        return tuple(entry for span in self.spans for entry in span.entry_ids)

    @property
    def at(self) -> datetime | None:
        """When its first line was said."""
        return min((span.at for span in self.spans if span.at), default=None)

    @property
    def until(self) -> datetime | None:
        """When its last line was said."""
        return max((span.until for span in self.spans if span.until), default=None)

    @property
    def option(self) -> str:
        """As it is shown where memos are chosen: "topic. summary" (MemoChat, table 7)."""
        return f"{self.topic}. {self.stated}".strip()


@dataclass(frozen=True, slots=True)
class MemoHit:
    """A memo that answers a query: the score is the sum of ``why.terms``."""

    memo: Memo
    score: float
    why: Why


@dataclass(frozen=True, slots=True)
class MemoEvidence:
    """What a chosen memo brings into a prompt (MemoChat, table 8): topic, summary and its lines.

    ``dialogues`` are the lines as "speaker: text", in the order of ``memo.entry_ids``.
    """

    memo: Memo
    topic: str
    summary: str
    dialogues: tuple[str, ...]

    @property
    def dialogue(self) -> str:
        """The lines as one text, joined as in the paper."""
        return LINE_JOIN.join(self.dialogues)


@dataclass(frozen=True, slots=True)
class Choice:
    """The memos that a query is about, best or oldest first as ``by`` decides, and their evidence.

    ``by`` is ``model`` when the language model chose among the options shown to it, ``search`` when
    there was none or its reply could not be read.
    """

    query: str
    evidences: tuple[MemoEvidence, ...]
    by: Chooser
    usage: Usage = field(default_factory=Usage)

    @property
    def memos(self) -> tuple[Memo, ...]:
        """The memos chosen."""
        return tuple(evidence.memo for evidence in self.evidences)
