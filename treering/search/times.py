"""When something was said that has no time of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def carried(at: NDArray[np.float64], source: NDArray[np.int64]) -> NDArray[np.float64]:
    """Times (NaN: none) in reading order: a missing one is that of the last before it in its
    source, or else of the next after it; NaN where the source has none.
    """
    return _from_before(_from_before(at, source)[::-1], source[::-1])[::-1]


def _from_before(at: NDArray[np.float64], source: NDArray[np.int64]) -> NDArray[np.float64]:
    place = np.arange(len(at))
    last = np.maximum.accumulate(np.where(np.isnan(at), -1, place))
    same = (last >= 0) & (source[last] == source)
    return np.where(same, at[last], np.nan)
