"""Moving fragments of the layout of version 14 to 18 into blocks, with their terms and vectors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from treering.journal import blocks, vector_blocks, work
from treering.journal.blocks import Counts, Place
from treering.journal.contract import Row, Writer
from treering.journal.space import EmbeddingModel, all_models

OUTDATED = "0.damaged"
"""The version of a view whose rows are to be made anew."""


def move(writer: Writer, first: int, last: int) -> None:
    """Move the fragments above ``first`` up to ``last``; vectors are not embedded again.

    What is damaged is left out: the view is to be rebuilt then, or the fragment embedded again.
    """
    rows = writer.rows(
        "SELECT f.space, f.id, f.entry, f.start, f.stop, t.data FROM listed_fragment f"
        " LEFT JOIN term_list t ON t.id = f.terms WHERE f.id > ? AND f.id <= ? ORDER BY f.id",
        (first, last),
    )
    by_space: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_space[int(row[0])].append(row[1:])
    places: dict[int, Place] = {}
    for space, fragments in by_space.items():
        places |= _move_fragments(writer, space, fragments)
    for model in all_models(writer):
        _move_vectors(writer, model, first, last, places)


def _move_fragments(writer: Writer, space: int, fragments: Sequence[Row]) -> dict[int, Place]:
    ids, entries, starts, stops, data = zip(*fragments, strict=True)
    terms = [_terms(blob) for blob in data]
    if any(of_row is None for of_row in terms):
        writer.execute(
            "UPDATE view SET version = ? WHERE space = ? AND name = 'fragments'", (OUTDATED, space)
        )
    counts = [np.zeros((0, 2), np.uint32) if of_row is None else of_row for of_row in terms]
    places = blocks.reserve(writer, space, [len(of_row) for of_row in counts])
    writer.many(
        "INSERT INTO fragment (id, space, entry, start, stop, block, slot)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (identity, space, entry, start, stop, place.block, place.slot)
            for identity, entry, start, stop, place in zip(
                ids, entries, starts, stops, places, strict=True
            )
        ),
    )
    rows = blocks.rows_of(writer, space, ids, entries, starts)
    blocks.fill(writer, space, places, rows, counts)
    return dict(zip(ids, places, strict=True))


def _terms(data: object) -> Counts | None:
    """The terms that a row holds; None if it is damaged."""
    if not isinstance(data, bytes) or len(data) % 8:
        return None
    return np.frombuffer(data, dtype="<u4").reshape(-1, 2)


def _move_vectors(
    writer: Writer, model: EmbeddingModel, first: int, last: int, places: dict[int, Place]
) -> None:
    rows = writer.rows(
        "SELECT v.space, v.id, v.fragment, d.data FROM listed_vector v"
        " LEFT JOIN vector_data d ON d.id = v.id"
        " WHERE v.model = ? AND v.fragment > ? AND v.fragment <= ?",
        (model.id, first, last),
    )
    by_space: dict[int, list[Row]] = defaultdict(list)
    for space, number, fragment, data in rows:
        if isinstance(data, bytes) and len(data) == 4 * model.dimension:
            by_space[int(space)].append((number, fragment, data))
        else:
            work.enqueue(writer, int(space), model.work, [int(fragment)])
    for space, of_space in by_space.items():
        numbers, fragments, data = zip(*of_space, strict=True)
        vector_blocks.put(
            writer,
            space,
            model,
            [(places[fragment].block, places[fragment].slot) for fragment in fragments],
            np.array(fragments, dtype=np.int64),
            np.array(numbers, dtype=np.int64),
            np.frombuffer(b"".join(data), dtype="<f4").reshape(len(data), model.dimension),
        )
