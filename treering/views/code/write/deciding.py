"""Which parts a round of writing has: as it is told, else as the space is set."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from treering.arrays import Floats
from treering.embed.checked import checked
from treering.embed.contract import Embedder
from treering.search.searcher import check_choice
from treering.views.code.write.choices import (
    CONTEXTS,
    DETECTORS,
    JUDGES,
    ContextName,
    DetectorName,
    JudgeName,
    Likeness,
    WritingChoices,
)
from treering.views.settings import SpaceSettings

COMPARED = 200
"""Instructions whose pairs are looked at; embedding them takes half a second."""


def decided(
    default: SpaceSettings,
    judge: JudgeName | None,
    detector: DetectorName | None,
    context: ContextName | None,
    pairs: Callable[[], Floats],
) -> WritingChoices:
    """The parts of a round. ``pairs`` gives the similarities of recorded instructions, which are
    asked for where τ is a share of them. Raises InputError, EmbeddingError.
    """
    judge, detector = judge or default.judge, detector or default.detector
    context = context or default.context
    check_choice("judge", judge, JUDGES)
    check_choice("detector", detector, DETECTORS)
    check_choice("context", context, CONTEXTS)
    likeness = Likeness.of(default.alike)
    alike = likeness.cosine if likeness.share is None else likeness.among(pairs())
    return WritingChoices(judge, detector, context, alike)


def pair_similarities(embedder: Embedder, instructions: Iterable[str]) -> Floats:
    """The cosines of all pairs of different instructions, one number a pair."""
    texts = sorted({text for text in instructions if text})[:COMPARED]
    if not texts:
        return np.zeros(0, dtype=np.float32)
    vectors = checked(embedder, texts)
    cosines: Floats = (vectors @ vectors.T)[np.triu_indices(len(texts), 1)]
    return cosines
