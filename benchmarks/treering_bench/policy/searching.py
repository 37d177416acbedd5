"""Policies that are one call of a memory: treering, plain scorers, trees, chats, relations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from treering.chat.policies import find_policy
from treering.errors import InputError, UnknownName
from treering.llm.contract import Message
from treering.records import Kind
from treering.search.relations.contract import Weighted
from treering.search.relations.registry import ALPHA, BUILT_IN, DEFAULTS
from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.space import TaskSpace
from treering_bench.task import TaskQuestion

PREFIX: Final = "with:"
DEFAULT_RELATIONS: Final = "default"
OF_A_SPACE: Final = ("tree", "topic")
"""Relations that a memory makes itself, of its summaries and of its memos."""

LEVEL_HITS: Final = 10
"""MemTree's k at each level of a traversal."""

_RELATION: Final = re.compile(
    r"(?P<name>[a-z-]+)(?:\((?P<key>\w+)=(?P<value>[\d.]+)\))?(?:@(?P<alpha>[\d.]+))?"
)


def search_policy(name: str, **how: Any) -> RetrievalPolicy:
    """A policy that searches with ``how``, the keyword arguments of ``Memory.search``."""
    return RetrievalPolicy(name, lambda space, question: space.search(question, **how))


def context_policy(name: str, **how: Any) -> RetrievalPolicy:
    """A policy that fills a budget with ``Memory.context``; ``how`` goes there."""
    return RetrievalPolicy(
        name, fill=lambda space, question, budget: [space.context(question, budget, **how)]
    )


_FLAT: Final[Mapping[str, Any]] = {"relations": (), "level": "texts"}
"""A flat baseline names its level, so that a tree's preset does not turn it into a tree."""

SEARCHING: Final = (
    search_policy("treering"),
    context_policy("context"),
    search_policy("bm25", mode="lexical", **_FLAT),
    search_policy("dense", mode="dense", **_FLAT),
    search_policy("own", mode="hybrid", **_FLAT),
)

PARTIAL: Final = (
    search_policy("bm25+relations", mode="lexical", level="texts"),
    search_policy("dense+relations", mode="dense", level="texts"),
)
"""Half of treering's base score with its relations, for ablations."""


def traversal(name: str) -> RetrievalPolicy:
    """``tree-traversal@3``: the best 3 nodes at every level of the tree; 10 if none is named."""
    given = name.partition("@")[2] or str(LEVEL_HITS)
    if not given.isdecimal() or not int(given):
        raise InputError(f"policy {name!r}: {given!r} is not a number of nodes, such as 3")
    return RetrievalPolicy(name, lambda space, question: space.traverse(question, int(given)))


SUMMARISED: Final = (
    search_policy("tree", level="all"),
    search_policy("tree-collapsed", level="all", mode="dense", relations=()),  # the paper's
    traversal("tree-traversal"),
)
"""Policies that draw on the memory's tree of summaries (MemTree)."""


def chat_policy(name: str) -> RetrievalPolicy:
    """``chat:memo``: the prompt of ``Memory.chat`` by one of its policies. Raise UnknownName."""
    policy = find_policy(name.partition(":")[2]).name

    def fill(space: TaskSpace, question: TaskQuestion, budget: int) -> Sequence[RetrievedPassage]:
        return [space.chat_passage(question, policy, budget)]

    def prompt(space: TaskSpace, question: TaskQuestion, budget: int) -> Sequence[Message]:
        return space.chat_prompt(question, policy, budget).messages

    return RetrievalPolicy(name, fill=fill, prompt=prompt)


@dataclass(frozen=True, slots=True)
class _Part:
    """One relation of a spelled policy; ``default`` stands for those of the kind of content."""

    name: str
    parameters: Mapping[str, float]
    alpha: float | None

    def relations(self, kind: Kind) -> list[Weighted | str]:
        """The argument ``relations`` of ``Memory.search`` for content of that kind."""
        if self.name in OF_A_SPACE:
            return [self.name]
        if self.name != DEFAULT_RELATIONS:
            relation = BUILT_IN[self.name](**self.parameters)
            return [Weighted(relation, ALPHA if self.alpha is None else self.alpha)]
        if self.alpha is None:
            return [*DEFAULTS[kind]]
        return [Weighted(default.relation, self.alpha) for default in DEFAULTS[kind]]


def with_relations(text: str) -> RetrievalPolicy:
    """The policy that ``text`` spells: relations with ``+``, each with a parameter and weight.

    ``with:context(w=0.3)@0.5+session@0.2`` searches with these two relations only; a part without
    them has the relation's own default, and α 0.5. ``default`` stands for the default relations of
    a search, so ``with:default@2`` changes their weight, and ``with:default+time`` adds one.
    """
    parts = [_part(text, part) for part in text.removeprefix(PREFIX).split("+")]
    weights = {
        part.name: part.alpha
        for part in parts
        if part.name in OF_A_SPACE and part.alpha is not None
    }

    def pick(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        chosen = [relation for part in parts for relation in part.relations(space.kind)]
        return space.search(question, relations=chosen, alpha=weights or None, level="texts")

    return RetrievalPolicy(text, pick)


def draws_on_memos(text: str) -> bool:
    """Whether the policy that ``text`` spells needs memos."""
    return text == "chat:memo" or (text.startswith(PREFIX) and "topic" in text)


def _part(text: str, part: str) -> _Part:
    match = _RELATION.fullmatch(part)
    if match is None:
        raise InputError(f"policy {text!r} is not of the form with:context(w=0.3)@0.5+session")
    name, key = match["name"], match["key"]
    own = name in (*OF_A_SPACE, DEFAULT_RELATIONS)
    if not own and name not in BUILT_IN:
        there = ", ".join([*BUILT_IN, *OF_A_SPACE, DEFAULT_RELATIONS])
        raise UnknownName(f"no relation {name!r}; there are {there}")
    takes = [] if own else [p for p in inspect.signature(BUILT_IN[name]).parameters if p != "name"]
    if key and key not in takes:
        raise InputError(f"{name} takes {', '.join(takes) or 'no parameters'}, not {key}")
    parameters = {key: float(match["value"])} if key else {}
    if not own:
        BUILT_IN[name](**parameters)  # raises for a value out of bounds
    return _Part(name, parameters, float(match["alpha"]) if match["alpha"] else None)
