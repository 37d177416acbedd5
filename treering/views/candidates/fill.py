"""Filling the index of vectors, beside all else that goes on."""

from __future__ import annotations

from typing import Final

import numpy as np

from treering.arrays import Codes
from treering.journal import vector_blocks
from treering.journal.contract import Reader
from treering.journal.postgres import nearest
from treering.journal.postgres.database import PgConnection, PostgresDatabase
from treering.journal.space import EmbeddingModel, Space
from treering.records import Progress
from treering.views.fragments import store

LOADED: Final = 2_000
"""Vectors stored at a time before there is an index."""

ADDED: Final = 64
"""Vectors added at a time to an index, half a second of work: who erases some of them waits."""


def fill(space: Space, progress: Progress | None = None) -> None:
    """Put all vectors of a space into the index, which is made if there is none.

    Another process that does so already is left to it. Raises JournalError.
    """
    database = space.database
    assert isinstance(database, PostgresDatabase)  # the only one that has such an index
    with space.read() as reader:
        number, model = reader.id, reader.model
    if model is None:
        return
    nearest.ensure_fits(model.dimension)
    with (
        database.connected() as (connection, schema),
        nearest.filling(connection, schema) as is_ours,
    ):
        if not is_ours:
            return
        nearest.drop_others(connection, number, [model.id])
        is_indexed = nearest.has_index(connection, number, model.id)
        _add(space, connection, number, model, ADDED if is_indexed else LOADED, progress)
        if not is_indexed:
            nearest.make_index(connection, number, model.id, model.dimension)
            _add(space, connection, number, model, ADDED, progress)


def _add(
    space: Space,
    connection: PgConnection,
    number: int,
    model: EmbeddingModel,
    size: int,
    progress: Progress | None,
) -> None:
    """Put the vectors into the table that are not in it yet, so many at a time."""
    mark = nearest.highest(connection, number, model.id)
    done = 0
    while True:
        with space.read() as reader:
            heads = _heads_after(reader, number, model, mark, size)
            if not len(heads):
                return
            directed = heads[heads[:, 2] != 0]
            vectors = store.numbered(reader, model, directed[:, 0])
            left = vector_blocks.count_after(reader, number, model, mark) if progress else 0
        numbers, fragments = directed[:, 0].tolist(), directed[:, 1].tolist()
        nearest.insert(connection, number, model.id, numbers, fragments, vectors)
        mark = int(heads[-1, 0])
        done += len(heads)
        if progress:
            progress(done, done + max(left - len(heads), 0))


def _heads_after(reader: Reader, space: int, model: EmbeddingModel, mark: int, size: int) -> Codes:
    """Number, fragment, and 1 if it has a direction, of the next vectors above a mark; (n, 3)."""
    blocks = sorted(vector_blocks.after(reader, space, model, mark), key=lambda block: block.oldest)
    heads = np.zeros((0, 3), dtype=np.int64)
    for block in blocks:
        if len(heads) >= size and block.oldest > heads[size - 1, 0]:
            break
        number, fragment, scale = vector_blocks.read_heads(reader, block)
        new = np.stack([number, fragment, scale != 0], axis=1)[number > mark]
        heads = np.concatenate([heads, new])
        heads = heads[np.argsort(heads[:, 0])]
    return heads[:size]
