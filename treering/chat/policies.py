"""The policies of a chat by name. A policy chooses the parts of a prompt beside the message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from treering.chat.policy import (
    JOIN,
    QUERY_CHARS,
    Evidence,
    Exchange,
    Layout,
    Materials,
    Policy,
    Sources,
    Turn,
    cite,
    ids,
    indent,
    newest,
    origin,
    tokens,
)
from treering.errors import UnknownName
from treering.search.context import CountTokens, show_hit
from treering.views.memos.record import MemoEvidence
from treering.views.tree.aggregate import central_sentences

MEMO_RECENT_SHARE: Final = 0.5
"""The paper's: memos are written once the recent dialogue fills half the window."""

NUMBER_TOKENS: Final = 5  # of an evidence's "(n)" and the blank line before it


HISTORY_SHARE = 0.98  # of the room: a conversation that fits is shown, not searched
NEARLY = 1.25  # of the room: one that nearly fits fills it; else a turn more would hide most of it
RECENT_SHARE = 0.15  # of the room, once it does not: the last round and a little before it
WHOLE_SHARE = 0.85  # of the remaining room; the rest holds many more exchanges in brief
WHOLE_SCORE = (
    0.18  # of the best score: of the turns that MT-Bench+'s questions need, 9 in 10 have it
)
BRIEF_TOKENS = 40  # of a piece in brief: a sentence or two
FRAGMENTS = 100  # candidates; they fill 2,000 tokens several times
HEAD_TOKENS = 12  # of an evidence's number and origin, an upper bound


class AutoPolicy:
    """The default: useful with the first message, and narrow by search without another call.

    Everything is under one budget: recent dialogue, whole exchanges that relate, the rest in brief.
    An evidence is shown with its exchange, since half an exchange says little (FragRel's fragment
    of a chat is a round, appendix B.3). One that does not fit as a whole is shown by its memo or
    its central sentences, so that the same room holds more exchanges.
    """

    name = "auto"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """The newest end of the conversation, and exchanges and memos that relate to the message.

        The query is the message alone: the last round, which FragRel adds to it, is shown anyway,
        and misleads the search if the message changes the subject.
        """
        recent, length = turn.history, tokens(turn.history, turn.count)
        if length > turn.room * HISTORY_SHARE:
            recent = newest(turn.history, int(turn.room * RECENT_SHARE), turn.count)
        left = turn.room - tokens(recent, turn.count)
        whole_room = int(left * WHOLE_SHARE)
        brief_room = left - whole_room
        asked = turn.message.strip()[-QUERY_CHARS:]
        shown = ids(recent)
        # Search always returns something. If no hit shares a word or some meaning with the message,
        # all of them are dropped.
        exchanges = _without_equal(sources.exchanges(asked, FRAGMENTS, shown))
        best = max((exchange.score for exchange in exchanges), default=0.0)
        if best <= 0 and not any(map(_is_related, exchanges)):
            exchanges = []  # the first of all there are, in no order
        # A conversation that nearly fits is shown almost whole: its own exchanges are candidates
        # however low they score.
        here = ids(turn.history) if length <= turn.room * NEARLY else frozenset()
        likely = [
            exchange
            for exchange in exchanges
            if exchange.score >= best * WHOLE_SCORE or not here.isdisjoint(exchange.entries)
        ]
        whole = _fitting_exchanges(likely, whole_room, turn.count)
        whole_keys = {exchange.key for exchange in whole}
        recalled = {entry for exchange in whole for entry in exchange.entries}
        memos = _fitting_memos(sources.memos(asked), shown | recalled, brief_room, turn.count)
        brief_room -= sum(turn.count(memo.text) + HEAD_TOKENS for memo in memos)
        # An exchange that is shown whole, or whose memo is shown, is not repeated in brief.
        covered = {entry for memo in memos for entry in memo.brief}
        rest = [
            exchange
            for exchange in exchanges
            if exchange.key not in whole_keys and not covered.issuperset(exchange.entries)
        ]
        brief = list(_briefly(rest, brief_room, turn.count))
        # By time where there is one, inside a source by place: as they are read best.
        ordered = sorted(
            [*((exchange, _whole(exchange)) for exchange in whole), *brief],
            key=lambda pair: pair[0].order,
        )
        return Materials((*memos, *(evidence for _, evidence in ordered)), recent)


def _is_related(exchange: Exchange) -> bool:
    """Whether an exchange shares a word or some meaning with the message.

    Scores cannot tell: a single exchange scores 0, the mean of all, and so do equal ones.
    """
    return any((hit.why.bm25 or 0) > 0 or (hit.why.cosine or 0) > 0 for hit in exchange.hits)


def _without_equal(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Exchanges, best first, without those of the text of a better one, such as shared copies."""
    best: dict[str, Exchange] = {}
    for exchange in exchanges:
        best.setdefault(_full_text(exchange), exchange)
    return [*best.values()]


def _fitting_exchanges(
    exchanges: Sequence[Exchange], room: int, count: CountTokens
) -> list[Exchange]:
    """Exchanges, best first, that fit as a whole."""
    taken: list[Exchange] = []
    for exchange in exchanges:
        cost = count(_full_text(exchange)) + HEAD_TOKENS
        if cost <= room:
            taken.append(exchange)
            room -= cost
    return taken


def _fitting_memos(
    memos: Sequence[Evidence], shown: frozenset[str], room: int, count: CountTokens
) -> list[Evidence]:
    """Memos, best first, that fit, without those whose lines are all shown."""
    chosen = []
    for memo in memos:
        if shown.issuperset(memo.entries):
            continue
        cost = count(memo.text) + HEAD_TOKENS
        if cost <= room:
            chosen.append(memo)
            room -= cost
    return chosen


def _briefly(
    exchanges: Sequence[Exchange], room: int, count: CountTokens
) -> Iterator[tuple[Exchange, Evidence]]:
    """The central sentences of exchanges, best first, until one does not fit."""
    for exchange in exchanges:
        lines = [_brief(line, count) for line in map(show_hit, exchange.hits)]
        text = "\n".join([f"{_head(exchange)}, in brief", *lines])
        room -= count(text) + HEAD_TOKENS
        if room < 0:
            return
        yield exchange, Evidence(text, brief=exchange.entries)


def _brief(line: str, count: CountTokens) -> str:
    return " ".join(central_sentences([line], BRIEF_TOKENS, count).split())


def _whole(exchange: Exchange) -> Evidence:
    return Evidence(f"{_head(exchange)}\n{_full_text(exchange)}", exchange.entries)


def _full_text(exchange: Exchange) -> str:
    return "\n".join(indent(show_hit(hit)) for hit in exchange.hits)


def _head(exchange: Exchange) -> str:
    return origin(exchange.hits[0].source, exchange.hits[0].at)


class WindowPolicy:
    """Every line of the conversation, or as many of the newest as fit."""

    name = "window"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:  # noqa: ARG002
        """The newest end of the conversation; nothing is recalled."""
        return Materials(recent=newest(turn.history, turn.room, turn.count))


class FragmentsPolicy:
    """FragRel's chat protocol (appendix B.3): the last round, and fragments that relate to it."""

    name = "fragments"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """The whole conversation while it is short, else its last round and passages."""
        if turn.is_short:
            return Materials(recent=turn.history)
        recent = newest(turn.last_round, turn.room, turn.count)
        left = turn.room - tokens(recent, turn.count)
        if left <= 0:
            return Materials(recent=recent)
        context = sources.passages(turn.query, left, ids(recent))
        return Materials(cite(context, turn.layout), recent, context)


class NodesPolicy:
    """The nodes of the tree that answer the message, and nothing else (MemTree, A.2.2)."""

    name = "nodes"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """The nodes; no recent dialogue, whose rounds are leaves of the tree."""
        return Materials(tuple(sources.nodes(turn.message.strip()[-QUERY_CHARS:], turn.room)))


class MemoPolicy:
    """MemoChat: memos are written as they fall due, and those the message is about are chosen."""

    name = "memo"
    writes_memos = True

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """Topics, summaries and dialogues of the chosen memos, and the recent dialogue."""
        history = turn.history
        written = sources.written_lines(history[-1].source) if history else frozenset()
        unwritten = [entry for entry in history if entry.id not in written]
        recent = newest(unwritten, int(turn.room * MEMO_RECENT_SHARE), turn.count)
        left = turn.room - tokens(recent, turn.count)
        evidences = []
        for memo in sources.choose_memos(turn.message.strip()[-QUERY_CHARS:]):
            evidence = _fitting_memo(memo, left, turn.count, turn.layout)
            if evidence is not None:
                evidences.append(evidence)
                left -= turn.count(evidence.text) + NUMBER_TOKENS
        return Materials(tuple(evidences), recent)


def _fitting_memo(
    memo: MemoEvidence, room: int, count: CountTokens, layout: Layout
) -> Evidence | None:
    """A memo with as many of its lines as fit; None if not even its summary does."""
    entry_ids = memo.memo.entry_ids
    for lines in range(len(memo.dialogues), -1, -1):
        text = _memo_text(memo, lines, layout)
        if count(text) + NUMBER_TOKENS <= room:
            return Evidence(text, entry_ids[:lines], entry_ids[lines:])
    return None


def _memo_text(memo: MemoEvidence, lines: int, layout: Layout) -> str:
    """The evidence of table 8. In our layout it is JSON, so that a quotation mark in a text cannot
    end the text."""
    fields = {
        "Related Topics": memo.topic,
        "Related Summaries": memo.summary,
        "Related Dialogs": JOIN.join(memo.dialogues[:lines]),
    }
    if layout == "printed":
        return "{" + ", ".join(f"'{name}': '{text}'" for name, text in fields.items()) + "}"
    return json.dumps(fields, ensure_ascii=False)


POLICIES: Final[dict[str, Policy]] = {
    policy.name: policy
    for policy in (
        AutoPolicy(),
        WindowPolicy(),
        FragmentsPolicy(),
        NodesPolicy(),
        MemoPolicy(),
    )
}


def find_policy(policy: str | Policy) -> Policy:
    """The policy of that name; one of your own is returned as it is. Raises UnknownName."""
    if not isinstance(policy, str):
        return policy
    if policy not in POLICIES:
        raise UnknownName(f"no chat policy {policy!r}; there are {', '.join(POLICIES)}")
    return POLICIES[policy]
