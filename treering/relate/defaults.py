"""Which relations a search uses when it is not told: by kind of content, chosen by measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treering.records import Kind
from treering.relate.contract import Relation
from treering.relate.decay import Context


@dataclass(frozen=True, slots=True)
class Weighted:
    """A relation and the weight α of its environment score (FragRel eq. 10)."""

    relation: Relation
    alpha: float


DEFAULTS: Mapping[Kind, tuple[Weighted, ...]] = {
    "text": (Weighted(Context(w=0.3), alpha=0.5),),
    "chat": (Weighted(Context(w=0.5), alpha=1.0),),
    "code": (Weighted(Context(w=0.5), alpha=0.5),),
}
