"""Everything under one budget: recent dialogue, related passages, and in brief what comes next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treering.chat.policy import (
    Evidence,
    Materials,
    Sources,
    Turn,
    cited,
    entries_of,
    ids,
    newest,
    origin,
    query,
    tokens,
)
from treering.recall.context import CountTokens
from treering.records import Hit
from treering.tree.extract import central_sentences

RECENT_SHARE = 0.3  # of the room; what was just said is mostly what is spoken of
WHOLE_SHARE = 0.6  # of what is left; the rest holds more pieces in brief
BRIEF_TOKENS = 40  # of a piece in brief: a sentence or two
MAX_HITS = 64  # brief pieces of 2,000 tokens


class Auto:
    """The default: useful with the first message, and narrow by search without another call."""

    name = "auto"

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """The newest end of the conversation, passages, and in brief what ranks next."""
        recent = newest(turn.history, int(turn.room * RECENT_SHARE), turn.count)
        shown = ids(recent)
        left = turn.room - tokens(recent, turn.count)
        asked = query(turn)
        context = sources.passages(asked, max(int(left * WHOLE_SHARE), 1), shown)
        shown |= {one for passage in context.passages for one in entries_of(passage)}
        hits = sources.hits(asked, MAX_HITS, shown)
        brief = in_brief(hits, left - context.tokens, turn.count)
        return Materials((*cited(context), *brief), recent, context)


def in_brief(hits: Sequence[Hit], room: int, count: CountTokens) -> tuple[Evidence, ...]:
    """The central sentences of as many hits as fit, best first taken, shown as they were said."""
    taken: list[Hit] = []
    for hit in hits:
        room -= count(_brief(hit, count)) + count(origin(hit.source, hit.at)) + 2
        if room < 0:
            break
        taken.append(hit)
    return tuple(
        Evidence(text, tuple(dict.fromkeys(hit.entry_id for hit in group)), whole=False)
        for text, group in _grouped(taken, count)
    )


def _grouped(hits: Iterable[Hit], count: CountTokens) -> list[tuple[str, list[Hit]]]:
    """The hits of one source and time under one heading, in reading order."""
    groups: dict[str, list[Hit]] = {}
    for hit in sorted(hits, key=lambda one: (one.source, one.position, one.start)):
        groups.setdefault(origin(hit.source, hit.at), []).append(hit)
    return [
        ("\n".join([f"{head}, in brief:", *(_brief(hit, count) for hit in group)]), group)
        for head, group in groups.items()
    ]


def _brief(hit: Hit, count: CountTokens) -> str:
    said = " ".join(central_sentences([hit.text], BRIEF_TOKENS, count).split())
    return f"{hit.speaker}: {said}" if hit.speaker else said
