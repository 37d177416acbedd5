"""How similar a newcomer must be to go deeper (MemTree, section 3.1 and A.1.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from treering.errors import InputError

Form = Literal["scaled", "current", "printed"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)

LIMITS: Final[Mapping[str, tuple[float, float]]] = {
    "base": (-1.0, 1.0),
    "rate": (0.0, 10.0),
    "max_depth": (1, 1000),
}
"""The least and the most of each number. A base is a cosine; with a rate below 0 the threshold
would fall with the depth; trees of texts are seldom deeper than 20."""


_STEEPEST: Final = 700.0  # e to a higher power is more than a float holds; no cosine comes near


def _is_within(name: str, value: object) -> bool:
    least, most = LIMITS[name]
    return isinstance(value, int | float) and value is not True and least <= value <= most


@dataclass(frozen=True, slots=True)
class Threshold:
    """θ(depth): the least cosine at which an insert descends from a node into its best child.

    ``form="scaled"`` is A.1.3's ``base · e^(rate · depth / max_depth)``. "The maximum depth of the
    tree" can also be read as the depth that the tree has by now: that is ``form="current"``, which
    begins strict and grows milder as the tree gets deeper. ``form="printed"`` is the
    main text's ``base · e^(rate · depth)``; with the paper's own 0.4 and 0.5 it passes 1 at depth
    2, so nothing ever gets below depth 3, against the depth of 13 that the paper reports.

    ``max_depth`` also bounds the tree: an insert that would go below it becomes a sibling instead,
    which keeps an insert's cost bounded when thousands of texts are nearly the same. The paper
    gives no value; its deepest tree has 15 levels, so 16 leaves its trees as they are.
    """

    base: float = 0.4
    rate: float = 0.5
    max_depth: int = 16
    form: Form = "scaled"

    def __post_init__(self) -> None:
        if not _is_within("base", self.base):
            raise InputError(
                f"the base threshold is {self.base!r}; it is a cosine from -1 to 1, such as 0.4"
            )
        if not _is_within("rate", self.rate):
            raise InputError(
                f"the threshold's rate is {self.rate!r}; it is from 0, the same threshold at every "
                "depth, to 10, such as 0.5"
            )
        if not _is_within("max_depth", self.max_depth) or type(self.max_depth) is not int:
            raise InputError(
                f"max_depth is {self.max_depth!r}; it is a whole number from 1, a flat tree, to "
                "1000"
            )
        if self.form not in FORMS:
            raise InputError(f"the threshold's form is {self.form!r}; use {', '.join(FORMS)}")

    def at(self, depth: int, deepest: int = 1) -> float:
        """θ for leaving a node of this depth downwards; the root has depth 0.

        ``deepest`` is the depth of the tree by now, which the form ``current`` asks for.
        """
        exponent = self.rate * depth
        if self.form == "scaled":
            exponent /= self.max_depth
        elif self.form == "current":
            exponent /= max(deepest, 1)
        return self.base * math.exp(min(exponent, _STEEPEST))
