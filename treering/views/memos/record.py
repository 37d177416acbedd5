"""The records of memos, and lines of a dialogue as prompts show them.

A memo is a topic and a summary that stand for spans of the journal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from treering.llm.contract import Usage
from treering.records import Entry, Why
from treering.views.choices import Wording

NOTO: Final = "NOTO"
"""The topic of the option "None of the others.", and of memos that no reply could be read for."""

LINE_JOIN: Final = " ### "
"""MemoChat's mark between the lines of a dialogue."""

Origin = Literal["written", "fallback", "edited"]
"""By a language model, in place of a model's unreadable reply, or by a person."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a summary, and whether the memo's lines support it.

    A sentence that a person wrote counts as supported.
    """

    text: str
    supported: bool


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive lines of one conversation: positions from ``first`` to ``last``.

    ``at`` and ``until`` are the first and the last time of a line.
    """

    source: str
    first: int
    last: int
    entry_ids: tuple[str, ...]
    at: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Memo:
    """One topic of a conversation: a summary, and the lines it stands for.

    The lines stay in the journal. A topic that comes up again has several spans. ``made`` is the
    time of its last change, and ``writer`` is the language model that wrote it, or empty.
    """

    id: str
    topic: str
    claims: tuple[Claim, ...]
    spans: tuple[Span, ...]
    origin: Origin
    made: datetime
    pinned: bool = False
    writer: str = ""

    @property
    def summary(self) -> str:
        """All sentences, supported or not."""
        return " ".join(claim.text for claim in self.claims)

    @property
    def stated(self) -> str:
        """The sentences that the lines support. Only these may be served as fact."""
        return " ".join(claim.text for claim in self.claims if claim.supported)

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The sentences that the lines do not support."""
        return tuple(claim.text for claim in self.claims if not claim.supported)

    @property
    def source(self) -> str:
        """The conversation of the first line; empty without lines."""
        return self.spans[0].source if self.spans else ""

    @property
    def entry_ids(self) -> tuple[str, ...]:
        """The ids of the lines, in the order they were said."""
        return tuple(entry for span in self.spans for entry in span.entry_ids)

    @property
    def at(self) -> datetime | None:
        """When the first line was said; None if no line has a time."""
        return min((span.at for span in self.spans if span.at), default=None)

    @property
    def until(self) -> datetime | None:
        """When the last line was said; None if no line has a time."""
        return max((span.until for span in self.spans if span.until), default=None)

    @property
    def option(self) -> str:
        """The memo as an option of a choice: "topic. summary" (MemoChat, table 7)."""
        return f"{self.topic}. {self.stated}".strip()


@dataclass(frozen=True, slots=True)
class MemoHit:
    """A memo that answers a query. The score is the sum of ``why.terms``."""

    memo: Memo
    score: float
    why: Why


@dataclass(frozen=True, slots=True)
class MemoEvidence:
    """The part of a prompt for a chosen memo (MemoChat, table 8): its topic, summary and lines.

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
    """The memos that a query is about, with their evidence.

    Pinned memos come first, the others in the order of search. ``by`` is ``model`` if the language
    model chose, and ``search`` without a model, it failed, or its reply was not a choice.
    """

    query: str
    evidences: tuple[MemoEvidence, ...]
    by: Literal["model", "search"]
    usage: Usage = field(default_factory=Usage)

    @property
    def memos(self) -> tuple[Memo, ...]:
        """The chosen memos."""
        return tuple(evidence.memo for evidence in self.evidences)


_MARK: Final = re.compile(r"`{3,}|#{2,}|\((?=\s*(?:line\s*)?\d+\s*\))", re.IGNORECASE)
"""The marks of the prompts: fences, joints between lines, numbers of lines and options."""


def is_from(memo: Memo, source: str | None) -> bool:
    """Whether any line of a memo is of that conversation. None stands for every conversation."""
    return source is None or any(span.source == source for span in memo.spans)


def speaker_line(entry: Entry, wording: Wording) -> str:
    """Return a line as "speaker: text", on one line.

    MemoChat's prompts call the assistant "bot". A speaker with a name keeps it.
    """
    speaker = entry.speaker or entry.role or "user"
    if speaker == "assistant" and wording == "printed":
        speaker = "bot"
    return f"{one_line(speaker)}: {one_line(entry.text)}"


def one_line(text: str) -> str:
    """Return a text on one line, with every mark of a prompt in it spaced out."""
    return _MARK.sub(lambda mark: " ".join(mark[0]) + " ", " ".join(text.split()))


def number_lines(lines: Sequence[str], room: int) -> str:
    """Number lines from 1 (MemoChat, table 6), each cut to ``room`` characters."""
    return "\n".join(f"(line {n}) {line[:room]}" for n, line in enumerate(lines, 1))
