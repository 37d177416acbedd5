"""Bootstrap intervals over questions, paired for two policies: is a difference real?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap as resampled

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
    mean = float(sample.mean())
    if np.ptp(sample) == 0:
        return Interval(mean, mean, mean, len(sample))
    low, high = resampled(
        (sample,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, _CELLS // len(sample)),
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(mean, float(low), float(high), len(sample))


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
