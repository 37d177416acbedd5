"""Times for fragments that have none: those of their neighbours in the source."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def carried(at: NDArray[np.float64], source: NDArray[np.int64]) -> NDArray[np.float64]:
    """Times in reading order with gaps (NaN) filled, shape (N,).

    A gap gets the last time before it in its source, or else the next after it. It stays NaN in a
    source without any time.
    """
    return _from_before(_from_before(at, source)[::-1], source[::-1])[::-1]


def _from_before(at: NDArray[np.float64], source: NDArray[np.int64]) -> NDArray[np.float64]:
    # ``last`` is the place of the newest time seen so far; it counts only within the same source.
    place = np.arange(len(at))
    last = np.maximum.accumulate(np.where(np.isnan(at), -1, place))
    same = (last >= 0) & (source[last] == source)
    return np.where(same, at[last], np.nan)
