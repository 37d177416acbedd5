"""The text that a hook adds: a brief at the start of a session, a few lines before a prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, islice, takewhile
from typing import Final

from treering.agents.replies import put_in_frame
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory, memory_parts
from treering.records import Entry, Hit
from treering.search.scores import RELEVANT

BRIEF_TOKENS = 900
PROMPT_TOKENS = 300
CANDIDATES = 12
LINES = 5
TURN = 64
"""Entries from a question on among which the reply is looked for: an agent first calls tools."""
LINE_CHARS = 300
"""A few lines, each a sentence or two: a prompt is not the place for pages."""

_BRIEF: Final = "What treering remembers of this project."
_LINES: Final = "What treering remembers that may matter here."


@dataclass(frozen=True, slots=True)
class Recollection:
    """A text to add, the entries that it quotes, and its cost.

    ``why_nothing`` says why the text is empty.
    """

    text: str = ""
    entries: tuple[str, ...] = ()
    tokens: int = 0
    why_nothing: str = ""


def project_brief(memories: Sequence[Memory]) -> Recollection:
    """Return a brief of each memory, within one budget."""
    briefs = {
        memory_parts(memory).space.name: memory.brief(budget=BRIEF_TOKENS // len(memories))
        for memory in memories
    }
    texts = {space: brief.text for space, brief in briefs.items() if brief.text}
    if not texts:
        return Recollection(why_nothing="there is nothing to say yet")
    if len(memories) > 1:  # each brief numbers its own sources
        texts = {space: f"Of the space {space!r}:\n{text}" for space, text in texts.items()}
    text = put_in_frame("\n\n".join(texts.values()), _BRIEF)
    cited = (entry for brief in briefs.values() for line in brief.lines for entry in line.entry_ids)
    return Recollection(text, tuple(dict.fromkeys(cited)), estimate_tokens(text))


def relevant_lines(
    memories: Sequence[Memory],
    prompt: str,
    in_view: Mapping[str, float],
    put_in: Sequence[str] = (),
) -> Recollection:
    """Return the few lines that matter to a prompt; none if nothing does.

    The model has seen the messages of the sessions ``in_view`` since a time, in seconds, and the
    briefs and lines ``put_in``: they are left out.
    """
    if not prompt.strip():
        return Recollection(why_nothing="the prompt is empty")
    memory_by_space = {memory_parts(memory).space.name: memory for memory in memories}
    hits = memories[0].search(prompt, k=CANDIDATES, spaces=[*memory_by_space])
    best = max((hit.confidence for hit in hits), default=0.0)
    if best < RELEVANT:
        return Recollection(why_nothing=f"best {best:.2f}, needed {RELEVANT:g}")
    lines: dict[str, str] = {}
    room = PROMPT_TOKENS
    if len(memories) == 1:  # the confidences of two spaces compare worse than their scores
        hits.sort(key=lambda hit: -hit.confidence)
    for hit in hits:
        if len(list(filter(None, lines.values()))) == LINES:
            break
        if hit.confidence < RELEVANT:
            continue
        reply = _reply_to(hit, memory_by_space[hit.space])
        quote = _quote(hit) + (f" → {_short(reply.text)}" if reply else "")
        line = _line(hit, quote)
        cost = estimate_tokens(line)
        is_known = _is_in_view(hit, in_view) or _is_quoted([*put_in, *lines.values()], quote)
        if not is_known and hit.entry_id not in lines and cost <= room:
            lines[hit.entry_id] = line
            room -= cost
            if reply:  # it would repeat a part of this line
                lines.setdefault(reply.id, "")
    if not lines:
        return Recollection(why_nothing="the model has seen it in this session")
    text = put_in_frame("\n".join(filter(None, lines.values())), _LINES)
    return Recollection(text, tuple(lines), estimate_tokens(text))


def _reply_to(hit: Hit, memory: Memory) -> Entry | None:
    """Return the last words of the model before the next message, if a user asked a question."""
    if hit.role != "user" or hit.at is None or not hit.text.rstrip().endswith("?"):
        return None
    following = islice(memory.entries(source=hit.source, since=hit.at), TURN)
    after = islice(dropwhile(lambda entry: entry.id != hit.entry_id, following), 1, None)
    # Calls of tools and their errors are in brackets.
    replies = (entry for entry in after if not entry.text.startswith("["))
    turn = [*takewhile(lambda entry: entry.role == "assistant", replies)]
    return turn[-1] if turn else None


def _is_in_view(hit: Hit, in_view: Mapping[str, float]) -> bool:
    since = in_view.get(hit.session or "")
    return since is not None and (hit.at is None or hit.at.timestamp() >= since)


def _is_quoted(texts: Sequence[str], quote: str) -> bool:
    """Return whether a text has the quote as whole words: "port 80" is not in "port 8080"."""
    whole = re.compile(rf"(?<!\w){re.escape(quote)}(?!\w)")
    return any(whole.search(text) for text in texts)


def _line(hit: Hit, quote: str) -> str:
    date = f"{hit.at:%Y-%m-%d} " if hit.at else ""
    speaker = f"{hit.speaker}: " if hit.speaker else ""
    return f"- {date}{speaker}{quote} [{hit.source}]"


def _quote(hit: Hit) -> str:
    """Return the text, with a newer statement: then an earlier line is not the same any more."""
    newer = f" (since then: {_short(hit.superseded_by.text)})" if hit.superseded_by else ""
    return f"{_short(hit.text)}{newer}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1]}…"
