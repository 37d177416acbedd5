"""Fragments in blocks: a search reads the columns of many fragments from a few large rows.

A block has slots for some fragments of a space, and room for their postings. It is created at its
full size, its slots are filled in the order of arrival, and erased slots are zeroed in place:
SQLite moves nothing, and leaves no copy behind. A full block is sorted by term, in place. So
opening a space reads a few large rows, and sorts nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.journal import damage, sources, storage
from treering.journal.contract import Patch, Reader, Row, RowKey, Writer
from treering.records import KINDS

K = TypeVar("K", bound=Hashable)

MOST_SLOTS: Final = 16_384
"""Slots of a block at most. The postings of so many turns are a run that need not be merged."""

MOST_POSTINGS: Final = 1 << 19
SPARE: Final = 1.125
"""Room for postings beyond what the fragments at hand lead to expect."""

FEWEST_SLOTS: Final = 2
_LOOKED_AT: Final = 64  # slots of a block read at first, to find the new ones
_PAGE: Final = 500  # entries asked for at a time

ROW: Final = np.dtype(
    [
        *(("fragment", "<i8"), ("entry", "<i8"), ("at", "<i8"), ("source", "<i8")),
        *(("position", "<i8"), ("speaker", "<u8"), ("session", "<u8")),
        *(("start", "<i4"), ("length", "<i4"), ("offset", "<i4"), ("kind", "i1"), ("zone", "<i2")),
    ]
)
"""The columns of a fragment: ``at`` in microseconds or ``NEVER``; speaker and session by their
``name_code``; ``length``, its terms with repetitions; ``offset``, the begin of its postings while a
block is not sorted; ``kind``, a place in ``KINDS``; ``zone``, the minutes that the clock of ``at``
is ahead of UTC. An empty or erased slot is all zeros."""

POSTING: Final = np.dtype([("term", "<u4"), ("slot", "<u2"), ("count", "<u2")])
MAX_COUNT: Final = int(np.iinfo(np.uint16).max)
ANY_SLOT: Final = int(np.iinfo(np.uint16).max) + 1
NEVER: Final = int(np.iinfo(np.int64).min)

Rows = NDArray[Any]
"""Elements of type ``ROW``."""

Postings = NDArray[Any]
"""Elements of type ``POSTING``."""

Counts = NDArray[np.uint32]
"""Terms of a text with their counts, shape (t, 2)."""

_OF_ENTRY: Final = ("source", "position", "at", "kind", "zone", "speaker", "session")
_KIND_CODES: Final = {name: code for code, name in enumerate(KINDS)}
_COLUMNS: Final = "space, id, slots, used, living, last, postings, room, posted, sorted"


class Place(NamedTuple):
    """The slot of a fragment, and where its postings begin in a block that is not sorted."""

    block: int
    slot: int
    offset: int


@dataclass(frozen=True, slots=True)
class FragmentBlock:
    """A row of the table ``block``; schema.sql describes the columns."""

    space: int
    id: int
    slots: int
    used: int
    living: int
    last: int
    postings: int
    room: int
    posted: int
    sorted: int

    @property
    def is_sorted(self) -> bool:
        """Whether the block is full, and its postings are sorted by term."""
        return bool(self.sorted)


def name_code(name: str) -> int:
    """Return the number of a speaker or session in a row, which must not hold words; never 0."""
    return int.from_bytes(sources.name_hash(name)[:8], "little") | 1


# ------------------------------------------------------------------------------------- adding


def reserve(
    writer: Writer, space: int, sizes: Sequence[int]
) -> tuple[list[Place], dict[int, FragmentBlock]]:
    """Return places for new fragments, behind all others, and their blocks once they are filled.

    ``sizes`` are the numbers of different terms of each. Call ``fill`` in the same transaction.
    """
    places: list[Place] = []
    blocks: dict[int, FragmentBlock] = {}
    block = _newest(writer, space)
    for at, size in enumerate(sizes):
        if block is None or block.used == block.slots or block.posted + size > block.room:
            block = _create(writer, space, sizes[at:])
        places.append(Place(block.id, block.used, block.posted))
        block = replace(block, used=block.used + 1, posted=block.posted + size)
        blocks[block.id] = block
    return places, blocks


def _newest(reader: Reader, space: int) -> FragmentBlock | None:
    row = reader.row(
        f"SELECT {_COLUMNS} FROM block WHERE space = ? ORDER BY id DESC LIMIT 1", (space,)
    )
    return None if row is None else _block(row)


def _block(row: Row) -> FragmentBlock:
    with damage.decoding("the search index"):
        return FragmentBlock(*map(int, row))


def _create(writer: Writer, space: int, sizes: Sequence[int]) -> FragmentBlock:
    """Create a block for fragments of these sizes and more of their kind.

    It has half as many slots as the space already has: a small space stays small, and a large one
    has few blocks.
    """
    total = writer.row("SELECT coalesce(sum(slots), 0) FROM block WHERE space = ?", (space,))
    before = int(total[0]) if total else 0
    least = FEWEST_SLOTS if before else 1
    slots = min(max(len(sizes), before // 2, least), MOST_SLOTS)
    known = sum(sizes[:slots])
    mean = known / len(sizes[:slots])
    room = known + int(SPARE * mean * (slots - len(sizes[:slots])))
    room = max(min(room, MOST_POSTINGS), sizes[0])
    postings = writer.allot("block_postings", room * POSTING.itemsize, space)
    [identity] = writer.insert_many(
        "INSERT INTO block (space, slots, used, living, last, postings, room, posted)"
        " VALUES (?, ?, 0, 0, 0, ?, ?, 0) RETURNING id",
        [(space, slots, postings, room)],
    )
    writer.allot("block_rows", slots * ROW.itemsize, space, identity)
    return FragmentBlock(space, identity, slots, 0, 0, 0, postings, room, 0, sorted=0)


def fill(
    writer: Writer,
    places: Sequence[Place],
    blocks: Mapping[int, FragmentBlock],
    rows: Rows,
    terms: Sequence[Counts],
) -> None:
    """Write what was reserved: ``rows`` of the fragments, whose ids ascend, and their terms."""
    rows["offset"] = [place.offset for place in places]
    rows["length"] = _lengths(terms)
    bounds = [at for at, (a, b) in enumerate(pairwise(places), start=1) if a.block != b.block]
    for low, high in pairwise([0, *bounds, len(places)]):
        first = places[low]
        block = blocks[first.block]
        slots = range(first.slot, first.slot + high - low)
        postings = _postings(slots, terms[low:high])
        _patch(writer, "block_rows", (block.space, block.id), first.slot, rows[low:high])
        _patch(writer, "block_postings", (block.space, block.postings), first.offset, postings)
        last = int(rows["fragment"][high - 1])
        writer.execute(
            "UPDATE block SET used = ?, posted = ?, living = living + ?, last = ?"
            " WHERE space = ? AND id = ?",
            (block.used, block.posted, high - low, last, block.space, block.id),
        )
    if not block.last:  # it is new, so the one before it is full
        _sort_full(writer, block.space)


def _lengths(terms: Sequence[Counts]) -> Codes:
    """Return the number of words, without stop words, of each fragment, (n,)."""
    flat = np.concatenate([np.zeros((0, 2), dtype=np.uint32), *terms])
    total = np.zeros(len(flat) + 1, dtype=np.int64)
    np.minimum(flat[:, 1], MAX_COUNT).cumsum(out=total[1:])
    bounds = [0, *accumulate(map(len, terms))]
    return np.diff(total[bounds])


def _postings(slots: Sequence[int], terms: Sequence[Counts]) -> Postings:
    """Return the postings of slots, one slot after the other."""
    flat = np.concatenate([np.zeros((0, 2), dtype=np.uint32), *terms])
    postings = np.empty(len(flat), dtype=POSTING)
    postings["term"] = flat[:, 0]
    postings["slot"] = np.repeat(np.asarray(slots, dtype=np.uint16), [len(of) for of in terms])
    postings["count"] = np.minimum(flat[:, 1], MAX_COUNT)
    return postings


def _patch(writer: Writer, table: str, key: RowKey, first: int, items: NDArray[Any]) -> None:
    writer.patch(table, key, [(first * items.dtype.itemsize, items.tobytes())])


def _sort_full(writer: Writer, space: int) -> None:
    """Sort the postings of the full blocks: all but the newest."""
    unsorted = writer.rows(
        f"SELECT {_COLUMNS} FROM block WHERE space = ? AND sorted = 0 ORDER BY id DESC", (space,)
    )
    for block in [_block(row) for row in unsorted][1:]:
        postings = read_postings(writer, block)
        postings = postings[np.argsort(postings["term"], kind="stable")]
        _patch(writer, "block_postings", (space, block.postings), 0, postings)
        writer.execute("UPDATE block SET sorted = 1 WHERE space = ? AND id = ?", (space, block.id))


def rows_of(
    reader: Reader,
    space: int,
    fragments: Sequence[int],
    entries: Sequence[int],
    starts: Sequence[int],
) -> Rows:
    """Return rows for fragments of a space, with the columns of their entries."""
    rows = np.zeros(len(fragments), dtype=ROW)
    rows["fragment"], rows["entry"], rows["start"] = fragments, entries, starts
    with damage.decoding("an entry", damage.HELP):
        seqs = sorted(set(entries))
        said = _of_entries(reader, space, seqs)
        place = np.searchsorted(seqs, entries)
        for name, column in zip(_OF_ENTRY, said, strict=True):
            rows[name] = column[place]
    return rows


def _of_entries(reader: Reader, space: int, seqs: Sequence[int]) -> list[NDArray[Any]]:
    """Return the columns ``_OF_ENTRY`` of entries. Raise KeyError if one is missing."""
    read: list[Row] = []
    for start in range(0, len(seqs), _PAGE):
        chunk = seqs[start : start + _PAGE]
        read += reader.rows(
            "SELECT e.seq, e.source, e.position, e.at, e.kind, e.zone, b.speaker, b.session"
            " FROM entry e LEFT JOIN body b ON b.id = e.body"
            f" WHERE e.space = ? AND e.seq IN ({', '.join('?' * len(chunk))}) ORDER BY e.seq",
            (space, *chunk),
        )
    seq, source, position, at, kind, zone, speaker, session = zip(*read, strict=True)
    if list(seq) != list(seqs):
        raise KeyError("an entry is missing")
    codes: dict[str | None, int] = {None: 0}  # most entries have the speaker and session of another
    for name in {*speaker, *session} - {None}:
        codes[name] = name_code(damage.checked(str, name))
    columns = (
        *(source, position),
        [NEVER if moment is None else moment for moment in at],
        [_KIND_CODES[name] for name in kind],
        zone,
        *([codes[name] for name in names] for names in (speaker, session)),
    )
    return [
        np.array(column, dtype=ROW[name]) for name, column in zip(_OF_ENTRY, columns, strict=True)
    ]


# ------------------------------------------------------------------------------------- reading


def after(reader: Reader, space: int, fragment: int) -> list[FragmentBlock]:
    """The blocks that have fragments above that one, in the order of their fragments."""
    blocks: list[FragmentBlock] = []
    for row in reader.rows(
        f"SELECT {_COLUMNS} FROM block WHERE space = ? ORDER BY id DESC", (space,)
    ):
        block = _block(row)
        if block.last <= fragment:
            break
        blocks.append(block)
    return blocks[::-1]


def _with_id(reader: Reader, space: int, identity: int) -> FragmentBlock:
    row = reader.row(f"SELECT {_COLUMNS} FROM block WHERE space = ? AND id = ?", (space, identity))
    with damage.decoding("the search index"):
        if row is None:
            raise ValueError("a block is missing")
    return _block(row)


def read_rows(reader: Reader, block: FragmentBlock, first: int = 0) -> Rows:
    """The rows of a block's used slots from ``first`` on. Raises JournalCorrupt."""
    return _read(reader, "block_rows", (block.space, block.id), ROW, first, block.used)


def read_postings(reader: Reader, block: FragmentBlock, first: int = 0) -> Postings:
    """The postings of a block from ``first`` on, erased ones among them. Raises JournalCorrupt."""
    key = (block.space, block.postings)
    return _read(reader, "block_postings", key, POSTING, first, block.posted)


def _read(
    reader: Reader, table: str, key: RowKey, dtype: np.dtype[Any], first: int, stop: int
) -> NDArray[Any]:
    size = dtype.itemsize
    data = read_part(reader, table, key, first * size, (stop - first) * size)
    return np.frombuffer(data, dtype=dtype)


def read_part(reader: Reader, table: str, key: RowKey, start: int, size: int) -> bytes:
    """Return some bytes of a large value. Raise JournalCorrupt if it is too short."""
    data = reader.part(table, key, start, size)
    with damage.decoding("the search index"):
        if len(data) != size:
            raise ValueError("a block is too short")
    return data


def new_rows(reader: Reader, block: FragmentBlock, fragment: int) -> tuple[int, Rows]:
    """Return the first slot behind ``fragment`` and all before it, and the rows from there."""
    if not fragment:
        return 0, read_rows(reader, block)
    size = _LOOKED_AT
    while True:
        first = max(block.used - size, 0)
        rows = read_rows(reader, block, first)
        ids = rows["fragment"]
        is_old = (ids > 0) & (ids <= fragment)
        if is_old.any() or not first:
            behind = int(np.flatnonzero(is_old)[-1]) + 1 if is_old.any() else 0
            return first + behind, rows[behind:]
        size *= 2


def postings_of(reader: Reader, block: FragmentBlock, first: int, rows: Rows) -> Postings:
    """The postings of the slots from ``first`` on, which have these rows."""
    start = 0
    if first and not block.is_sorted:
        living = rows["fragment"] > 0
        start = int(rows["offset"][living][0]) if living.any() else block.posted
    postings = read_postings(reader, block, start)
    wanted = postings["count"] > 0
    if first:
        wanted &= postings["slot"] >= first
    return postings if wanted.all() else postings[wanted]


def count(reader: Reader, space: int) -> int:
    """How many fragments a space has."""
    row = reader.row("SELECT coalesce(sum(living), 0) FROM block WHERE space = ?", (space,))
    return int(row[0]) if row else 0


# ------------------------------------------------------------------------------------- changing


def by_block(places: Iterable[tuple[K, int]]) -> dict[K, list[int]]:
    """Group slots by their block, ascending."""
    slots: dict[K, list[int]] = defaultdict(list)
    for block, slot in places:
        slots[block].append(slot)
    return {block: sorted(of_block) for block, of_block in slots.items()}


def erase(writer: Writer, space: int, places: Iterable[tuple[int, int]]) -> list[int]:
    """Zero what blocks hold of the fragments in some slots, given as block and slot.

    Returns the blocks that are empty now, and gone; the newest stays.
    """
    emptied: list[int] = []
    for identity, slots in by_block(places).items():
        block = _with_id(writer, space, identity)
        postings = read_postings(writer, block)
        is_erased = np.zeros(ANY_SLOT, dtype=np.bool_)  # a damaged posting may name any
        is_erased[slots] = True
        hit = is_erased[postings["slot"]] & (postings["count"] > 0)
        writer.patch("block_rows", (space, block.id), zeros(slots, ROW.itemsize))
        pieces = zeros(np.flatnonzero(hit).tolist(), POSTING.itemsize)
        writer.patch("block_postings", (space, block.postings), pieces)
        writer.execute(
            "UPDATE block SET living = living - ? WHERE space = ? AND id = ?",
            (len(slots), space, block.id),
        )
        is_empty = block.living == len(slots)
        if is_empty and (newest := _newest(writer, space)) and newest.id != block.id:
            storage.add_blanked(writer, block.slots * ROW.itemsize + block.room * POSTING.itemsize)
            writer.execute("DELETE FROM block WHERE space = ? AND id = ?", (space, block.id))
            emptied.append(block.id)
    return emptied


def zeros(places: Sequence[int], size: int, start: int = 0) -> list[Patch]:
    """Patches that zero the items at some places, which ascend, of so many bytes each."""
    breaks = [at for at, (a, b) in enumerate(pairwise(places), start=1) if b != a + 1]
    bounds = pairwise([0, *breaks, len(places)]) if places else ()
    return [(start + places[low] * size, bytes((high - low) * size)) for low, high in bounds]


def rewrite(
    writer: Writer, identity: int, slots: Sequence[int], rows: Rows, terms: Sequence[Counts]
) -> None:
    """Give slots of a block, ascending, other rows and terms; a damaged block is mended."""
    block = _with_id(writer, writer.space, identity)
    old_rows, old = _mend(writer, block)
    new_rows = old_rows.copy()
    rows["offset"] = old_rows["offset"][slots]
    rows["length"] = _lengths(terms)
    new_rows[slots] = rows
    others = old[(old["count"] > 0) & ~np.isin(old["slot"], slots)]
    new = np.concatenate([others, _postings(slots, terms)])
    order = "term" if block.is_sorted else "slot"
    new = new[np.argsort(new[order], kind="stable")]
    if not block.is_sorted:
        new_rows["offset"] = np.searchsorted(new["slot"], np.arange(len(new_rows)))
    if len(new) > block.room:
        block = _with_room(writer, block, len(new))
    rest = np.zeros(max(len(old) - len(new), 0), dtype=POSTING)
    if new_rows.tobytes() != old_rows.tobytes():
        _patch(writer, "block_rows", (block.space, block.id), 0, new_rows)
    if new.tobytes() != old.tobytes():
        key = (block.space, block.postings)
        _patch(writer, "block_postings", key, 0, np.concatenate([new, rest]))
    writer.execute(
        "UPDATE block SET posted = ?, living = ? WHERE space = ? AND id = ?",
        (len(new), int((new_rows["fragment"] > 0).sum()), block.space, block.id),
    )


def _with_room(writer: Writer, block: FragmentBlock, size: int) -> FragmentBlock:
    """Return the block with a larger row for its postings, and blank the old one."""
    writer.blank("block_postings", ("data",), block.space, [block.postings])
    room = max(int(size * SPARE), size)
    postings = writer.allot("block_postings", room * POSTING.itemsize, block.space)
    larger = replace(block, postings=postings, room=room)
    writer.execute(
        "UPDATE block SET postings = ?, room = ? WHERE space = ? AND id = ?",
        (larger.postings, room, block.space, block.id),
    )
    return larger


def _mend(writer: Writer, block: FragmentBlock) -> tuple[Rows, Postings]:
    """Return rows and postings of a block; create those again that have a wrong size."""
    for table, identity, size in (
        ("block_rows", block.id, block.slots * ROW.itemsize),
        ("block_postings", block.postings, block.room * POSTING.itemsize),
    ):
        if drop_if_damaged(writer, table, (block.space, identity), size):
            writer.allot(table, size, block.space, identity)
    return read_rows(writer, block), read_postings(writer, block)


def drop_if_damaged(writer: Writer, table: str, key: RowKey, size: int) -> bool:
    """Delete a large value unless it has that size; return whether it was deleted."""
    if writer.extent(table, key) == size:
        return False
    storage.set_rewrite_due(writer)  # its old bytes may be anywhere in the file
    of_space = writer.dialect.in_heap_of_space
    writer.execute(f"DELETE FROM {table} WHERE {of_space} AND id = ?", key)
    return True
