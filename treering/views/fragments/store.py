"""The rows of the fragments view."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from treering.arrays import Codes, Floats
from treering.journal import blocks, damage, vector_blocks, work
from treering.journal.blocks import FragmentBlock, Postings, Rows
from treering.journal.contract import Reader, Row
from treering.journal.entries import PAGE
from treering.journal.space import (
    EMBEDDING,
    EmbeddingModel,
    SpaceReader,
    SpaceWriter,
    all_models,
)
from treering.journal.vector_blocks import VectorBlock
from treering.search.postings import PostingRun
from treering.search.terms import Terms
from treering.search.vectors import Block
from treering.split import Span
from treering.views.fragments.columns import EmbeddedRows, living_rows

Places = dict[int, tuple[int, int]]
"""Block and slot of fragments, by their ids."""

UNIT_TOLERANCE = 1e-3
"""How far the length of a stored vector may be from 1: float32 rounds far less."""

DENSE = 2
"""Numbers are dense if their range is smaller than so many times their count."""

LONGEST = 1.01
"""No component of a unit vector is larger, even after rounding."""


def insert(writer: SpaceWriter, pieces: Sequence[tuple[int, Span, Terms]]) -> Places:
    """Store fragments, given as entry, span and terms; return their ids, each with its place."""
    space = writer.id
    places, in_blocks = blocks.reserve(writer, space, [len(terms) for _, _, terms in pieces])
    fragments = writer.insert_many(
        "INSERT INTO fragment (space, entry, start, stop, block, slot)"
        " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        [
            (space, entry, *span, place.block, place.slot)
            for (entry, span, _), place in zip(pieces, places, strict=True)
        ],
    )
    rows = blocks.rows_of(
        writer,
        space,
        fragments,
        [entry for entry, _, _ in pieces],
        [span[0] for _, span, _ in pieces],
    )
    blocks.fill(writer, places, in_blocks, rows, [terms for _, _, terms in pieces])
    return {
        fragment: (place.block, place.slot)
        for fragment, place in zip(fragments, places, strict=True)
    }


def renew_terms(writer: SpaceWriter, terms: Mapping[int, Terms]) -> None:
    """Replace the terms of fragments, by id, and their columns from their entries."""
    by_block: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    for fragment, block, slot, entry, start in _rows_of(writer, "f.entry, f.start", list(terms)):
        by_block[block].append((slot, fragment, entry, start))
    for block, slots in by_block.items():
        numbers, fragments, entries, starts = map(list, zip(*sorted(slots), strict=True))
        rows = blocks.rows_of(writer, writer.space, fragments, entries, starts)
        blocks.rewrite(writer, block, numbers, rows, [terms[fragment] for fragment in fragments])
    writer.touch()  # their postings may have moved


def _rows_of(reader: Reader, columns: str, fragments: Sequence[int]) -> Iterator[Row]:
    """Id, block, slot and some columns of the fragments that exist."""
    for start in range(0, len(fragments), PAGE):
        chunk = fragments[start : start + PAGE]
        marks = ", ".join("?" * len(chunk))
        yield from reader.rows(
            f"SELECT f.id, f.block, f.slot, {columns} FROM fragment f"
            f" WHERE f.space = ? AND f.id IN ({marks})",
            (reader.space, *chunk),
        )


def _places(reader: Reader, fragments: Sequence[int]) -> Places:
    """Block and slot of the fragments that exist, by id."""
    return {int(row[0]): (int(row[1]), int(row[2])) for row in _rows_of(reader, "1", fragments)}


def insert_vectors(
    writer: SpaceWriter, model: EmbeddingModel, fragments: Sequence[int], vectors: Floats
) -> None:
    """Store one vector per fragment; a fragment that has one keeps it."""
    places = _places(writer, fragments)
    there = vector_blocks.number_at(writer, model, list(places.values()))
    has = dict(zip(places, there, strict=True))
    new = [at for at, fragment in enumerate(fragments) if has.get(fragment) == 0]
    if new:
        add_vectors(
            writer, model, {fragments[at]: places[fragments[at]] for at in new}, vectors[new]
        )


def add_vectors(
    writer: SpaceWriter,
    model: EmbeddingModel,
    places: Places,
    vectors: Floats | Sequence[Floats],
) -> None:
    """Store a vector for each of some fragments without one, given with their places."""
    numbers = writer.vector_numbers(len(places))
    writer.many(
        "INSERT INTO vector_data (id, data) VALUES (?, ?)",
        (
            (number, row.astype("<f4", copy=False).tobytes())
            for number, row in zip(numbers, vectors, strict=True)
        ),
    )
    vector_blocks.put(
        writer,
        writer.id,
        model,
        list(places.values()),
        np.array(list(places), dtype=np.int64),
        np.array(numbers, dtype=np.int64),
        vectors,
    )


def texts(reader: Reader, fragments: Iterable[int]) -> list[tuple[int, str, str | None]]:
    """Id, text and speaker of the fragments that still exist, in the given order."""
    existing: list[tuple[int, str, str | None]] = []
    last, text, speaker = -1, "", None  # of the last entry, which is read once
    for fragment in fragments:
        row = reader.row(
            "SELECT start, stop, entry FROM fragment WHERE space = ? AND id = ?",
            (reader.space, fragment),
        )
        if row is None:
            continue
        start, stop, entry = map(int, row)
        if entry != last:
            of_entry = reader.row(
                "SELECT b.text, b.speaker FROM entry e JOIN body b ON b.id = e.body"
                " WHERE e.space = ? AND e.seq = ?",
                (reader.space, entry),
            )
            if of_entry is None:
                continue
            last, text, speaker = entry, str(of_entry[0]), of_entry[1]
        existing.append((fragment, text[start:stop], speaker))
    return existing


def speaker_of(reader: Reader, entry: int) -> str:
    """The name of the speaker of an entry. Raises JournalCorrupt."""
    row = reader.row(
        "SELECT b.speaker FROM entry e JOIN body b ON b.id = e.body"
        " WHERE e.space = ? AND e.seq = ?",
        (reader.space, entry),
    )
    return damage.checked(str, row[0] if row else None)


def stored_rows(reader: Reader, block: FragmentBlock, after: int) -> tuple[int, Rows, Postings]:
    """First slot, rows and postings of a block's fragments with ids above ``after``.

    Raises JournalCorrupt.
    """
    first, rows = blocks.new_rows(reader, block, after)
    return first, rows, blocks.postings_of(reader, block, first, rows)


def sound_rows(
    block: FragmentBlock, first: int, rows: Rows, postings: Postings
) -> tuple[Rows, PostingRun]:
    """The fragments that ``stored_rows`` has read, and their terms. Raises JournalCorrupt."""
    # Numbers too large for a column raise, too; numpy would only warn.
    with damage.decoding("the search index"), np.errstate(invalid="raise"):
        if not first and np.count_nonzero(rows["fragment"]) != block.living:
            raise ValueError("fragments are missing")
        return living_rows(first, rows, postings, block.is_sorted)


def embedded_rows(
    reader: Reader, model: EmbeddingModel, block: VectorBlock, after: int, *, exact: bool
) -> EmbeddedRows | None:
    """A model's vectors in a block since the mark ``after``, as floats if ``exact``.

    None without any. Raises JournalCorrupt.
    """
    vectors = vector_blocks.read(reader, block, after)
    if not len(vectors.number):
        return None
    number = np.where(vectors.scale != 0, vectors.number, 0)
    held = Block(vectors.codes, vectors.scale)
    if exact:
        held = Block(read_vectors(reader, model, number), None)
    return EmbeddedRows(int(vectors.number.max()), vectors.fragment, number, held)


def read_vectors(reader: Reader, model: EmbeddingModel, numbers: Codes) -> Floats:
    """Vectors by their numbers, which differ, shape (len(numbers), d); zeros for number 0.

    Raises JournalCorrupt.
    """
    vectors = np.zeros((len(numbers), model.dimension), dtype="<f4")
    size = vectors.itemsize * model.dimension
    starts = size * np.flatnonzero(numbers)
    start_of = dict(zip(numbers[numbers != 0].tolist(), starts.tolist(), strict=True))
    wanted = list(start_of)
    # Each goes to its place as it is read. Joining them afterwards would take three times the
    # memory, and finding that takes longer than the rest.
    room = vectors.data.cast("B") if wanted else memoryview(b"")
    with damage.decoding("a stored vector"):
        if len(wanted) < len(starts):
            raise ValueError("a number occurs twice")
        for first in range(0, len(wanted), PAGE):
            for number, data in _vectors_between(reader, wanted[first : first + PAGE]):
                start = start_of.pop(number, None)
                if start is not None:
                    room[start : start + size] = data  # raises for another length, or no bytes
        if start_of:
            raise ValueError(f"{len(start_of)} are missing")
        _check_unit_vectors(vectors)
    return vectors.astype(np.float32, copy=False)


def _vectors_between(reader: Reader, numbers: Sequence[int]) -> Iterator[Row]:
    """Number and data of some vectors, and perhaps of others."""
    first, last = min(numbers), max(numbers)
    if last - first < DENSE * len(numbers):  # a range is faster than look-ups
        condition, params = "BETWEEN ? AND ?", [first, last]
    else:
        condition, params = f"IN ({', '.join('?' * len(numbers))})", list(numbers)
    return reader.rows(
        f"SELECT id, data FROM vector_data WHERE {reader.dialect.in_heap_of_space}"
        f" AND id {condition}",
        (reader.space, *params),
    )


def vectors_of(
    reader: Reader, model: EmbeddingModel, fragments: Sequence[int]
) -> dict[int, Floats]:
    """The vectors of the fragments that the model has embedded, by fragment."""
    places = _places(reader, fragments)
    numbers = vector_blocks.number_at(reader, model, list(places.values()))
    embedded = {f: n for f, n in zip(places, numbers, strict=True) if n}
    directed = [
        number if vector_blocks.has_direction(reader, model, *places[fragment]) else 0
        for fragment, number in embedded.items()
    ]
    vectors = read_vectors(reader, model, np.array(directed, dtype=np.int64))
    of_fragment = dict(zip(embedded, vectors, strict=True))
    return {fragment: of_fragment[fragment] for fragment in fragments if fragment in of_fragment}


def embedded_after(
    reader: Reader, space: int, model: EmbeddingModel, mark: int, limit: int
) -> tuple[int, dict[int, Floats]]:
    """The new mark, and the vectors of the next fragments embedded since ``mark``, in order."""
    pairs = vector_blocks.next_after(reader, space, model, mark, limit)
    last = pairs[-1][0] if pairs else mark
    return last, vectors_of(reader, model, [fragment for _, fragment in pairs])


def spans(reader: Reader, entry: int) -> list[tuple[int, int, int]]:
    """Id, start and stop of the fragments of an entry."""
    rows = reader.rows(
        "SELECT id, start, stop FROM fragment WHERE space = ? AND entry = ? ORDER BY id",
        (reader.space, entry),
    )
    return [(int(row[0]), int(row[1]), int(row[2])) for row in rows]


def gone_since(reader: Reader, space: int, after: int) -> tuple[int, list[int]]:
    """The new mark, and the fragments that were deleted since the mark ``after``."""
    rows = list(
        reader.rows(
            "SELECT id, fragment FROM gone WHERE space = ? AND id > ? ORDER BY id", (space, after)
        )
    )
    return (int(rows[-1][0]) if rows else after), [int(row[1]) for row in rows]


def last_gone(reader: Reader, space: int) -> int:
    """The mark of the last deleted fragment."""
    row = reader.row("SELECT coalesce(max(id), 0) FROM gone WHERE space = ?", (space,))
    return int(row[0]) if row else 0


def has_unembedded(reader: SpaceReader) -> bool:
    """Whether a model of the space has fragments left to embed."""
    if not reader.state.models:
        row = reader.row("SELECT 1 FROM fragment WHERE space = ? LIMIT 1", (reader.id,))
        return row is not None
    return work.is_queued(reader, reader.id, [model.work for model in reader.state.models])


def count_unfinished(reader: SpaceReader) -> int:
    """The number of entries with fragments that the current model has not embedded."""
    if reader.model is None:
        row = reader.row("SELECT count(DISTINCT entry) FROM fragment WHERE space = ?", (reader.id,))
    else:
        row = reader.row(
            "SELECT count(DISTINCT f.entry) FROM work w"
            " JOIN fragment f ON f.space = w.space AND f.id = w.target"
            " WHERE w.space = ? AND w.view = ?",
            (reader.id, reader.model.work),
        )
    return int(row[0]) if row else 0


def erase(writer: SpaceWriter, entries: Iterable[int]) -> dict[str, int]:
    """Delete the fragments of entries; return the number of deleted rows by kind."""
    space = writer.id
    places: dict[int, tuple[int, int]] = {}
    for entry in entries:
        rows = writer.rows(
            "SELECT id, block, slot FROM fragment WHERE space = ? AND entry = ?", (space, entry)
        )
        places.update((int(row[0]), (int(row[1]), int(row[2]))) for row in rows)
    vectors = vector_blocks.erase(writer, places.values())
    emptied = blocks.erase(writer, space, places.values())
    if emptied:
        vector_blocks.drop_beside(writer, all_models(writer), emptied)
    keys = [(space, fragment) for fragment in places]
    writer.many("DELETE FROM fragment WHERE space = ? AND id = ?", keys)
    writer.many("INSERT INTO gone (space, fragment) VALUES (?, ?)", keys)
    writer.many(
        "DELETE FROM work WHERE space = ? AND target = ?"
        f" AND view IN (SELECT '{EMBEDDING}' || id FROM model)",
        keys,
    )
    writer.touch()
    return {"fragments": len(places), "vectors": vectors}


def drop_vectors(writer: SpaceWriter, model: EmbeddingModel) -> None:
    """Delete the vectors of a model, and the work queued for it."""
    vector_blocks.drop(writer, writer.id, model)
    work.drop(writer, writer.id, model.work)


def enqueue_all(writer: SpaceWriter, model: EmbeddingModel) -> None:
    """Queue every fragment that a model has not embedded."""
    for block in blocks.after(writer, writer.id, 0):
        fragments = blocks.read_rows(writer, block)["fragment"]
        embedded = vector_blocks.embedded_in(writer, model, block.id)
        rest = np.setdiff1d(fragments[fragments > 0], embedded)
        work.enqueue(writer, writer.id, model.work, rest.tolist())


def drop_unsound(writer: SpaceWriter, fragments: Sequence[int]) -> None:
    """Delete the vectors of fragments that have a wrong size or not unit length."""
    places = _places(writer, fragments)
    for model in writer.state.models:
        vector_blocks.drop_damaged(writer, model, {block for block, _ in places.values()})
        numbers = vector_blocks.number_at(writer, model, list(places.values()))
        for place, number in zip(places.values(), numbers, strict=True):
            if number and not _is_sound(writer, model, place, number):
                vector_blocks.erase(writer, [place], model)


def _is_sound(reader: Reader, model: EmbeddingModel, place: tuple[int, int], number: int) -> bool:
    """Whether a vector has unit length or is zero, and fits its codes."""
    row = reader.row(
        f"SELECT data FROM vector_data WHERE {reader.dialect.in_heap_of_space} AND id = ?",
        (reader.space, number),
    )
    if row is None and not vector_blocks.has_direction(reader, model, *place):
        return True  # the zero vector is not stored
    if row is None or not isinstance(row[0], bytes) or len(row[0]) != 4 * model.dimension:
        return False
    vector = np.frombuffer(row[0], dtype="<f4")
    length = float(np.linalg.norm(vector))
    is_unit = abs(length - 1) < UNIT_TOLERANCE or length == 0
    return is_unit and vector_blocks.is_of(reader, model, place, vector)


def to_vectors(data: Sequence[bytes], dimension: int) -> Floats:
    """Stored vectors, shape (len(data), dimension). Raises JournalCorrupt."""
    with damage.decoding("a stored vector"):
        if wrong := {len(blob) for blob in data} - {4 * dimension}:
            raise ValueError(f"{wrong.pop()} bytes, its model {dimension} dimensions")
        vectors = np.frombuffer(b"".join(data), dtype="<f4").reshape(-1, dimension)
        _check_unit_vectors(vectors)
    return vectors


def _check_unit_vectors(vectors: Floats) -> None:
    """Raise ValueError for rows that cannot be unit vectors. A NaN fails every comparison."""
    if len(vectors) and not (vectors.min() > -LONGEST and vectors.max() < LONGEST):
        raise ValueError("not of unit length")


def locate(reader: Reader, fragments: Sequence[int]) -> dict[int, Span]:
    """Start and stop of fragments by id."""
    with damage.decoding("the search index"):
        rows = _rows_of(reader, "f.start, f.stop", fragments)
        return {int(row[0]): (int(row[3]), int(row[4])) for row in rows}
