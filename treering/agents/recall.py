"""What a hook puts in: a brief at the start of a session, the lines that matter to a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from treering.agents.replies import framed
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering.records import Hit

BRIEF_TOKENS = 900
PROMPT_TOKENS = 300
CANDIDATES = 12
LINES = 5
LINE_CHARS = 300
"""A few lines, each a sentence or two: a prompt is not the place for pages."""

_BRIEF: Final = "What treering remembers of this project."
_LINES: Final = "What treering remembers that may matter here."


@dataclass(frozen=True, slots=True)
class Recalled:
    """A text to put in, the entries it rests on, and what it costs."""

    text: str = ""
    entries: tuple[str, ...] = ()
    tokens: int = 0


def lines_for(
    memories: Sequence[Memory], prompt: str, min_confidence: float, hidden: frozenset[str]
) -> Recalled:
    """The few lines that matter to a prompt; nothing if none does.

    ``hidden`` are sessions whose messages the model still has before it.
    """
    hits = [hit for memory in memories for hit in _hits(memory, prompt, min_confidence)]
    lines: list[str] = []
    chosen: list[str] = []
    tokens = 0
    for hit in sorted(hits, key=lambda hit: -hit.score):
        line = _line(hit)
        cost = estimate_tokens(line)
        if hit.session in hidden or hit.entry_id in chosen or tokens + cost > PROMPT_TOKENS:
            continue
        lines.append(line)
        chosen.append(hit.entry_id)
        tokens += cost
        if len(lines) == LINES:
            break
    if not lines:
        return Recalled()
    text = framed("\n".join(lines), _LINES)
    return Recalled(text, tuple(chosen), estimate_tokens(text))


def _line(hit: Hit) -> str:
    date = f"{hit.at:%Y-%m-%d} " if hit.at else ""
    speaker = f"{hit.speaker}: " if hit.speaker else ""
    newer = f" (since then: {_short(hit.superseded_by.text)})" if hit.superseded_by else ""
    return f"- {date}{speaker}{_short(hit.text)}{newer} [{hit.source}]"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1]}…"
