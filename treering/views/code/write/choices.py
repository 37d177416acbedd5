"""What a round of writing code may be told otherwise, by name: CodeMEM's parts, and ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

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
class WritingChoices:
    """Which parts a round has."""

    judge: JudgeName = "names"
    detector: DetectorName = "scored"
    context: ContextName = "selected"
