"""The reading order of a space: source by source, and within each as it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes

Flags = NDArray[np.bool_]
Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ReadingOrder:
    """``rows`` in the order in which they are read; the flags are by place in this order.

    ``follows`` tells whether the row before is of the same source, ``continues`` whether it is of
    the same source and session. ``is_plain`` says that row i is at place i. The rows of
    ``sources[i]``, which ascend, are at the places from ``firsts[i]`` to ``firsts[i + 1]``.
    """

    rows: Ints
    follows: Flags
    continues: Flags
    is_plain: bool
    sources: Ints
    firsts: Codes

    def places(self, source: NDArray[Any], rank: NDArray[Any]) -> Codes:
        """The places of rows, given their source and their rank in it."""
        places: Codes = self.firsts[np.searchsorted(self.sources, source)] + rank
        return places

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class RowChange:
    """How a state of a space came from the one before it, whose version is ``before``.

    ``gone`` are the rows of that one that went, ascending; ``added`` rows came, at the end.
    ``places`` in the new reading order, ascending, stand behind another row than they did, or are
    new.
    """

    before: int
    gone: Codes
    added: int
    places: Codes


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
