"""Writes memos (MemoChat, table 6): a model partitions numbered lines into topics. No database.

Every line ends up in exactly one part, whatever the model replies.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from treering.errors import LLMReplyError
from treering.llm.contract import LLM, Reply, Usage
from treering.llm.prompts import load
from treering.llm.structured import ask_structured, read_as, read_json
from treering.text import check_text
from treering.views.choices import Wording
from treering.views.memos.changes import MAX_SUMMARY_CHARS, MAX_TOPIC_CHARS
from treering.views.memos.record import NOTO, number_lines
from treering.views.support import content_words, says_only_said_names

_PROMPTS: Final[dict[Wording, str]] = {"plain": "memo_write", "printed": "memochat_write"}

_COPIED: Final = content_words("banana mango apple pear").keys()
"""The topics of the paper's example."""

REPLY_TOKENS: Final = 400
"""Ten lines have about four topics at most, of about 60 tokens each."""

MARGIN_TOKENS: Final = 100
"""For the chat template, and for the message that asks the model again."""

MIN_LINE_CHARS: Final = 80
"""Lines are not cut shorter to fit the window: a shorter piece says nothing."""

MOST_NAMED: Final = 2
"""The most topics that the fallback names: "A or B"."""


@dataclass(frozen=True, slots=True)
class Part:
    """A topic with its summary and lines: ``start`` to ``end``, counted from 1, both included."""

    topic: str
    summary: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Partition:
    """The parts of some lines, end to end, with the model that wrote them and the cost."""

    parts: tuple[Part, ...]
    is_fallback: bool
    writer: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic of a reply. It ends where the next one starts."""

    topic: str
    summary: str
    start: int


def partition(
    llm: LLM, lines: Sequence[str], wording: Wording = "plain", temperature: float = 0.0
) -> Partition:
    """Partition lines, each "speaker: text", into topics.

    The starts must ascend. The ranges are laid end to end, since small models let neighbours share
    a line, leave one out, or miscount the last. If a reply does not fit, the model sees it and is
    asked again. If that fails, the whole topics of a reply are used, or one part has all lines (the
    paper's NOTO entry). Raises LLMUnavailable, LLMNotConfigured.
    """
    replies: list[Reply] = []
    try:
        topics = ask_structured(
            llm,
            _fitting_prompt(llm, lines, wording),
            list[_Topic],
            max_tokens=REPLY_TOKENS,
            temperature=temperature,
            check=lambda topics: _check(topics, lines),
            say_form=False,
            on_reply=replies.append,
        )
        parts = _lay_end_to_end(topics, lines)
    except LLMReplyError:
        parts = _whole_topics(replies, lines)
    usage = sum((reply.usage for reply in replies), Usage())
    writer = replies[-1].model if replies else llm.model
    return Partition(parts or (fallback(lines),), not parts, writer, usage)


def write_prompt(
    lines: Sequence[str], wording: Wording, room: int | None = None, *, summaries: bool = True
) -> str:
    """Return the prompt for the topics of lines, each cut to ``room`` characters.

    Without ``summaries`` it is the paper's for conversations without them, whatever the wording.
    """
    name = _PROMPTS[wording] if summaries else "memochat_topics"
    longest = max(map(len, lines)) if room is None else room
    return load(name).fill(lines=str(len(lines)), conversation=number_lines(lines, longest))


def _fitting_prompt(llm: LLM, lines: Sequence[str], wording: Wording) -> str:
    """The prompt, with lines cut so short that two replies fit the window beside it."""
    most = llm.context_window - 2 * REPLY_TOKENS - MARGIN_TOKENS
    room = max(len(line) for line in lines)
    while True:
        prompt = write_prompt(lines, wording, room)
        if room <= MIN_LINE_CHARS or llm.count_tokens(prompt) <= most:
            return prompt
        room = max(room // 2, MIN_LINE_CHARS)


def _check(topics: Sequence[_Topic], lines: Sequence[str]) -> None:
    """Raise ValueError, in words for the model, unless topics can be laid end to end."""
    if not topics:
        raise ValueError("the list is empty; give at least one topic")
    starts = [topic.start for topic in topics]
    if starts != sorted(set(starts)) or not all(1 <= start <= len(lines) for start in starts):
        raise ValueError(f"the topics start at lines {starts}; they must ascend to {len(lines)}")
    stems = content_words(" ".join(lines)).keys()
    for topic in topics:
        for what, text, limit in (
            ("topic", topic.topic, MAX_TOPIC_CHARS),
            ("summary", topic.summary, MAX_SUMMARY_CHARS),
        ):
            if not check_text(text, what).strip():
                raise ValueError(f"a {what} is empty; give a text")
            if len(text) > limit:
                raise ValueError(f"a {what} has {len(text)} characters; at most {limit}")
        words = content_words(topic.topic).keys()
        if words & _COPIED and not words & stems:
            raise ValueError(f"{topic.topic!r} is from the example; name what these lines say")


def _lay_end_to_end(topics: Sequence[_Topic], lines: Sequence[str]) -> tuple[Part, ...]:
    """The parts of topics: the first begins at line 1, and each ends before the next begins."""
    begins = [1, *(topic.start for topic in topics[1:])]
    ends = [*(begin - 1 for begin in begins[1:]), len(lines)]
    return tuple(
        Part(
            _safe_topic(topic.topic, lines[begin - 1 : end]),
            " ".join(topic.summary.split()),
            begin,
            end,
        )
        for topic, begin, end in zip(topics, begins, ends, strict=True)
    )


def _safe_topic(topic: str, lines: Sequence[str]) -> str:
    """A topic on one line that may be served.

    If it has a name or number that its lines do not hold, their most frequent words replace it,
    because every answer shows the topic. Its other words may be the model's own.
    """
    topic = " ".join(topic.split())
    titled = all(word[:1].isupper() for word in topic.split())  # then capitals mark no names
    if says_only_said_names(topic.lower() if titled else topic, " ".join(lines)):
        return topic
    return " or ".join(_frequent_words(lines)[:MOST_NAMED]) or NOTO


def _whole_topics(replies: Sequence[Reply], lines: Sequence[str]) -> tuple[Part, ...]:
    """The parts of the latest reply with a topic that fits; empty if no reply has one.

    Small models repeat themselves in a summary until the reply is full. The topics before it stay.
    """
    for reply in reversed(replies):
        with suppress(ValueError):
            value = read_json(reply.text)
            listed = value if isinstance(value, list) else []
            rows = [row for row in listed if isinstance(row, dict) and "start" in row]
            whole = replace(reply, text=json.dumps(rows), finish_reason="stop")
            topics = read_as(whole, list[_Topic])
            _check(topics, lines)
            return _lay_end_to_end(topics, lines)
    return ()


def fallback(lines: Sequence[str]) -> Part:
    """Return one part for all lines that names their most frequent words (MemoChat's NOTO)."""
    about = " or ".join(_frequent_words(lines)[:MOST_NAMED])
    summary = f"Partial dialogs about: {about}." if about else "Partial dialogs."
    return Part(NOTO, summary, 1, len(lines))


def _frequent_words(lines: Sequence[str]) -> list[str]:
    """The content words of lines, those in the most lines first."""
    counts: dict[int, int] = {}
    shape: dict[int, str] = {}
    for line in lines:
        for stem, word in content_words(line.partition(": ")[2]).items():
            counts[stem] = counts.get(stem, 0) + 1
            shape.setdefault(stem, word)
    return [shape[stem] for stem in sorted(counts, key=lambda stem: -counts[stem])]
