"""The one line of treering: ``score = own + Σ_r α_r · env_r`` (FragRel eq. 10)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from treering.arrays import Floats
from treering.parallel import for_each_piece
from treering.search.relations.contract import (
    Items,
    NullOperator,
    Operator,
    Relation,
    RowChange,
)

MAX_BOUND = 16  # operators kept: a search uses a handful, and each holds some bytes an item


@dataclass(frozen=True, slots=True)
class Bound:
    """An operator over the items of one version of a space; ``share`` is ``1 / W·1``, shape (N,),
    or (1,) if it is the same for all.
    """

    version: int
    operator: Operator
    share: Floats


class Relations:
    """Binds relations to the items of one version of a space, and keeps the operators."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: int | None = None
        self._bound: OrderedDict[Relation, Bound] = OrderedDict()

    def environment(self, relation: Relation, items: Items, version: int, own: Floats) -> Floats:
        """Return ``env = W·own / W·1`` (eq. 9); 0 for an item related to nothing."""
        bound = self.bound(relation, items, version)
        env = bound.operator.propagate(own)
        env *= bound.share if own.ndim == 1 else bound.share[:, None]
        return env

    def bound(
        self, relation: Relation, items: Items, version: int, change: RowChange | None = None
    ) -> Bound:
        """Return the operator over items, made from an earlier one if only a change came."""
        # Binding may sort all items: searches that arrive together wait for one operator.
        with self._lock:
            if self._version != version:
                self._version = version
                self._keep_only(None if change is None else change.before)
            bound = self._bound.get(relation)
            if bound is None or bound.version != version:
                operator = _rebind(relation, bound, items, change) or relation.bind(items)
                bound = Bound(version, operator, _shares(operator))
                self._bound[relation] = bound
                while len(self._bound) > MAX_BOUND:
                    self._bound.popitem(last=False)
            self._bound.move_to_end(relation)
            return bound

    def _keep_only(self, version: int | None) -> None:
        """Drop all operators but those from which the present ones can be made."""
        for relation, bound in list(self._bound.items()):
            if bound.version != version or not hasattr(relation, "rebind"):
                del self._bound[relation]


def _rebind(
    relation: Relation, before: Bound | None, items: Items, change: RowChange | None
) -> Operator | None:
    rebind = getattr(relation, "rebind", None)
    if before is None or change is None or rebind is None:
        return None
    operator: Operator | None = rebind(before.operator, items, change)
    return operator


def _shares(operator: Operator) -> Floats:
    """Return ``1 / W·1``; for an operator that relates nothing a single 0, for all items."""
    if isinstance(operator, NullOperator):
        return np.zeros(1, dtype=np.float32)
    mass = operator.mass()
    inverse = np.zeros_like(mass)

    def divide(rows: slice) -> None:
        np.divide(1, mass[rows], out=inverse[rows], where=mass[rows] > 0)

    for_each_piece(divide, len(mass))
    return inverse
