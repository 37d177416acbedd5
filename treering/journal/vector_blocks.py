"""Vectors in eight bits, in blocks beside those of the fragments; opening a space reads them.

A vector block belongs to one model, and to a stretch of the slots of a fragment block. It has four
parts, each for all of its slots: the numbers of their vectors in ``vector_data``, which has the
floats; their fragments; and the scales and codes of ``treering.arrays``. A slot whose
fragment is not embedded has number 0. Numbers ascend with time, so a reader asks for those above
the last one it has read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Bytes, Codes, Floats, quantise_rows
from treering.journal import damage
from treering.journal.blocks import by_block, drop_if_damaged, read_part, zeros
from treering.journal.contract import Patch, Reader, Row, Writer
from treering.journal.space import EmbeddingModel

MOST_SLOTS: Final = 1_024
"""Slots of a vector block at most: a change walks along the pages of one."""

FEW: Final = 8
"""So many slots are looked up one by one; for more of a block all of its numbers are read."""

TABLE: Final = "vector_block_data"
_COLUMNS: Final = "space, id, block, slot, size, filled, oldest, newest"
_NUMBER, _SCALE = 8, 4  # bytes of each


@dataclass(frozen=True, slots=True)
class VectorBlock:
    """A vector block as its row says, and the dimension of its model."""

    space: int
    id: int
    block: int
    slot: int
    size: int
    filled: int
    oldest: int
    newest: int
    dimension: int

    @property
    def key(self) -> tuple[int, int]:
        """The key of its data."""
        return self.space, self.id

    @property
    def slot_bytes(self) -> tuple[int, ...]:
        """The bytes of a slot in each of the four parts."""
        return _NUMBER, _NUMBER, _SCALE, self.dimension

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the four parts begin."""
        sizes = (self.size * width for width in self.slot_bytes[:-1])
        return tuple(accumulate(sizes, initial=0))

    @property
    def total_bytes(self) -> int:
        """The size of all parts."""
        return self.size * sum(self.slot_bytes)

    def part(self, reader: Reader, start: int, size: int) -> bytes:
        """Return some bytes of the data. Raise JournalCorrupt if they are missing."""
        return read_part(reader, TABLE, self.key, start, size)


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Vectors in eight bits with their numbers and fragments, as in a block."""

    number: Codes
    fragment: Codes
    scale: Floats
    codes: Bytes

    def only(self, which: NDArray[Any]) -> StoredVectors:
        """Return the vectors of a mask or of places."""
        return StoredVectors(
            self.number[which], self.fragment[which], self.scale[which], self.codes[which]
        )


# ------------------------------------------------------------------------------------- adding


def put(
    writer: Writer,
    space: int,
    model: EmbeddingModel,
    places: Sequence[tuple[int, int]],
    fragments: Codes,
    number: Codes,
    vectors: Floats | Sequence[Floats],
) -> None:
    """Write vectors in eight bits at the slots of their fragments, given as block and slot."""
    codes, scale = quantise_rows(vectors)
    new = StoredVectors(number, fragments, scale, codes)
    block = np.array([place[0] for place in places], dtype=np.int64)
    slot = np.array([place[1] for place in places], dtype=np.int64)
    stretch = slot // MOST_SLOTS
    for identity, part in sorted(set(zip(block.tolist(), stretch.tolist(), strict=True))):
        which = np.flatnonzero((block == identity) & (stretch == part))
        which = which[np.argsort(slot[which])]
        into = _find_or_create(writer, space, model, identity, part * MOST_SLOTS)
        _write(writer, into, slot[which] - into.slot, new.only(which))


def _find_or_create(
    writer: Writer, space: int, model: EmbeddingModel, block: int, slot: int
) -> VectorBlock:
    """Return the vector block of a model that begins at a slot; create it if it is missing."""
    if there := _find(writer, space, model, block, slot):
        return there
    slots = writer.row("SELECT slots FROM block WHERE space = ? AND id = ?", (space, block))
    with damage.decoding("the search index"):
        if slots is None:
            raise ValueError("a block is missing")
        size = min(int(slots[0]) - slot, MOST_SLOTS)
    [identity] = writer.insert_many(
        "INSERT INTO vector_block (space, model, block, slot, size, filled, oldest, newest)"
        " VALUES (?, ?, ?, ?, ?, 0, 0, 0) RETURNING id",
        [(space, model.id, block, slot, size)],
    )
    new = VectorBlock(space, identity, block, slot, size, 0, 0, 0, model.dimension)
    writer.allot(TABLE, new.total_bytes, *new.key)
    return new


def _vector_block(row: Row, model: EmbeddingModel) -> VectorBlock:
    with damage.decoding("the search index"):
        space, identity, block, slot, size, filled, oldest, newest = map(int, row)
    return VectorBlock(space, identity, block, slot, size, filled, oldest, newest, model.dimension)


def _write(writer: Writer, block: VectorBlock, slots: Codes, vectors: StoredVectors) -> None:
    parts: tuple[NDArray[Any], ...] = (
        *(vectors.number, vectors.fragment, vectors.scale, vectors.codes),
    )
    breaks = np.flatnonzero(np.diff(slots) != 1) + 1
    patches: list[Patch] = []
    for first, stop in pairwise([0, *breaks.tolist(), len(slots)]):
        for start, width, values in zip(block.starts, block.slot_bytes, parts, strict=True):
            patches.append((start + int(slots[first]) * width, values[first:stop].tobytes()))
    writer.patch(TABLE, block.key, patches)
    oldest, newest = int(vectors.number.min()), int(vectors.number.max())
    writer.execute(
        "UPDATE vector_block SET filled = filled + ?, oldest = ?, newest = ?"
        " WHERE space = ? AND id = ?",
        (
            len(slots),
            min(block.oldest or oldest, oldest),
            max(block.newest, newest),
            *block.key,
        ),
    )


# ------------------------------------------------------------------------------------- reading


def after(reader: Reader, space: int, model: EmbeddingModel, number: int) -> list[VectorBlock]:
    """The blocks with vectors of higher numbers than that, in the order of their fragments."""
    rows = reader.rows(
        f"SELECT {_COLUMNS} FROM vector_block WHERE space = ? AND model = ? AND newest > ?"
        " ORDER BY block, slot",
        (space, model.id, number),
    )
    return [_vector_block(row, model) for row in rows]


def read(reader: Reader, block: VectorBlock, number: int = 0) -> StoredVectors:
    """The vectors of a block with higher numbers than that. Raises JournalCorrupt."""
    data = block.part(reader, 0, block.total_bytes)
    codes = np.frombuffer(data, np.int8, offset=block.starts[3])
    vectors = StoredVectors(*_heads(block, data), codes.reshape(block.size, block.dimension))
    with damage.decoding("the search index"):
        if not np.isfinite(vectors.scale).all():
            raise ValueError("a scale is not finite")
    wanted = vectors.number > number
    return vectors if wanted.all() else vectors.only(wanted)


def read_numbers(reader: Reader, block: VectorBlock) -> tuple[Codes, Codes]:
    """Return the numbers and the fragments of all slots of a block. Raise JournalCorrupt."""
    data = block.part(reader, 0, block.starts[2])
    number, fragment = np.frombuffer(data, "<i8").reshape(2, block.size)
    return number, fragment


def read_heads(reader: Reader, block: VectorBlock) -> tuple[Codes, Codes, Floats]:
    """Return the numbers, fragments and scales of all slots of a block. Raise JournalCorrupt."""
    return _heads(block, block.part(reader, 0, block.starts[3]))


def _heads(block: VectorBlock, data: bytes) -> tuple[Codes, Codes, Floats]:
    number, fragment = np.frombuffer(data, "<i8", 2 * block.size).reshape(2, block.size)
    return number, fragment, np.frombuffer(data, "<f4", block.size, block.starts[2])


def next_after(
    reader: Reader, space: int, model: EmbeddingModel, number: int, limit: int
) -> list[tuple[int, int]]:
    """Number and fragment of the first ``limit`` vectors above a number, ascending."""
    blocks = sorted(after(reader, space, model, number), key=lambda block: block.oldest)
    pairs: list[tuple[int, int]] = []
    for block in blocks:
        if len(pairs) >= limit and block.oldest > pairs[limit - 1][0]:
            break
        of_slot, fragment = read_numbers(reader, block)
        new = of_slot > number
        pairs += zip(of_slot[new].tolist(), fragment[new].tolist(), strict=True)
        pairs.sort()
    return pairs[:limit]


def count_after(reader: Reader, space: int, model: EmbeddingModel, number: int) -> int:
    """How many vectors have a higher number than that."""
    total = 0
    for block in after(reader, space, model, number):
        if block.oldest > number:
            total += block.filled
        else:
            total += int((read_numbers(reader, block)[0] > number).sum())
    return total


def number_at(
    reader: Reader, model: EmbeddingModel, places: Sequence[tuple[int, int]]
) -> list[int]:
    """Return the number of the vector at each place, given as block and slot, or 0."""
    numbers: dict[tuple[int, int], int] = {}
    for (block, first), slots in _stretches(places).items():
        vectors = _find(reader, reader.space, model, block, first)
        if vectors is None:
            continue
        places_here = [slot - first for slot in slots]
        if len(slots) > FEW:
            of_slot = read_numbers(reader, vectors)[0][places_here].tolist()
        else:
            parts = (vectors.part(reader, _NUMBER * place, _NUMBER) for place in places_here)
            of_slot = [int.from_bytes(part, "little", signed=True) for part in parts]
        numbers.update(zip(((block, slot) for slot in slots), of_slot, strict=True))
    return [numbers.get((block, slot), 0) for block, slot in places]


def _stretches(places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], list[int]]:
    """Slots, ascending, by the block and the first slot of their vector block."""
    return by_block(((block, slot - slot % MOST_SLOTS), slot) for block, slot in places)


def _find(
    reader: Reader, space: int, model: EmbeddingModel, block: int, slot: int
) -> VectorBlock | None:
    """Return the vector block of a model that begins at a slot of a block."""
    row = reader.row(
        f"SELECT {_COLUMNS} FROM vector_block"
        " WHERE space = ? AND block = ? AND model = ? AND slot = ?",
        (space, block, model.id, slot),
    )
    return None if row is None else _vector_block(row, model)


def has_direction(reader: Reader, model: EmbeddingModel, block: int, slot: int) -> bool:
    """Return whether the vector at a place is not all zeros, which has the scale 0."""
    vectors = _find(reader, reader.space, model, block, slot - slot % MOST_SLOTS)
    if vectors is None:
        return False
    start = vectors.starts[2] + _SCALE * (slot - vectors.slot)
    return any(reader.part(TABLE, vectors.key, start, _SCALE))


def is_of(reader: Reader, model: EmbeddingModel, place: tuple[int, int], vector: Floats) -> bool:
    """Return whether the scale and the codes at a place are those of a vector."""
    block, slot = place
    vectors = _find(reader, reader.space, model, block, slot - slot % MOST_SLOTS)
    if vectors is None:
        return False
    codes, scale = quantise_rows(vector[None])
    expected = (scale.tobytes(), codes.tobytes())
    parts = zip(vectors.starts[2:], vectors.slot_bytes[2:], expected, strict=True)
    return all(
        reader.part(TABLE, vectors.key, start + width * (slot - vectors.slot), width) == data
        for start, width, data in parts
    )


def embedded_in(reader: Reader, model: EmbeddingModel, block: int) -> Codes:
    """The fragments of a block of fragments that a model has embedded."""
    embedded = [np.zeros(0, dtype=np.int64)]
    for vectors in _in(reader, model, block):
        number, fragment = read_numbers(reader, vectors)
        embedded.append(fragment[number > 0])
    return np.concatenate(embedded)


def _in(reader: Reader, model: EmbeddingModel, block: int) -> list[VectorBlock]:
    rows = reader.rows(
        f"SELECT {_COLUMNS} FROM vector_block"
        " WHERE space = ? AND block = ? AND model = ? ORDER BY slot",
        (reader.space, block, model.id),
    )
    return [_vector_block(row, model) for row in rows]


def count(reader: Reader, space: int, model: EmbeddingModel) -> int:
    """How many vectors of a model a space has."""
    row = reader.row(
        "SELECT coalesce(sum(filled), 0) FROM vector_block WHERE space = ? AND model = ?",
        (space, model.id),
    )
    return int(row[0]) if row else 0


# ------------------------------------------------------------------------------------- erasing


def erase(
    writer: Writer, places: Iterable[tuple[int, int]], model: EmbeddingModel | None = None
) -> int:
    """Blank the vectors of some places, given as block and slot; return how many there were.

    Those of one model, or of all.
    """
    return sum(
        _erase(writer, vectors, [slot - first for slot in slots])
        for (block, first), slots in _stretches(places).items()
        for of_model, vectors in _of_models(writer, block, first)
        if model is None or of_model == model.id
    )


def _of_models(reader: Reader, block: int, slot: int) -> list[tuple[int, VectorBlock]]:
    """The vector blocks that begin at a slot of a block, each with the number of its model."""
    rows = reader.rows(
        "SELECT v.space, v.id, v.block, v.slot, v.size, v.filled, v.oldest, v.newest, m.dimension,"
        " m.id FROM vector_block v JOIN model m ON m.id = v.model"
        " WHERE v.space = ? AND v.block = ? AND v.slot = ?",
        (reader.space, block, slot),
    )
    with damage.decoding("the search index"):
        return [(row[-1], VectorBlock(*map(int, row[:-1]))) for row in list(rows)]


def _erase(writer: Writer, block: VectorBlock, slots: Sequence[int]) -> int:
    number = read_numbers(writer, block)[0][slots]
    gone: list[int] = number[number > 0].tolist()
    writer.blank("vector_data", ("data",), block.space, gone)
    parts = zip(block.starts, block.slot_bytes, strict=True)
    patches = [patch for start, width in parts for patch in zeros(slots, width, start)]
    writer.patch(TABLE, block.key, patches)
    writer.execute(
        "UPDATE vector_block SET filled = filled - ? WHERE space = ? AND id = ?",
        (len(gone), *block.key),
    )
    return len(gone)


def drop(writer: Writer, space: int, model: EmbeddingModel) -> None:
    """Blank all vectors of a model in a space."""
    for block in after(writer, space, model, -1):
        drop_block(writer, block)


def drop_beside(
    writer: Writer, models: Iterable[EmbeddingModel], fragment_blocks: Sequence[int]
) -> None:
    """Drop the blocks beside blocks of fragments that are gone."""
    for model in models:
        for identity in fragment_blocks:
            for block in _in(writer, model, identity):
                drop_block(writer, block)


def drop_block(writer: Writer, block: VectorBlock) -> None:
    """Blank a block and its vectors."""
    number, _ = read_numbers(writer, block)
    writer.blank("vector_data", ("data",), block.space, number[number > 0].tolist())
    writer.blank(TABLE, ("data",), block.space, [block.id])
    writer.execute("DELETE FROM vector_block WHERE space = ? AND id = ?", block.key)


def drop_damaged(writer: Writer, model: EmbeddingModel, fragment_blocks: Iterable[int]) -> None:
    """Drop the vector blocks beside some blocks whose data have a wrong size."""
    for identity in fragment_blocks:
        for block in _in(writer, model, identity):
            if drop_if_damaged(writer, TABLE, block.key, block.total_bytes):
                writer.execute("DELETE FROM vector_block WHERE space = ? AND id = ?", block.key)
