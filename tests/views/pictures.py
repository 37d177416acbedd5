"""What the views of a space hold, so that two ways to the same rows can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treering import Memory
from treering.journal import blocks
from treering.journal.contract import Reader
from treering.journal.space import SpaceReader
from treering.views.contract import View
from treering.views.facts import store as facts
from treering.views.fragments import store

TABLES = {
    "fragments": ("fragment",),
    "tree": ("node", "leaf"),
    "memo": ("memo",),
    "facts": ("statement", "fact_reading"),
    "code": ("code_change",),
    "shouts": ("view_shouts",),
}

NUMBERS = {
    "statement": {"id", "newer"},  # given anew when a row is made anew
    "code_change": {"id"},
    "fragment": {"block", "slot"},
}


def views(memory: Memory) -> list[View]:
    return list(memory._views._views)


def view(memory: Memory, name: str) -> View:
    [found] = [view for view in views(memory) if view.name == name]
    return found


def rows(memory: Memory, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table that belong to the space, but for what numbers them."""
    with memory._space.read() as reader:
        [names] = [each.columns for each in reader.tables() if each.name == table]
        kept = [name for name in names if name not in NUMBERS.get(table, ())]
        found = reader.rows(f"SELECT {', '.join(kept)} FROM {table} WHERE space = ?", (reader.id,))
        return sorted((tuple(row) for row in found), key=repr)


def content(memory: Memory, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table; of fragments also the terms and vectors, which stand in blocks.

    Of statements also those that are superseded, each with the newer one.
    """
    if table == "statement":
        return [*rows(memory, table), *superseded(memory)]
    if table != "fragment":
        return rows(memory, table)
    return [*rows(memory, table), *terms(memory), *vectors(memory)]


def superseded(memory: Memory) -> list[tuple[int, ...]]:
    """The places of superseded statements and of the newer ones."""
    with memory._space.read() as reader:
        return sorted(older.order[1:] + newer.order[1:] for older, newer in facts.pairs(reader))


def terms(memory: Memory) -> list[tuple[int, bytes]]:
    """The terms of every fragment."""
    with memory._space.read() as reader:
        places = places_of_fragments(reader)
        stored = terms_at(reader, reader.space, list(places.values()))
        return [(f, of.tobytes()) for f, of in zip(places, stored, strict=True)]


def terms_at(reader: Reader, space: int, places: Sequence[tuple[int, int]]) -> list[blocks.Counts]:
    """The terms of fragments, given as block and slot, sorted by term."""
    terms = []
    for identity, slot in places:
        stored = blocks.read_postings(reader, blocks._with_id(reader, space, identity))
        stored = stored[(stored["slot"] == slot) & (stored["count"] > 0)]
        columns = np.stack([stored["term"], stored["count"].astype(np.uint32)], axis=1)
        terms.append(columns[np.argsort(columns[:, 0], kind="stable")])
    return terms


def vectors(memory: Memory) -> list[tuple[int, int, bytes]]:
    """Model, fragment and vector of every fragment that is embedded, as floats."""
    with memory._space.read() as reader:
        fragments = list(places_of_fragments(reader))
        return [
            (model.id, fragment, vector.tobytes())
            for model in reader.state.models
            for fragment, vector in store.vectors_of(reader, model, fragments).items()
        ]


def places_of_fragments(reader: SpaceReader) -> dict[int, tuple[int, int]]:
    """Block and slot of every fragment."""
    rows = reader.rows(
        "SELECT id, block, slot FROM fragment WHERE space = ? ORDER BY id", (reader.id,)
    )
    return {int(row[0]): (int(row[1]), int(row[2])) for row in rows}


def picture(memory: Memory, name: str) -> Any:
    """What a view holds. A tree is drawn, and memos are listed: their numbers are given anew."""
    if name == "tree":
        return [line.partition("#")[0].split("]", 1)[-1] for line in memory.tree.draw().split("\n")]
    if name == "memo":
        return [(m.topic, m.summary, m.entry_ids) for m in memory.memos.list()]
    return {table: content(memory, table) for table in TABLES[name]}
