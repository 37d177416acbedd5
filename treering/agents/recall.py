"""What a hook puts in: a brief at the start of a session, the lines that matter to a prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treering.agents.replies import framed
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering.records import Hit
from treering.search.confidence import RELEVANT

BRIEF_TOKENS = 900
PROMPT_TOKENS = 300
CANDIDATES = 12
LINES = 5
LINE_CHARS = 300
"""A few lines, each a sentence or two: a prompt is not the place for pages."""

_BRIEF: Final = "What treering remembers of this project."
_LINES: Final = "What treering remembers that may matter here."


@dataclass(frozen=True, slots=True)
class Recollection:
    """A text to put in, the entries it rests on, and what it costs."""

    text: str = ""
    entries: tuple[str, ...] = ()
    tokens: int = 0


def brief_of(memories: Sequence[Memory]) -> Recollection:
    """A brief of each memory, within one budget."""
    briefs = [memory.brief(budget=BRIEF_TOKENS // len(memories)) for memory in memories]
    texts = [brief.text for brief in briefs if brief.text]
    if not texts:
        return Recollection()
    text = framed("\n\n".join(texts), _BRIEF)
    cited = (entry for brief in briefs for line in brief.lines for entry in line.entry_ids)
    return Recollection(text, tuple(dict.fromkeys(cited)), estimate_tokens(text))


def lines_for(
    memories: Sequence[Memory],
    prompt: str,
    in_view: Mapping[str, float],
    put_in: Sequence[str] = (),
) -> Recollection:
    """The few lines that matter to a prompt; nothing if none does.

    ``in_view`` are sessions whose messages the model has before it, and since when, in seconds;
    ``put_in`` are briefs and lines that it got before, and has before it, too.
    """
    if not prompt.strip():
        return Recollection()
    hits = [
        hit
        for memory in memories
        for hit in memory.search(prompt, k=CANDIDATES, min_confidence=RELEVANT)
    ]
    lines: dict[str, str] = {}
    room = PROMPT_TOKENS
    for hit in sorted(hits, key=lambda hit: -hit.confidence):
        line = _line(hit)
        cost = estimate_tokens(line)
        is_in_view = _is_in_view(hit, in_view) or _is_in(put_in, _said(hit))
        if is_in_view or hit.entry_id in lines or cost > room:
            continue
        lines[hit.entry_id] = line
        room -= cost
        if len(lines) == LINES:
            break
    if not lines:
        return Recollection()
    text = framed("\n".join(lines.values()), _LINES)
    return Recollection(text, tuple(lines), estimate_tokens(text))


def _is_in_view(hit: Hit, in_view: Mapping[str, float]) -> bool:
    since = in_view.get(hit.session or "")
    return since is not None and (hit.at is None or hit.at.timestamp() >= since)


def _is_in(texts: Sequence[str], said: str) -> bool:
    """Whether a text has it as whole words: "port 80" is not in "port 8080"."""
    whole = re.compile(rf"(?<!\w){re.escape(said)}(?!\w)")
    return any(whole.search(text) for text in texts)


def _line(hit: Hit) -> str:
    date = f"{hit.at:%Y-%m-%d} " if hit.at else ""
    speaker = f"{hit.speaker}: " if hit.speaker else ""
    return f"- {date}{speaker}{_said(hit)} [{hit.source}]"


def _said(hit: Hit) -> str:
    """The text, and what was said instead since: then a line that was put in before comes again."""
    newer = f" (since then: {_short(hit.superseded_by.text)})" if hit.superseded_by else ""
    return f"{_short(hit.text)}{newer}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1]}…"
