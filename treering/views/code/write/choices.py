"""The parts of a round of writing code: as the call chooses them, else as the space is set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from treering.arrays import Floats
from treering.embed.checked import checked
from treering.embed.contract import Embedder
from treering.errors import InputError
from treering.views.choices import ContextName, DetectorName, JudgeName, check_setting
from treering.views.code.rounds.session import SAME_INTENT

MIN_PAIRS: Final = 10
"""Pairs of recorded instructions, from which on a share of them says something."""

COMPARED: Final = 200
"""Instructions whose pairs are compared; embedding them takes half a second."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """τ: how similar two instructions are that speak of the same thing.

    ``share`` says it for whatever embedder there is: so much of all pairs of recorded instructions
    is less similar. ``cosine`` says it alone, or where there are too few pairs to tell.
    """

    cosine: float = SAME_INTENT
    share: float | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """Read ``0.95``, a cosine, or ``99%``, a share of all pairs. Raises InputError."""
        try:
            is_share = isinstance(text, str) and text.endswith("%")
            value = float(text.removesuffix("%")) / (100 if is_share else 1)
        except (AttributeError, ValueError):
            value, is_share = 0.0, False
        if not 0 < value <= 1:  # not a number is not, either
            raise InputError(
                f"alike is {text!r}; it is a cosine such as '0.95', or a share of all pairs of "
                "instructions that are less similar, such as '99%'",
                param="alike",
            )
        return cls(share=value) if is_share else cls(value)

    def among(self, similarities: Floats) -> float:
        """The cosine that is meant where pairs of instructions have these similarities."""
        if self.share is None or len(similarities) < MIN_PAIRS:
            return self.cosine
        return float(np.quantile(similarities, self.share))


@dataclass(frozen=True, slots=True)
class WritingChoices:
    """Which parts a round has. ``alike`` is τ, a cosine."""

    judge: JudgeName = "names"
    detector: DetectorName = "rules"
    context: ContextName = "selected"
    alike: float = SAME_INTENT

    @classmethod
    def parse(cls, given: dict[str, Any], alike: str, pairs: Callable[[], Floats]) -> Self:
        """Check ``given``. ``pairs`` gives the similarities of recorded instructions, which are
        needed if ``alike`` is a share of them. Raises InputError, EmbeddingError.
        """
        for name, value in given.items():
            check_setting(name, value)
        likeness = Likeness.of(alike)
        return cls(
            **given, alike=likeness.cosine if likeness.share is None else likeness.among(pairs())
        )


def pair_similarities(embedder: Embedder, instructions: Iterable[str]) -> Floats:
    """The cosines of all pairs of different instructions, one number a pair."""
    texts = sorted({text for text in instructions if text})[:COMPARED]
    if not texts:
        return np.zeros(0, dtype=np.float32)
    vectors = checked(embedder, texts)
    cosines: Floats = (vectors @ vectors.T)[np.triu_indices(len(texts), 1)]
    return cosines
