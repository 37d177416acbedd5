"""Chats between people: their weights, the speakers that a query names, the query without them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from treering.search.relations.plan import Plan, Weighted
from treering.search.snapshot import Snapshot
from treering.search.terms import terms, words

_POSSESSIVE: Final = re.compile(r"['\u2019]s\b", re.IGNORECASE)

USER: Final = "user"
ASSISTANT: Final = "assistant"

LEARNED: Final[Mapping[str, float]] = json.loads(
    files("treering.search").joinpath("weights.json").read_text("utf-8")
)["weights"]
"""The weights of chats between people as multiples of that of cosines, by term. Learned by
``treering-bench learn``; ``benchmarks/results/learn.json`` has what they find."""

ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
"""Words, not names, in a query."""


@dataclass(frozen=True, slots=True)
class SpeakerNames:
    """The names of the speakers of a space, by code, and the words of each."""

    names: tuple[str, ...]
    words: tuple[frozenset[str], ...]

    @classmethod
    def from_names(cls, names: Sequence[str]) -> SpeakerNames:
        """Split each name into words once."""
        return cls(tuple(names), tuple(map(words, names)))

    def codes(self, query: str) -> frozenset[int]:
        """The codes of the speakers whose names a query holds, each with all of its words."""
        asked = words(_POSSESSIVE.sub("", query))
        return frozenset(
            code
            for code, name in enumerate(self.words)
            if name and name <= asked and not name <= ROLES
        )

    def removed(self, query: str) -> str:
        """The query without the names of speakers; the query if nothing else is left of it.

        Half of all turns of a chat carry each name, so it fills a vector and tells none apart.
        """
        rest = query
        for code in self.codes(query):
            rest = re.sub(
                rf"(?<!\w){re.escape(self.names[code])}(?:['\u2019]s)?(?!\w)", " ", rest, flags=re.I
            )
        rest = " ".join(rest.split())
        return rest if len(terms(rest)) else query


def has_weights_of_people(plan: Plan) -> bool:
    """Whether chats between people have weights of their own in a plan."""
    return any(weighted.among_people is not None for weighted in plan.get("chat", ()))


def names_among_people(
    snapshot: Snapshot, plan: Plan, before: SpeakerNames | None
) -> SpeakerNames | None:
    """The names that queries are embedded without; None where they are embedded as they are.

    ``before`` are those of an earlier snapshot: names are split into words once.
    """
    if among_people(snapshot, plan) is None:
        return None
    is_same = before is not None and before.names == snapshot.speakers
    return before if is_same else SpeakerNames.from_names(snapshot.speakers)


def among_people(snapshot: Snapshot, plan: Plan) -> Plan | None:
    """The plan for chats between people; None for other chats, or if the plan has no such weights.

    A chat is between people if the space has no message of an assistant, and none of a speaker
    called ``user``. The result has ``among_people``, so a second call returns the same plan.
    """
    with_assistant = snapshot.state.has_assistant or USER in snapshot.names.speakers
    if "chat" not in snapshot.kinds or with_assistant or not has_weights_of_people(plan):
        return None
    people = [
        weighted
        if weighted.among_people is None
        else Weighted(weighted.relation, weighted.among_people, weighted.among_people)
        for weighted in plan["chat"]
    ]
    return {**plan, "chat": people}
