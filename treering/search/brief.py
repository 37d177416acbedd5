"""A brief: half a page about a memory, for a reader or a model that begins to work with it.

It needs no model: it holds facts, memos and sentences with a cue ("always ...", "we decided ...",
"TODO"). The caller reads the ``BriefMaterial``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, product
from typing import Final, Literal

from treering.llm.tokens import estimate_tokens
from treering.records import Entry
from treering.search.terms import terms
from treering.text import shorten_source, with_speaker

Section = Literal["pinned", "about", "holds", "open", "lately"]
SECTIONS: Final[dict[Section, tuple[str, float]]] = {
    "pinned": ("Pinned", 0.25),
    "about": ("Who and what this is about", 0.2),
    "holds": ("Decisions and preferences that hold", 0.4),
    "open": ("Open", 0.2),
    "lately": ("Lately", 0.2),
}
"""Title and weight of each section. Sections with content share the budget by weight; a section
leaves the rest of its share to those after it, and then to any."""

MAX_LINE_CHARS: Final = 240
SAME: Final = 0.6
"""Share of the fewer words from which on two lines say the same, and the newer one counts."""

MIN_WORDS: Final = 3
MIN_ROOM: Final = 8
"""Tokens of the shortest line: with less left, a section is full."""

LAST_WORDS: Final = 6
LABEL_CHARS: Final = 40

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\w)[^.!?\n]*)*[.!?]*")
_LONG_WORD = re.compile(r"(?<!\S)([!-.0-\[\]-\u052f]{79})[!-.0-\[\]-\u052f]{2,}(?!\S)")
"""A word of over 80 letters, such as an image; not an address or path, and no script without
spaces."""

_HOLDS = re.compile(
    r"\b(?:always|never|prefers?|preferred|from now on|must(?: not|n't)?|we decided|i decided|"
    r"decided to|decision|agreed|agreement|let'?s (?:use|keep|go with|call|stick)|we (?:use|keep)|"
    r"please (?:use|do(?:n't| not)|keep|note|remember)|(?:do not|don't) (?:use|ever|touch|change)|"
    r"instead of|rule|convention|note that|remember that|make sure|i (?:like|hate|want)|"
    r"is called|are called|stands for)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:todo|to do|to-do|fixme|open question|next steps?|"
    r"still (?:need|have|open|missing|fails?)|"
    r"not yet|needs? to|have to|has to|waiting for|remind me|deadline|due (?:on|by)|"
    r"by (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow)|"
    r"tomorrow|later we|blocked|unsolved|unresolved|follow[- ]up)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:done|fixed|finished|merged|shipped|resolved|closed|solved|completed|works now|passes|"
    r"no longer needed|cancelled|canceled)\b",
    re.IGNORECASE,
)
_NO_STATEMENT = re.compile(
    r"\?$|\[masked: |^(?:\[|(?:if|what if|imagine|suppose|why|how|what|when|who|where)\b)",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"^\W*(?:decision|decided|agreed|todo|next|open)\b\W", re.IGNORECASE)
_TELLING: Final = frozenset(
    terms(
        "always never prefer now must decided decision agreed let use keep please note remember"
        " make sure like want todo need still yet next step done fixed finished works"
    )[:, 0].tolist()
)
_BOTS = frozenset({"assistant", "system", "tool"})


@dataclass(frozen=True, slots=True)
class Saying:
    """A text that may become a line of a brief, and its entries."""

    text: str
    entry_ids: tuple[str, ...]
    source: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefLine(Saying):
    """A line of a brief. ``number`` is that of its citation, which names source and day."""

    section: Section
    number: int


@dataclass(frozen=True, slots=True)
class Brief:
    """The main points of a memory, within a token budget. ``str()`` is the text for a prompt.

    The brief of an empty memory is an empty text without lines.
    """

    lines: tuple[BriefLine, ...]
    text: str
    tokens: int
    budget: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class BriefMaterial:
    """The content of a brief: the most important first in each list, but ``newest`` as added.

    ``pinned`` are pinned entries, ``about`` facts that hold, and topics; ``holds`` pinned memos;
    ``changed`` superseded statements with the newer ones; ``newest`` the latest entries, without
    those that are superseded.
    """

    pinned: tuple[Saying, ...] = ()
    about: tuple[Saying, ...] = ()
    holds: tuple[Saying, ...] = ()
    changed: tuple[Saying, ...] = ()
    newest: tuple[Entry, ...] = ()


def compose(
    material: BriefMaterial, budget: int, count: Callable[[str], int] = estimate_tokens
) -> Brief:
    """Return the brief that fits ``budget`` tokens."""
    sayings: dict[Section, list[Saying]] = {
        "pinned": list(material.pinned),
        "about": list(material.about),
        "holds": [*material.holds, *_sentences(material.newest, _HOLDS, people_only=True)],
        "open": list(_open_tasks(material.newest)),
        "lately": [*material.changed, *islice(_last_words(material.newest), LAST_WORDS)],
    }
    picked = _fit_lines(sayings, frozenset(material.changed), budget, count)
    text, lines = _write_lines(picked)
    # Citations are counted with the whole: the last lines go while it is too long.
    while lines and count(text) > budget:
        picked[lines[-1].section].pop()
        text, lines = _write_lines(picked)
    return Brief(tuple(lines), text, count(text) if text else 0, budget)


def _fit_lines(
    sayings: dict[Section, list[Saying]],
    changed: frozenset[Saying],
    budget: int,
    count: Callable[[str], int],
) -> dict[Section, list[Saying]]:
    """Return lines section by section, each within its share and the room left by those before.

    Leave out a line that repeats another, unless it is ``changed``: that names the present value.
    """
    picked: dict[Section, list[Saying]] = {section: [] for section in SECTIONS}
    taken: list[frozenset[int]] = []
    weights = {section: weight for section, (_, weight) in SECTIONS.items() if sayings[section]}
    left = 0.0
    for is_first, section in product((True, False), weights):
        left += is_first * budget * weights[section] / sum(weights.values())
        for saying in sayings[section]:
            if left < MIN_ROOM:
                break
            cost = count(f"- {_line(saying.text)} [10]\n")
            words = _words(saying.text)
            if cost <= left and (saying in changed or not any(_alike(words, o) for o in taken)):
                picked[section].append(saying)
                changed -= {saying}
                taken.append(words)
                left -= cost
    return picked


def _write_lines(picked: dict[Section, list[Saying]]) -> tuple[str, list[BriefLine]]:
    """Return the text with its citations, one for each source and day."""
    numbers: dict[str, int] = {}
    lines: list[BriefLine] = []
    parts: list[str] = []
    for section, sayings in picked.items():
        parts += [f"{SECTIONS[section][0]}:"] if sayings else []
        for saying in sayings:
            number = numbers.setdefault(_place(saying), len(numbers) + 1)
            text, ids = _line(saying.text), saying.entry_ids
            at = saying.at
            lines.append(BriefLine(text, ids, saying.source, at, section=section, number=number))
            parts.append(f"- {text} [{number}]")
    parts += [f"[{number}] {place}" for place, number in numbers.items()]
    return "\n".join(parts), lines


def _place(saying: Saying) -> str:
    source = shorten_source(saying.source, LABEL_CHARS)
    return f"{source}, {saying.at:%Y-%m-%d}" if saying.at else source


def _sentences(
    entries: Sequence[Entry], cue: re.Pattern[str], *, people_only: bool
) -> Iterator[Saying]:
    """Yield sentences with a cue, the newest first; from bots only those with a label."""
    for entry in reversed(entries):
        for sentence in _SENTENCE.findall(entry.text) if entry.kind != "code" else ():
            sentence = sentence.strip()
            if not (_is_statement(sentence) and cue.search(sentence) and _words(sentence)):
                continue
            if not people_only or entry.role not in _BOTS or _LABELLED.match(sentence):
                yield Saying(sentence, (entry.id,), entry.source, entry.at)


def _is_statement(sentence: str) -> bool:
    """Return whether a sentence states something: no question, supposition, code, log or secret."""
    if len(sentence) > MAX_LINE_CHARS or len(sentence.split()) < MIN_WORDS:
        return False
    letters = sum(char.isalpha() or char.isspace() for char in sentence)
    return _NO_STATEMENT.search(sentence) is None and letters >= 0.75 * len(sentence)


def _open_tasks(entries: Sequence[Entry]) -> Iterator[Saying]:
    """Yield open tasks, the newest first, without those that a later sentence calls done."""
    order = {entry.id: place for place, entry in enumerate(entries)}
    done = [
        (order[saying.entry_ids[0]], _words(saying.text))
        for saying in _sentences(entries, _DONE, people_only=False)
    ]
    for saying in _sentences(entries, _OPEN, people_only=False):
        place, words = order[saying.entry_ids[0]], _words(saying.text)
        if not any(later > place and _alike(words, finished) for later, finished in done):
            yield saying


def _last_words(entries: Sequence[Entry]) -> Iterator[Saying]:
    """Yield the last messages of people, the newest first, a question with the reply to it."""
    replies: dict[str, Entry] = {}  # of each source: the last one before the next message
    for entry in reversed(entries):
        if entry.kind == "code" or entry.text.startswith("["):  # an agent's call of a tool
            continue
        if entry.role == "assistant":
            replies.setdefault(entry.source, entry)
        if entry.role in _BOTS:
            continue
        line = with_speaker(entry.text, entry.speaker)
        ids: tuple[str, ...] = (entry.id,)
        reply = replies.pop(entry.source, None)
        if reply and entry.text.rstrip().endswith("?"):
            line, ids = f"{line} → {reply.text}", (entry.id, reply.id)
        yield Saying(line, ids, entry.source, entry.at)


def _line(text: str) -> str:
    """Return a text on one line, so that a stored text cannot begin a line of its own."""
    line = _LONG_WORD.sub(r"\1…", " ".join(text[: 4 * MAX_LINE_CHARS].split()))
    return line if len(line) <= MAX_LINE_CHARS else f"{line[: MAX_LINE_CHARS - 1]}…"


def _words(text: str) -> frozenset[int]:
    """Return the words of a line without those of the cues."""
    return frozenset(terms(text[: 4 * MAX_LINE_CHARS])[:, 0].tolist()) - _TELLING


def _alike(words: frozenset[int], other: frozenset[int]) -> bool:
    fewer = min(len(words), len(other))
    return len(words & other) >= SAME * fewer if fewer else not words and not other
