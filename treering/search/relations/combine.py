"""The one line of treering: ``score = own + Σ_r α_r · env_r`` (FragRel eq. 10)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from treering.arrays import Floats
from treering.errors import InputError
from treering.records import KINDS, Kind
from treering.search.relations.contract import Items, Operator, Relation
from treering.search.relations.defaults import Weighted
from treering.search.snapshot import Snapshot

OWN_TERMS = frozenset({"lexical", "dense", "named"})
"""Keys of ``Hit.why`` that no relation may take."""

MAX_BOUND = 16  # operators kept: a search uses a handful, and each holds some bytes an item


class Relations:
    """Binds relations to the items of one version of a space, and keeps the operators."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: int | None = None
        self._bound: OrderedDict[Relation, tuple[Operator, Floats]] = OrderedDict()

    def environment(self, relation: Relation, items: Items, version: int, own: Floats) -> Floats:
        """``env = W·own / W·1`` (eq. 9), shape of ``own``; 0 for an item related to nothing."""
        operator, share = self._operator(relation, items, version)
        env = operator.propagate(own)
        env *= share if own.ndim == 1 else share[:, None]
        return env

    def _operator(self, relation: Relation, items: Items, version: int) -> tuple[Operator, Floats]:
        """The bound operator and ``1 / W·1``."""
        # Binding may sort all items. It happens under the lock, so that searches which arrive
        # together wait for one operator instead of each making its own.
        with self._lock:
            if self._version != version:
                self._bound.clear()
                self._version = version
            bound = self._bound.get(relation)
            if bound is None:
                operator = relation.bind(items)
                bound = self._bound[relation] = (operator, _inverse(operator.mass()))
                while len(self._bound) > MAX_BOUND:
                    self._bound.popitem(last=False)
            self._bound.move_to_end(relation)
            return bound


def _inverse(mass: Floats) -> Floats:
    inverse: Floats = np.divide(1, mass, out=np.zeros_like(mass), where=mass > 0)
    return inverse


def relation_terms(
    relations: Relations,
    plan: Mapping[Kind, Sequence[Weighted]],
    snapshot: Snapshot,
    own: Floats,
) -> dict[str, Floats]:
    """The terms ``α·env`` of every relation by name, for own scores of shape (N, Q).

    Each kind of content has its own relations, so an item's terms are those of its kind.
    """
    terms: dict[str, Floats] = {}
    for name in snapshot.kinds:
        for weighted in plan.get(name, ()):
            env = relations.environment(weighted.relation, snapshot.items, snapshot.version, own)
            env *= np.float32(weighted.alpha)
            # A relation propagates over all items; only the terms of its own kind count.
            if len(snapshot.kinds) > 1:
                env[snapshot.kind != KINDS.index(name)] = 0
            key = weighted.relation.name
            terms[key] = terms[key] + env if key in terms else env
    return terms


def check_plan(plan: Mapping[Kind, Sequence[Weighted]]) -> None:
    """Raises InputError for a weight that is not one, and for names that ``why`` would confuse."""
    for kind, choices in plan.items():
        names = [choice.relation.name for choice in choices]
        if taken := sorted(OWN_TERMS.intersection(names)):
            raise InputError(
                f"{taken[0]!r} is a term of the own score; give the relation another name"
            )
        for choice in choices:
            if not 0 <= choice.alpha < inf:
                raise InputError(
                    f"alpha of {choice.relation.name} is {choice.alpha}; "
                    "it must be finite and at least 0"
                )
        if len(set(names)) < len(names):
            raise InputError(
                f"two relations for {kind} share a name ({', '.join(names)}); give one another name"
            )
