"""FragRel's chat protocol (appendix B.3): the whole history while short, then related fragments."""

from __future__ import annotations

from treering.chat.policy import Materials, Sources, Turn, cited, ids, newest, query, tokens


class FragmentsPolicy:
    """The last round, and what the memory relates to it and the message."""

    name = "fragments"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """The whole conversation while it is short, else its last round and passages."""
        if is_short(turn):
            return Materials(recent=turn.history)
        recent = newest(turn.last_round, turn.room, turn.count)
        left = turn.room - tokens(recent, turn.count)
        if left <= 0:
            return Materials(recent=recent)
        context = sources.passages(query(turn), left, ids(recent))
        return Materials(cited(context, turn.layout), recent, context)


def is_short(turn: Turn) -> bool:
    """Whether a conversation is shown whole: it has few enough rounds and tokens, and fits."""
    rounds = sum(entry.role == "user" for entry in turn.history)
    if max(rounds, len(turn.history) / 2) > turn.whole_rounds:
        return False
    return tokens(turn.history, turn.count) <= min(turn.whole_tokens, turn.room)
