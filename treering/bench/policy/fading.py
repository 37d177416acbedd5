"""Memories that fade: MemoryStream (Park et al. 2023) and MemoryBank (Zhong et al. 2024).

Both rank by cosine similarity and age. Questions of a benchmark are asked side by side, so none of
them refreshes what an earlier one recalled: recency counts from when a piece was said.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from treering.bench.metrics.evidence import Passage
from treering.bench.policy.contract import Policy
from treering.bench.policy.fusing import ranked
from treering.bench.space import Scored, Space
from treering.bench.task import Question

HOURLY_DECAY = 0.995  # MemoryStream's recency, per hour
RETENTION_DAYS = 5.0  # MemoryBank's code: R = exp(-days / (5 · strength)), strength 1 at first
_HOUR_S, _DAY_S = 3600.0, 86_400.0


def memory_stream() -> Policy:
    """Recency + relevance, each scaled to [0, 1] over the memory, with equal weights.

    The paper's third term, importance, is a language model's rating; without one it is equal for
    all pieces, and drops out.
    """

    def pick(space: Space, question: Question) -> Sequence[Passage]:
        everything = space.scored(question)
        now = question.at or space.now
        hours = [_age_s(found, now) / _HOUR_S for found in everything]
        recency = _scaled(np.power(HOURLY_DECAY, hours))
        relevance = _scaled(np.array([found.cosine for found in everything]))
        return ranked(everything, recency + relevance)

    return Policy("memory-stream", pick)


def memory_bank(seed: int) -> Policy:
    """Dense search over what the forgetting curve keeps: each piece is kept with chance R."""

    def pick(space: Space, question: Question) -> Sequence[Passage]:
        now = question.at or space.now
        kept = [found for found in space.scored(question) if _kept(found, now, seed)]
        return ranked(kept, np.array([found.cosine for found in kept]))

    return Policy("memory-bank", pick)


def _kept(found: Scored, now: datetime | None, seed: int) -> bool:
    """Whether a piece is still remembered: drawn once a piece, whatever the question."""
    retention = math.exp(-_age_s(found, now) / _DAY_S / RETENTION_DAYS)
    drawn = hashlib.sha256(f"{seed}\0{found.passage.place}\0{found.passage.text}".encode()).digest()
    return int.from_bytes(drawn[:8], "big") / 2**64 < retention


def _age_s(found: Scored, now: datetime | None) -> float:
    """Seconds since a piece was said; 0 where times are not known."""
    if now is None or found.at is None:
        return 0.0
    return max(0.0, (now - found.at).total_seconds())


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """To [0, 1]; all equal become 0."""
    span = np.ptp(values) if len(values) else 0.0
    return (values - values.min()) / span if span > 0 else np.zeros_like(values)
