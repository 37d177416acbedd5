"""Writing memos (MemoChat, table 6): a model partitions numbered lines into topics. No database.

Whatever the model replies, every line ends up in exactly one part.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from treering.errors import LLMReplyError, TextEncodingError
from treering.llm.contract import LLM, Message, Reply, Usage
from treering.llm.prompts import load
from treering.llm.structured import ask_structured, read_as, read_json
from treering.text import check_text
from treering.views.choices import Wording
from treering.views.memos.changes import MAX_SUMMARY_CHARS, MAX_TOPIC_CHARS
from treering.views.memos.record import NOTO, numbered, shown
from treering.views.support import claims_of, content_words, named

_PROMPTS: Final[dict[Wording, tuple[str, int]]] = {
    "plain": ("memo_write", 1),
    "printed": ("memochat_write", 1),
    "mended": ("memochat_write", 2),
}

_COPIED: Final = content_words("banana mango apple pear").keys()
"""The topics of the paper's example."""

REPLY_TOKENS: Final = 400
"""Ten lines have about four topics at most, of about 60 tokens each."""

MARGIN_TOKENS: Final = 100
"""For the chat template, and for the message that asks the model again."""

MIN_LINE_CHARS: Final = 80
"""Lines are not cut shorter to fit the window: a shorter piece says nothing."""

NAMED: Final = 2
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
    fallback: bool
    writer: str
    usage: Usage


def partition(
    llm: LLM, lines: Sequence[str], wording: Wording = "plain", temperature: float = 0.0
) -> Partition:
    """The topics of ``lines``, each as "speaker: text".

    If the reply does not fit, the model sees it and is asked once more. If that fails, too, ranges
    that are in order are laid end to end. Else one part holds all lines (the paper's NOTO entry).
    Raises LLMUnavailable, LLMNotConfigured.
    """
    replies: list[Reply] = []
    try:
        answer = ask_structured(
            llm,
            [Message("user", _fitting(llm, lines, wording))],
            list[Part],
            max_tokens=REPLY_TOKENS,
            temperature=temperature,
            check=lambda parts: _check(parts, lines),
            say_form=False,
            on_reply=replies.append,
        )
    except LLMReplyError:
        usage = sum((reply.usage for reply in replies), Usage())
        mended = _mended(replies, lines)
        parts = mended or (fallback(lines, replies),)
        return Partition(parts, not mended, llm.model, usage)
    return Partition(
        tuple(_checked(part, lines) for part in answer.value), False, answer.model, answer.usage
    )


def write_prompt(
    lines: Sequence[str], wording: Wording, room: int | None = None, *, summaries: bool = True
) -> str:
    """The prompt that asks for the topics of lines, each cut to ``room`` characters.

    Without ``summaries`` it is the paper's for conversations that have none, whatever the wording.
    """
    name, version = _PROMPTS[wording] if summaries else ("memochat_topics", 1)
    longest = max(map(len, lines)) if room is None else room
    return load(name, version).fill(lines=str(len(lines)), conversation=numbered(lines, longest))


def _checked(part: Part, lines: Sequence[str]) -> Part:
    """The part with its texts on one line each, and a topic that may be served.

    If the topic has a name or number that the lines do not hold, their most frequent words replace
    it, because every answer shows the topic. Its other words may be the model's own.
    """
    of = lines[part.start - 1 : part.end]
    topic = " ".join(part.topic.split())
    titled = all(word[:1].isupper() for word in topic.split())  # then capitals mark no names
    if not named(topic.lower() if titled else topic, " ".join(of)):
        topic = " or ".join(most_said(of)[:NAMED]) or NOTO
    return replace(part, topic=topic, summary=" ".join(part.summary.split()))


def _mended(replies: Sequence[Reply], lines: Sequence[str]) -> tuple[Part, ...]:
    """The parts of the latest reply whose ranges can be laid end to end; empty if no reply does."""
    for reply in reversed(replies):
        try:
            parts = end_to_end(read_as(_completed(reply, len(lines)), list[Part]), len(lines))
            _check(parts, lines)
        except ValueError:
            continue
        return tuple(_checked(part, lines) for part in parts)
    return ()


def _completed(reply: Reply, lines: int) -> Reply:
    """A reply completed by what follows from the rest of it: missing ends, and its own end.

    Small models forget an end, or repeat themselves in a summary until the reply is full. Then the
    summary's first sentence stays, and its topic gets the lines that are left. Raises ValueError.
    """
    topics = read_json(reply.text)
    if not isinstance(topics, list) or not all(isinstance(topic, dict) for topic in topics):
        raise ValueError("the reply is no list of topics")
    if reply.finish_reason == "length" and topics:
        *whole, cut = topics
        end = whole[-1].get("end") if whole else 0
        if not isinstance(end, int):
            raise ValueError("the reply was cut off after a topic without an end")
        text = cut.get("summary")
        summary = next(iter(claims_of(text)), None) if isinstance(text, str) else None
        rest = {"topic": cut.get("topic"), "summary": summary, "start": end + 1, "end": lines}
        topics = [*whole, rest] if end < lines else whole
    completed = [{"end": topic.get("start"), **topic} for topic in topics]
    return replace(reply, text=json.dumps(completed), finish_reason="stop")


def end_to_end(parts: Sequence[Part], lines: int) -> tuple[Part, ...]:
    """The parts laid end to end: each ends before the next begins, the first begins at line 1.

    Small models let neighbours share a line, leave a line out, or miscount the last.
    Raises ValueError unless the starts ascend within the lines.
    """
    starts = [part.start for part in parts]
    if starts != sorted(set(starts)) or not all(1 <= start <= lines for start in starts):
        raise ValueError(f"the topics start at lines {starts}; they must ascend up to {lines}")
    begins = [1, *starts[1:]]
    ends = [*(start - 1 for start in starts[1:]), lines]
    laid = zip(parts, begins, ends, strict=False)  # without parts there is still a first line
    return tuple(replace(part, start=start, end=end) for part, start, end in laid)


def _check(parts: Sequence[Part], lines: Sequence[str]) -> None:
    check(parts, len(lines))
    spoken = content_words(" ".join(lines)).keys()
    for part in parts:
        words = content_words(part.topic).keys()
        if words & _COPIED and not words & spoken:
            raise ValueError(f"{part.topic!r} is from the example, nobody spoke of it here")


def check(parts: Sequence[Part], lines: int) -> None:
    """Raise ValueError, in words for the model, unless the parts cover lines 1 to ``lines``."""
    if not parts:
        raise ValueError("the list is empty; give at least one topic")
    due = 1
    for part in parts:
        _check_texts(part)
        if part.start != due:
            raise ValueError(
                f"topic {part.topic!r} starts at line {part.start}; it must start at {due}, so "
                "that the ranges are connected end to end"
            )
        if not part.start <= part.end <= lines:
            raise ValueError(
                f"topic {part.topic!r} ends at line {part.end}; it must end at a line from "
                f"{part.start} to {lines}"
            )
        due = part.end + 1
    if due <= lines:
        raise ValueError(f"the last topic ends at line {due - 1}; it must end at line {lines}")


def _check_texts(part: Part) -> None:
    for what, text, limit in (
        ("topic", part.topic, MAX_TOPIC_CHARS),
        ("summary", part.summary, MAX_SUMMARY_CHARS),
    ):
        if not check_text(text, what).strip():
            raise ValueError(f"a {what} is empty; give a text")
        if len(text) > limit:
            raise ValueError(f"a {what} has {len(text)} characters; at most {limit}")


def fallback(lines: Sequence[str], replies: Sequence[Reply] = ()) -> Part:
    """One part for all lines that says what they may be about (MemoChat's NOTO entry).

    It names the topics of the replies whose every word was said, then the most frequent words.
    """
    dialogue = " ".join(lines)
    words = set(content_words(dialogue))
    named = [
        topic
        for reply in reversed(replies)
        for topic in _topics(reply)
        if (asked := content_words(topic)) and words.issuperset(asked)
    ]
    about = list(dict.fromkeys([*named, *most_said(lines)]))[:NAMED]
    summary = f"Partial dialogs about: {' or '.join(about)}." if about else "Partial dialogs."
    return Part(NOTO, summary, 1, len(lines))


def most_said(lines: Sequence[str]) -> list[str]:
    """The content words of lines, those in the most lines first."""
    counts: dict[int, int] = {}
    shape: dict[int, str] = {}
    for line in lines:
        text = line.partition(": ")[2]
        for word, as_said in content_words(text).items():
            counts[word] = counts.get(word, 0) + 1
            shape.setdefault(word, as_said)
    return [shape[word] for word in sorted(counts, key=lambda word: -counts[word])]


def _topics(reply: Reply) -> list[str]:
    """The topics that a reply names; empty if it cannot be read."""
    try:
        reply_value = read_json(reply.text)
    except ValueError:
        return []
    rows = reply_value if isinstance(reply_value, list) else [reply_value]
    named = (row.get("topic") for row in rows if isinstance(row, dict))
    topics = (shown(topic)[:MAX_TOPIC_CHARS] for topic in named if isinstance(topic, str))
    return [topic for topic in topics if topic and _can_be_stored(topic)]


def _can_be_stored(text: str) -> bool:
    try:
        check_text(text, "the topic")
    except TextEncodingError:
        return False
    return True


def _fitting(llm: LLM, lines: Sequence[str], wording: Wording) -> str:
    """The prompt, with lines cut so short that two replies fit the window beside it."""
    most = llm.context_window - 2 * REPLY_TOKENS - MARGIN_TOKENS
    room = max(len(line) for line in lines)
    while True:
        prompt = write_prompt(lines, wording, room)
        if room <= MIN_LINE_CHARS or llm.count_tokens(prompt) <= most:
            return prompt
        room = max(room // 2, MIN_LINE_CHARS)
