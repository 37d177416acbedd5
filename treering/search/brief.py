"""A brief: what somebody who begins to work with a memory should know of it, on half a page.

Who and what it is about, which decisions and preferences hold, what is open, and what changed
lately. No model is asked: what models wrote before (memos, summaries) is used where it is there,
and else sentences are quoted that say of themselves what they are ("always …", "we decided …",
"TODO"). No I/O: ``material`` is what the memory holds, read by whoever calls.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Final, Literal

from treering.llm.tokens import estimate_tokens
from treering.records import Entry
from treering.search.terms import terms
from treering.text import with_speaker

Section = Literal["pinned", "about", "holds", "open", "lately"]
TITLES: Final[dict[Section, str]] = {
    "pinned": "Pinned",
    "about": "Who and what this is about",
    "holds": "Decisions and preferences that hold",
    "open": "Open",
    "lately": "Lately",
}
SHARES: Final[dict[Section, float]] = {"about": 0.2, "holds": 0.4, "open": 0.2, "lately": 0.2}
"""Of the budget. What a section leaves goes to those after it, and then to any."""

PINNED_SHARE: Final = 0.25
"""Of the budget, before all others, where something is pinned."""

MAX_LINE_CHARS: Final = 240
MAX_WORD_CHARS: Final = 80
"""Of a longer word, such as an image in letters, the beginning says as much, and leaves room for
others. Scripts without spaces have none."""

SAME: Final = 0.6
"""Share of the fewer words from which on two lines are about the same, and the newer one counts."""

MIN_WORDS: Final = 3
MIN_ROOM: Final = 8
"""Tokens of the shortest line: with less left, a section is full."""

LAST_WORDS: Final = 6
LABEL_CHARS: Final = 40

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\w)[^.!?\n]*)*[.!?]*")
_LONG_WORD = re.compile(rf"[!-\u052f]{{{MAX_WORD_CHARS + 1},}}")
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
_SUPPOSED = re.compile(r"^\s*(?:if|what if|imagine|suppose|why|how|what|when|who|where)\b", re.I)
_LABELLED = re.compile(r"^\W*(?:decision|decided|agreed|todo|next|open)\b\W", re.IGNORECASE)
_TELLING: Final = frozenset(
    terms(
        "always never prefer now must decided decision agreed let use keep please note remember"
        " make sure like want todo need still yet next step done fixed finished works"
    )[:, 0].tolist()
)
_BOTS = frozenset({"assistant", "system", "tool"})


@dataclass(frozen=True, slots=True)
class BriefLine:
    """A line of a brief: what it says, and the entries it rests on.

    ``number`` is that of its citation, which names source and day.
    """

    section: Section
    text: str
    number: int
    entry_ids: tuple[str, ...]
    source: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """What to know before one begins, within a token budget. ``str()`` is the text for a prompt.

    A memory in which there is nothing to say of has no lines and an empty text.
    """

    lines: tuple[BriefLine, ...]
    text: str
    tokens: int
    budget: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Saying:
    """Something that a memory knows, as a line of a brief may say it."""

    text: str
    entry_ids: tuple[str, ...]
    source: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class BriefMaterial:
    """What a brief is made of: the most important first in each list, but ``newest`` as added.

    ``pinned`` are the entries that somebody pinned, ``about`` facts that hold, and topics;
    ``holds`` memos that somebody pinned; ``changed`` what newer statements superseded; ``newest``
    the latest entries, without those that are superseded.
    """

    pinned: tuple[Saying, ...] = ()
    about: tuple[Saying, ...] = ()
    holds: tuple[Saying, ...] = ()
    changed: tuple[Saying, ...] = ()
    newest: tuple[Entry, ...] = field(default=())


def compose(
    material: BriefMaterial, budget: int, count: Callable[[str], int] = estimate_tokens
) -> Brief:
    """The brief that fits ``budget`` tokens."""
    candidates: dict[Section, list[Saying]] = {
        "pinned": list(material.pinned),
        "about": list(material.about),
        "holds": [*material.holds, *_sentences(material.newest, _HOLDS, people_only=True)],
        "open": list(_unfinished(material.newest)),
        "lately": [*material.changed, *islice(_last_words(material.newest), LAST_WORDS)],
    }
    picked = _fitting(candidates, frozenset(material.changed), budget, count)
    text, lines = _written(picked)
    # Citations are counted with the whole: the last lines go while it is too long.
    while lines and count(text) > budget:
        last = next(section for section in reversed(picked) if picked[section])
        picked[last].pop()
        text, lines = _written(picked)
    return Brief(tuple(lines), text, count(text) if text else 0, budget)


def _fitting(
    candidates: dict[Section, list[Saying]],
    changed: frozenset[Saying],
    budget: int,
    count: Callable[[str], int],
) -> dict[Section, list[Saying]]:
    """Lines section by section, each within its share and what those before it left over.

    What repeats a line is left out; not what ``changed``, for it names what holds now again.
    """
    picked: dict[Section, list[Saying]] = {section: [] for section in TITLES}
    taken: list[frozenset[int]] = []
    left = 0.0
    shares_first = SHARES
    if candidates["pinned"]:
        rest = {section: share * (1 - PINNED_SHARE) for section, share in SHARES.items()}
        shares_first = {"pinned": PINNED_SHARE, **rest}
    for shares in (shares_first, dict.fromkeys(shares_first, 0.0)):
        for section, share in shares.items():
            left += budget * share
            for saying in candidates[section]:
                if left < MIN_ROOM:
                    break
                cost = count(f"- {_line(saying.text)} [10]\n")
                words = _words(saying.text)
                if cost <= left and (saying in changed or not _repeats(words, taken)):
                    picked[section].append(saying)
                    changed -= {saying}
                    taken.append(words)
                    left -= cost
    return picked


def _written(picked: dict[Section, list[Saying]]) -> tuple[str, list[BriefLine]]:
    """The text with its citations, one for what comes from the same source on the same day."""
    numbers: dict[str, int] = {}
    lines: list[BriefLine] = []
    parts: list[str] = []
    for section, sayings in picked.items():
        if not sayings:
            continue
        parts.append(f"{TITLES[section]}:")
        for saying in sayings:
            place = _place(saying)
            number = numbers.setdefault(place, len(numbers) + 1)
            text = _line(saying.text)
            lines.append(
                BriefLine(section, text, number, saying.entry_ids, saying.source, saying.at)
            )
            parts.append(f"- {text} [{number}]")
    parts += [f"[{number}] {place}" for place, number in numbers.items()]
    return "\n".join(parts), lines


def _place(saying: Saying) -> str:
    source = saying.source
    label = source if len(source) <= LABEL_CHARS else f"…{source[1 - LABEL_CHARS :]}"
    return f"{label}, {saying.at:%Y-%m-%d}" if saying.at else label


# ------------------------------------------------------------------ what entries say


def _sentences(
    entries: Sequence[Entry], cue: re.Pattern[str], *, people_only: bool
) -> Iterator[Saying]:
    """Sentences with a cue, the newest first; of what bots say only what they label."""
    for entry in reversed(entries):
        if entry.kind == "code":
            continue
        for match in _SENTENCE.finditer(entry.text):
            sentence = match[0].strip()
            if not _plain(sentence) or not cue.search(sentence):
                continue
            if people_only and entry.role in _BOTS and not _LABELLED.match(sentence):
                continue
            yield Saying(sentence, (entry.id,), entry.source, entry.at)


def _plain(sentence: str) -> bool:
    """A statement of a few words: no question, no supposition, no line of code or of a log."""
    return (
        len(sentence) <= MAX_LINE_CHARS
        and not sentence.endswith("?")
        and len(sentence.split()) >= MIN_WORDS
        and _SUPPOSED.match(sentence) is None
        and not sentence.startswith("[")
        and sum(char.isalpha() or char.isspace() for char in sentence) >= 0.75 * len(sentence)
    )


def _unfinished(entries: Sequence[Entry]) -> Iterator[Saying]:
    """What is to be done, the newest first, unless something later says that it is."""
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
    """What people said last, the newest first, each by the beginning of what they said."""
    for entry in reversed(entries):
        if entry.kind != "code" and entry.role not in _BOTS and not entry.text.startswith("["):
            line = with_speaker(entry.text, entry.speaker)
            yield Saying(line, (entry.id,), entry.source, entry.at)


def _line(text: str) -> str:
    """A text on one line; what is remembered cannot begin a line of its own."""
    line = _LONG_WORD.sub(_cut, " ".join(text[: 4 * MAX_LINE_CHARS].split()))
    return line if len(line) <= MAX_LINE_CHARS else f"{line[: MAX_LINE_CHARS - 1]}…"


def _cut(found: re.Match[str]) -> str:
    """A long word cut, unless it is an address or a path: of these a part is of no use."""
    word = found[0]
    if "/" in word or "\\" in word:
        return word
    stop = MAX_WORD_CHARS - 1
    while stop > 1 and unicodedata.combining(word[stop]):
        stop -= 1  # before a letter whose mark follows
    return f"{word[:stop]}…"


def _words(text: str) -> frozenset[int]:
    """What a line is about: its words without those that only tell what kind of line it is."""
    return frozenset(terms(text[: 4 * MAX_LINE_CHARS])[:, 0].tolist()) - _TELLING


def _repeats(words: frozenset[int], taken: Iterable[frozenset[int]]) -> bool:
    return any(_alike(words, other) for other in taken)


def _alike(words: frozenset[int], other: frozenset[int]) -> bool:
    fewer = min(len(words), len(other))
    return len(words & other) >= SAME * fewer if fewer else not words and not other
