"""Arrays of scores, codes and vectors, also in eight bits; memory and threads for long ones.

An array of scores of a million fragments takes 4 MB. The allocator returns so much memory to the
system once the array dies, and asks for it again page by page: a third of the time of a search. So
the pool keeps it for the next one.

Vectors in eight bits take a quarter of the floats' bytes, in searches of large spaces. A row x is
stored as whole numbers ``codes`` from −127 to 127 and one ``scale``, with ``x ≈ scale · codes``.
The cosine of two unit vectors of 384 dimensions is then off by about 0.0005; where that could
decide, the floats are read from the database (``treering.search.ranking``).

Two threads share the work over many rows: numpy and the products of vectors let each other run.
"""

from __future__ import annotations

import mmap
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from math import prod
from typing import Any, Final, TypeVar

import numpy as np
import numpy.ma  # numpy.unique imports it, perhaps where no file can be opened any more
from numpy.typing import NDArray

from treering import forks

Floats = NDArray[np.float32]
Codes = NDArray[np.int64]
Bytes = NDArray[np.int8]

T = TypeVar("T", bound=np.generic)

FEW = 256
"""Gaps up to which copying the stretches between them is faster than a mask over all."""


@np.errstate(invalid="ignore")
def product(left: Floats, right: Floats, out: Floats | None = None) -> Floats:
    """Return ``left @ right`` of finite arrays.

    A warning would be about memory behind a short row, which BLAS reads and ignores.
    """
    products: Floats = np.dot(left, right, out=out)
    return products


def without(
    values: NDArray[T], gone: NDArray[np.integer[Any]], out: NDArray[T] | None = None
) -> NDArray[T]:
    """``values`` without the rows ``gone``, which ascend; itself without any.

    The result is written to ``out``, if that is given, which has its shape.
    """
    if not len(gone):
        if out is None:
            return values
        out[:] = values
        return out
    if len(gone) == 1 and out is not None:  # mostly one entry is forgotten at a time
        row = int(gone[0])
        out[:row], out[row:] = values[:row], values[row + 1 :]
        return out
    breaks = np.flatnonzero(np.diff(gone) > 1)
    if len(breaks) > FEW:
        keep = np.ones(len(values), dtype=np.bool_)
        keep[gone] = False
        return np.compress(keep, values, axis=0, out=out)
    firsts = [0, *(gone[breaks] + 1).tolist(), int(gone[-1]) + 1]
    stops = [int(gone[0]), *gone[breaks + 1].tolist(), len(values)]
    return np.concatenate([values[a:b] for a, b in zip(firsts, stops, strict=True)], out=out)


def union(*parts: NDArray[T]) -> NDArray[T]:
    """Return the values that are in any of the arrays, ascending and once.

    ``np.unique`` takes ten times as long: it hashes, and only then sorts. And its first call in a
    process imports masked arrays, as that of ``np.isin`` does, which takes longer than a search.
    """
    every: NDArray[T] = np.sort(np.concatenate(parts))
    is_first = np.ones(len(every), dtype=np.bool_)
    np.not_equal(every[1:], every[:-1], out=is_first[1:])
    return every[is_first]


def are_among(
    values: NDArray[np.integer[Any]], members: NDArray[np.integer[Any]]
) -> NDArray[np.bool_]:
    """Return which values are among ``members``, which ascend.

    ``np.isin`` takes several times as long for a few thousand.
    """
    if not len(members):
        return np.zeros(len(values), dtype=np.bool_)
    among: NDArray[np.bool_] = members.take(members.searchsorted(values), mode="clip") == values
    return among


LARGEST = 127
"""Of a code; −128 is not used, so that a vector and its opposite have opposite codes."""

CHUNK = 256
"""Rows made codes at a time. Their intermediate arrays fit the processor's cache and reuse memory.
Larger arrays go back to the system, and clearing their pages takes three times as long as the
work."""


def quantise_rows(rows: Floats | Sequence[Floats]) -> tuple[Bytes, Floats]:
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


def restore_rows(codes: Bytes, scale: Floats) -> Floats:
    """The float rows that codes and scales stand for, shape (n, d)."""
    rows: Floats = codes * scale[..., None]
    return rows


LARGE_PAGE = 2 << 20


def zeros_in_large_pages(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Zeros in pages of 2 MB, where the system has them and the array fills one.

    A matrix that is read from one end to the other is read up to a quarter faster so.
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    # The system maps whole small pages: they may fill a large page although the array does not.
    if sys.platform != "linux" or size <= LARGE_PAGE - mmap.PAGESIZE:
        return np.zeros(shape, dtype=dtype)
    return np.frombuffer(room_of(size), dtype=dtype, count=prod(shape)).reshape(shape)


def room_of(size: int) -> mmap.mmap:
    """Memory for so many bytes, all 0, in large pages where the system has them.

    A forked process has its own copy of it.
    """
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        with suppress(OSError):  # a kernel without them
            room.madvise(mmap.MADV_HUGEPAGE)
    return room


LEAST_BYTES: Final = 1 << 18
"""The smallest array to keep: the allocator keeps shorter ones itself."""

MOST_FREE_BYTES: Final = 96 << 20
"""The most unused memory: enough for three concurrent searches of a million fragments."""

STEPS: Final = 8
"""Sizes from one power of two to the next, so that a space that grows by one reuses its arrays."""


class Pool:
    """Lends memory for arrays, and takes it back when they die. Safe to use from many threads."""

    def __init__(self, most_free: int = MOST_FREE_BYTES) -> None:
        self._most_free = most_free
        # The operations of a deque are atomic. A lock would deadlock, because an array may die
        # while its thread borrows another one.
        self._free: deque[mmap.mmap] = deque()

    def lend(self, shape: tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
        """Return an array with undefined content, whose columns are contiguous."""
        size = prod(shape)
        length = size * np.dtype(dtype).itemsize
        if length < LEAST_BYTES:
            return np.empty(shape, dtype=dtype, order="F")
        room = self._taken(_round_up(length))
        array: NDArray[Any] = np.frombuffer(room, dtype=dtype, count=size)
        # Views of an array refer to the array, so its memory is unused once the array dies.
        returns = weakref.finalize(array, self._take_back, room)
        returns.atexit = False
        return array.reshape(shape, order="F")

    def free_bytes(self) -> int:
        """Return the bytes of unused memory."""
        return sum(map(len, tuple(self._free)))

    def clear(self) -> None:
        """Return unused memory to the system."""
        self._free.clear()

    def _taken(self, length: int) -> mmap.mmap:
        with suppress(IndexError):  # another thread took the last one
            for _ in range(len(self._free)):
                room = self._free.pop()
                if len(room) == length:
                    return room
                self._free.appendleft(room)
        return room_of(length)

    def _take_back(self, room: mmap.mmap) -> None:
        self._free.append(room)
        with suppress(IndexError):
            while self.free_bytes() > self._most_free:
                self._free.popleft()  # those not used for the longest time


def _round_up(length: int) -> int:
    """Round a length up to one of ``STEPS`` lengths per power of two."""
    step = 1 << (length.bit_length() - 1) >> (STEPS.bit_length() - 1)
    return -(-length // step) * step


POOL: Final = Pool()
"""The pool of this process, for searches of all spaces."""


def borrow_array(shape: tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
    """An array from the pool of the process; see ``Pool.lend``."""
    return POOL.lend(shape, dtype)


WORTHWHILE = 1 << 16
"""Rows from which a second thread gains more than it costs to wake."""

PIECE = 1 << 15
"""Rows per step, so that results stay in the processor's cache."""

_lock = threading.Lock()
_second: ThreadPoolExecutor | None = None


def pieces(size: int) -> Iterator[slice]:
    """The rows of a column in pieces."""
    for start in range(0, size, PIECE):
        yield slice(start, min(start + PIECE, size))


def do_all(tasks: Sequence[Callable[[], object]], rows: int) -> None:
    """Call all of some tasks, which together go over so many rows, as ``for_each`` does it."""
    for_each(lambda at: tasks[at](), len(tasks), rows)


def for_each_piece(work: Callable[[slice], object], size: int) -> None:
    """``work(rows)`` for all pieces of so many rows, as ``for_each`` does it."""
    rows = list(pieces(size))
    for_each(lambda at: work(rows[at]), len(rows), size)


def for_each(work: Callable[[int], object], size: int, rows: int) -> None:
    """``work(at)`` for the parts 0 to ``size``, which stand for so many rows together.

    With many rows another thread works beside this one, and each takes the next part that is left.
    Work does not ask for this again. Raises what ``work`` raises.
    """
    left = count()

    def work_on() -> None:
        while (at := next(left)) < size:
            work(at)

    later = _submit(work_on) if rows >= WORTHWHILE and size > 1 else None
    try:
        work_on()
    finally:
        # The other thread may be busy with another search: then it has nothing to do here any more.
        if later is not None and not later.cancel():
            later.result()


def _submit(work: Callable[[], None]) -> Future[None] | None:
    """Work under way; None once the interpreter ends, when no thread may begin."""
    try:
        return _helper().submit(work)
    except RuntimeError:
        return None


def _helper() -> ThreadPoolExecutor:
    global _second
    with _lock:
        if _second is None:
            _second = ThreadPoolExecutor(1, thread_name_prefix="treering-search")
        return _second


def _forget() -> None:
    """A forked process does not have its parent's threads."""
    global _lock, _second
    _lock, _second = threading.Lock(), None


forks.call_in_child(_forget)
