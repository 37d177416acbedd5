"""Vectors in eight bits, for searches of large spaces: a quarter of the floats' bytes.

A row x is stored as whole numbers ``codes`` from −127 to 127 and one ``scale``, with
``x ≈ scale · codes``. The cosine of two unit vectors of 384 dimensions is then off by about 0.0005;
where that could decide, the floats are read from the database (``treering.search.ranking``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Floats

Bytes = NDArray[np.int8]

LARGEST = 127
"""Of a code; −128 is not used, so that a vector and its opposite have opposite codes."""

CHUNK = 256
"""Rows quantised at a time. Their intermediate arrays fit the processor's cache and reuse memory.
Larger arrays go back to the system, and clearing their pages takes three times as long as the
work."""


def quantised(rows: Floats | Sequence[Floats]) -> tuple[Bytes, Floats]:
    """Codes, shape (n, d), and scales, shape (n,), of float rows; an all-zero row has scale 0.

    The codes of a row do not depend on the other rows. A sequence holds at least one row.
    """
    width = rows.shape[1] if isinstance(rows, np.ndarray) else len(rows[0])
    codes = np.empty((len(rows), width), dtype=np.int8)
    scale = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), CHUNK):
        chunk = slice(start, start + CHUNK)
        part = np.asarray(rows[chunk], dtype=np.float32)
        largest = np.maximum(part.max(axis=1, initial=0), -part.min(axis=1, initial=0))
        scale[chunk] = largest / np.float32(LARGEST)
        inverse = np.divide(LARGEST, largest, out=np.zeros_like(largest), where=largest > 0)
        codes[chunk] = np.rint(part * inverse[:, None])
    return codes, scale


def restored(codes: Bytes, scale: Floats) -> Floats:
    """The float rows that codes and scales stand for, shape (n, d)."""
    rows: Floats = codes * scale[..., None]
    return rows
