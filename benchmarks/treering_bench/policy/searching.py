"""Policies that are one call of a memory: treering, plain scorers, trees, chosen relations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from treering.errors import InputError, UnknownName
from treering.records import Kind
from treering.search.compression.contract import check_rate
from treering.search.relations.decay import ContextRelation
from treering.search.relations.defaults import DEFAULTS
from treering.search.relations.plan import Weighted
from treering.search.relations.registry import ALPHA, BUILT_IN
from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.space import TaskSpace
from treering_bench.task import TaskQuestion

PREFIX = "with:"
COMPRESSED_PREFIX = "compressed@"
DEFAULT_RELATIONS = "default"
OF_A_SPACE = ("tree", "topic")
"""Relations that a memory makes itself, of its summaries and of its memos."""

_RELATION = re.compile(
    r"(?P<name>[a-z-]+)(?:\((?P<key>\w+)=(?P<value>[\d.]+)\))?(?:@(?P<alpha>[\d.]+))?"
)


def search_policy(name: str, **how: Any) -> RetrievalPolicy:
    """A policy that searches with ``how``, the keyword arguments of ``Memory.search``."""

    def pick(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        return space.search(question, **how)

    return RetrievalPolicy(name, pick)


def _context(space: TaskSpace, question: TaskQuestion, budget: int) -> Sequence[RetrievedPassage]:
    return [space.context(question, budget)]


def compressed_policy(name: str) -> RetrievalPolicy:
    """The policy that ``name`` spells: ``compressed@0.5`` is a context with ``compress=0.5``.

    A budget then holds more passages, each shortened. Recall counts those that are still whole,
    ``reach`` all. Raises InputError for what is no rate.
    """
    given = name.removeprefix(COMPRESSED_PREFIX)
    try:
        rate = float(given)
    except ValueError:
        raise InputError(f"policy {name!r}: {given!r} is no rate, such as 0.5") from None
    check_rate(rate)

    def fill(space: TaskSpace, question: TaskQuestion, budget: int) -> Sequence[RetrievedPassage]:
        return [space.context(question, budget, compress=rate)]

    return RetrievalPolicy(name, fill=fill)


SEARCHING = (
    search_policy("treering"),
    RetrievalPolicy("context", fill=_context),
    search_policy("bm25", mode="lexical", relations=(), level="texts"),
    search_policy("dense", mode="dense", relations=(), level="texts"),
    search_policy("own", mode="hybrid", relations=(), level="texts"),
)

PARTIAL = (
    search_policy("bm25+relations", mode="lexical"),
    search_policy("dense+relations", mode="dense"),
)
"""Half of treering's own score with its relations, for ablations."""


def _mixed(space: TaskSpace, question: TaskQuestion, budget: int) -> Sequence[RetrievedPassage]:
    return [space.context(question, budget, altitude="mixed")]


LEVEL_HITS = 10
"""MemTree's k at each level of a traversal."""


def _traversal(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
    return space.traverse(question, LEVEL_HITS)


SUMMARISED = (
    search_policy("tree", level="all"),
    RetrievalPolicy("tree-mixed", fill=_mixed),
    search_policy("tree-collapsed", level="all", mode="dense", relations=()),  # the paper's
    RetrievalPolicy("tree-traversal", _traversal),
)
"""Policies that draw on the memory's tree of summaries (MemTree)."""


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
        return [self._changed(default) for default in DEFAULTS[kind]]

    def _changed(self, default: Weighted) -> Weighted:
        relation = default.relation
        if isinstance(relation, ContextRelation):
            relation = replace(relation, w=self.parameters.get("w", relation.w))
        if self.alpha is None:
            return replace(default, relation=relation)
        return Weighted(relation, self.alpha)


def with_relations(text: str, **how: Any) -> RetrievalPolicy:
    """The policy that ``text`` spells: relations with ``+``, each with a parameter and weight.

    ``with:context(w=0.3)@0.5+session@0.2`` searches with these two relations only; what is left
    out has the relation's own default, and α 0.5. ``default`` stands for the relations a search
    has when it is not told, so ``with:default@2`` changes their weight, ``with:default(w=0.3)``
    how fast they fade, and ``with:default+time`` adds one. ``how`` goes to ``Memory.search``.
    """
    parts = _parts(text)
    weights = {
        part.name: part.alpha
        for part in parts
        if part.name in OF_A_SPACE and part.alpha is not None
    }

    def pick(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        chosen = [relation for part in parts for relation in part.relations(space.kind)]
        return space.search(question, relations=chosen, alpha=weights or None, **how)

    return RetrievalPolicy(text, pick)


def draws_on_memos(text: str) -> bool:
    """Whether the policy that ``text`` spells relates the lines of a memo."""
    return any(part.name == "topic" for part in _parts(text))


def _parts(text: str) -> list[_Part]:
    return [_part(part, text) for part in text.removeprefix(PREFIX).split("+")]


def _part(part: str, text: str) -> _Part:
    match = _RELATION.fullmatch(part)
    if match is None:
        raise InputError(f"policy {text!r}: {part!r} is not of the form context(w=0.3)@0.5")
    name = match["name"]
    parameters = {match["key"]: float(match["value"])} if match["key"] else {}
    takes = _parameters(name, text)
    if not parameters.keys() <= takes:
        named = ", ".join(sorted(takes)) or "no parameters"
        raise InputError(f"policy {text!r}: {name} takes {named}, not {match['key']}")
    spelled = _Part(name, parameters, float(match["alpha"]) if match["alpha"] else None)
    spelled.relations("text")  # refuses values that the relation refuses
    return spelled


def _parameters(name: str, text: str) -> set[str]:
    if name == DEFAULT_RELATIONS:
        return {"w"}
    if name in OF_A_SPACE:
        return set()
    if name not in BUILT_IN:
        relations = ", ".join((DEFAULT_RELATIONS, *BUILT_IN, *OF_A_SPACE))
        raise UnknownName(f"policy {text!r}: no relation {name!r}; there are {relations}")
    return set(inspect.signature(BUILT_IN[name]).parameters) - {"name"}
