"""Bootstrap intervals over questions, paired for two policies: is a difference real?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treering.errors import InputError

RESAMPLES = 10_000
"""Puts the Monte Carlo error of the interval's ends below 1 % of its width."""

LEVEL = 0.95
_CELLS = 250_000
"""Resampled values held at once: 2 MB, which a cache of the processor holds."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over ``n`` questions and its percentile bootstrap confidence interval."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def verdict(self) -> str:
        """The verdict of a difference's interval: ``better``, ``worse`` or ``no difference``."""
        if self.low <= 0.0 <= self.high:
            return "no difference"
        return "better" if self.mean > 0 else "worse"


def bootstrap(
    values: Sequence[float], *, resamples: int = RESAMPLES, level: float = LEVEL, seed: int = 0
) -> Interval:
    """The mean of ``values`` with its percentile interval (Efron 1979), seeded.

    Questions are taken as independent draws. Those about one story are not quite, so the
    intervals speak about these documents rather than about all documents there could be.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) == 0 or not np.isfinite(sample).all():
        raise InputError("a bootstrap needs a sequence of one or more finite numbers")
    means = _resampled_means(sample, resamples, np.random.default_rng(seed))
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return Interval(float(sample.mean()), float(low), float(high), len(sample))


def paired_difference(
    new: Sequence[float],
    old: Sequence[float],
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Interval:
    """How much higher ``new`` is than ``old``, question by question (paired bootstrap)."""
    if len(new) != len(old):
        raise InputError(f"cannot pair {len(new)} values with {len(old)}")
    differences = np.subtract(new, old, dtype=np.float64)
    return bootstrap(differences.tolist(), resamples=resamples, level=level, seed=seed)


def _resampled_means(
    sample: NDArray[np.float64], resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    means = np.empty(resamples)
    step = max(1, _CELLS // len(sample))
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        drawn = rng.integers(0, len(sample), size=(count, len(sample)))
        means[start : start + count] = sample.take(drawn).mean(axis=1)
    return means
