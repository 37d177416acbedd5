"""Policies that are one call of a memory: treering, plain scorers, and chosen relations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from treering.bench.metrics.evidence import Passage
from treering.bench.policy.contract import Policy
from treering.bench.space import Space
from treering.bench.task import Question
from treering.errors import InputError, UnknownName
from treering.relate.defaults import Weighted
from treering.relate.registry import ALPHA, BUILT_IN

_RELATION = re.compile(
    r"(?P<name>[a-z-]+)(?:\((?P<key>\w+)=(?P<value>[\d.]+)\))?(?:@(?P<alpha>[\d.]+))?"
)


def search_policy(name: str, **how: Any) -> Policy:
    """A policy that searches with ``how``, the keyword arguments of ``Memory.search``."""

    def pick(space: Space, question: Question) -> Sequence[Passage]:
        return space.search(question, **how)

    return Policy(name, pick)


def _context(space: Space, question: Question, budget: int) -> Sequence[Passage]:
    return [space.context(question, budget)]


SEARCHING = (
    search_policy("treering"),
    Policy("context", fill=_context),
    search_policy("bm25", mode="lexical", relations=()),
    search_policy("dense", mode="dense", relations=()),
    search_policy("own", relations=()),
)


def with_relations(text: str) -> Policy:
    """The policy that ``text`` spells: relations with ``+``, each with a parameter and weight.

    ``with:context(w=0.3)@0.5+session@0.2`` searches with these two relations only; what is left
    out has the relation's own default, and α 0.5.
    """
    weighted = [_weighted(part, text) for part in text.removeprefix("with:").split("+")]
    return search_policy(text, relations=weighted)


def _weighted(part: str, text: str) -> Weighted:
    found = _RELATION.fullmatch(part)
    if found is None:
        raise InputError(f"policy {text!r}: {part!r} is not of the form context(w=0.3)@0.5")
    if found["name"] not in BUILT_IN:
        known = ", ".join(BUILT_IN)
        raise UnknownName(f"policy {text!r}: no relation {found['name']!r}; there are {known}")
    factory = BUILT_IN[found["name"]]
    parameters = {found["key"]: float(found["value"])} if found["key"] else {}
    takes = set(inspect.signature(factory).parameters) - {"name"}
    if not parameters.keys() <= takes:
        named = ", ".join(sorted(takes)) or "no parameters"
        raise InputError(f"policy {text!r}: {found['name']} takes {named}, not {found['key']}")
    return Weighted(factory(**parameters), float(found["alpha"] or ALPHA))
