"""What a round of writing code may be told otherwise, by name: CodeMEM's parts, and ours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Self, get_args

from treering.errors import InputError
from treering.views.code.rounds.session import SAME_INTENT

if TYPE_CHECKING:
    from treering.arrays import Floats

MIN_PAIRS: Final = 10
"""Pairs of recorded instructions, from which on a share of them says something."""

JudgeName = Literal["names", "llm"]
JUDGES: Final[tuple[JudgeName, ...]] = get_args(JudgeName)
"""``names`` asks whether the keys hold the names of the instruction, ``llm`` is the paper's."""

DetectorName = Literal["scored", "printed", "both", "none"]
DETECTORS: Final[tuple[DetectorName, ...]] = get_args(DetectorName)
"""``scored`` weighs all evidence, ``printed`` is the rule of eq. 8 to 10; without SessAST ``none``.
"""

ContextName = Literal["selected", "added", "static"]
CONTEXTS: Final[tuple[ContextName, ...]] = get_args(ContextName)
"""``selected`` is the whole context memory. The paper's ablations: ``added`` drops nothing that was
once merged in (without CtxAST), ``static`` keeps what the first round retrieved (without CtxMem).
"""


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
            value, is_share = math.nan, False
        if not 0 < value <= 1:
            raise InputError(
                f"alike is {text!r}; it is a cosine such as '0.95', or a share of all pairs of "
                "instructions that are less similar, such as '99%'"
            )
        return cls(share=value) if is_share else cls(value)

    def among(self, similarities: Floats) -> float:
        """The cosine that is meant where pairs of instructions have these similarities."""
        if self.share is None or len(similarities) < MIN_PAIRS:
            return self.cosine
        import numpy as np  # here: the command line imports this module for its names

        return float(np.quantile(similarities, self.share))


@dataclass(frozen=True, slots=True)
class WritingChoices:
    """Which parts a round has. ``alike`` is τ, a cosine."""

    judge: JudgeName = "names"
    detector: DetectorName = "scored"
    context: ContextName = "selected"
    alike: float = SAME_INTENT
