"""The rows of the tree view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from treering.arrays import Floats
from treering.journal import work
from treering.journal.contract import Reader, Writer
from treering.journal.space import EmbeddingModel
from treering.views.fragments import store as fragments
from treering.views.tree.leaves import detach, json_list
from treering.views.tree.shape import ROOT, Node

SUMMARIES: Final = "tree"
"""Work whose targets are summary nodes that do not yet speak of everything below them."""

ERASED: Final = "tree:erased"
"""Work whose targets are leaves without a fragment, to be taken out of the tree."""

LOOSE: Final = "tree:loose"
"""Work whose targets are fragments that are on no leaf any more: of their round some was erased."""

ALL: Final = 1 << 62
"""A limit that no queue of work reaches."""

UNPLACED: Final = "tree:unplaced"
"""Fragments that lack a leaf. They are counted, not queued: see ``TreeState.mark``."""


@dataclass(frozen=True, slots=True)
class TreeState:
    """The state of a stored tree; another value means that the tree has changed.

    ``model`` made its vectors, ``mark`` is the last vector that was attached, ``bound`` is one more
    than the highest number of a node, and ``revision`` grows with every change.
    """

    model: int
    mark: int
    bound: int
    revision: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary node as it is stored. ``text`` is None until it has been made.

    ``taken`` is the highest node number when the text was made. ``afresh`` says that the text
    must be made from the children alone. ``generation`` grows when a text below is erased, or goes
    to another leaf: what is being written then is not stored.
    """

    number: int
    text: str | None
    made_by: str | None
    taken: int
    afresh: bool
    generation: int


def state(reader: Reader) -> TreeState | None:
    """The state of a space's tree, or None if it is not begun."""
    row = reader.row(
        "SELECT model, mark, bound, revision FROM tree WHERE space = ?", (reader.space,)
    )
    return None if row is None else TreeState(*(int(value) for value in row))


def save_state(writer: Writer, tree: TreeState) -> None:
    """Store the state of a space's tree."""
    writer.execute(
        "INSERT INTO tree (space, model, mark, bound, revision) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (space) DO UPDATE SET model = excluded.model, mark = excluded.mark,"
        " bound = excluded.bound, revision = excluded.revision",
        (writer.space, tree.model, tree.mark, tree.bound, tree.revision),
    )


def fell(writer: Writer) -> None:
    """Drop the tree, if there is one, so that it grows again from the first text on."""
    tree = state(writer)
    for table in ("node", "leaf"):
        writer.execute(f"DELETE FROM {table} WHERE space = ?", (writer.space,))
    for view in (SUMMARIES, ERASED, LOOSE):
        work.drop(writer, writer.space, view)
    if tree is not None:
        save_state(writer, replace(tree, mark=0, revision=tree.revision + 1))


def count_written(reader: Reader, extractive: str) -> int:
    """How many summaries a language model has made."""
    row = reader.row(
        "SELECT count(*) FROM node WHERE space = ? AND made_by IS NOT NULL AND made_by <> ?",
        (reader.space, extractive),
    )
    return int(row[0]) if row else 0


def nodes(reader: Reader) -> list[Node]:
    """Every node of a space's tree."""
    rows = reader.rows(
        "SELECT number, parent, rank, leaf FROM node WHERE space = ? ORDER BY rank", (reader.space,)
    )
    return [Node(int(row[0]), int(row[1]), int(row[2]), bool(row[3])) for row in rows]


def put_nodes(writer: Writer, changed: Iterable[Node]) -> None:
    """Store the places of nodes; their texts stay as they are."""
    writer.many(
        "INSERT INTO node (space, number, parent, rank, leaf) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (space, number) DO UPDATE SET parent = excluded.parent, rank = excluded.rank",
        ((writer.space, node.number, node.parent, node.rank, int(node.leaf)) for node in changed),
    )


def drop_nodes(writer: Writer, numbers: Iterable[int]) -> None:
    """Delete nodes and the work queued for them."""
    for number in numbers:
        writer.execute("DELETE FROM node WHERE space = ? AND number = ?", (writer.space, number))
        work.claim(writer, writer.space, SUMMARIES, [number])


def summaries(reader: Reader, numbers: Iterable[int]) -> dict[int, Summary]:
    """Summary nodes by number, as they are stored."""
    rows = reader.rows(
        "SELECT number, text, made_by, taken, afresh, generation FROM node"
        " WHERE space = ? AND number IN (SELECT value FROM json_each(?)) AND leaf = 0",
        (reader.space, json_list(numbers)),
    )
    return {
        int(number): Summary(int(number), text, made_by, int(taken), bool(afresh), int(generation))
        for number, text, made_by, taken, afresh, generation in rows
    }


def save_summary(writer: Writer, summary: Summary, model: EmbeddingModel, vector: Floats) -> bool:
    """Store a summary's new text. False if a text below went while it was written."""
    return bool(
        writer.execute(
            "UPDATE node SET text = ?, made_by = ?, taken = ?, afresh = 0, model = ?, vector = ?"
            " WHERE space = ? AND number = ? AND generation = ?",
            (
                summary.text,
                summary.made_by,
                summary.taken,
                model.id,
                vector.astype("<f4").tobytes(),
                writer.space,
                summary.number,
                summary.generation,
            ),
        )
    )


def embedded_summaries(reader: Reader, model: EmbeddingModel) -> list[tuple[int, str, Floats]]:
    """Number, text and vector of the summaries that have a vector of that model, by number."""
    rows = reader.rows(
        "SELECT number, text, vector FROM node"
        " WHERE space = ? AND model = ? AND vector IS NOT NULL ORDER BY number",
        (reader.space, model.id),
    )
    embedded = list(rows)
    vectors = fragments.to_vectors([row[2] for row in embedded], model.dimension)
    return [
        (int(row[0]), str(row[1]), vector) for row, vector in zip(embedded, vectors, strict=True)
    ]


def texts_of_others(reader: Reader, model: EmbeddingModel) -> list[tuple[int, str]]:
    """Number and text of the summaries whose vector another model made."""
    rows = reader.rows(
        "SELECT number, text FROM node WHERE space = ? AND text IS NOT NULL AND model != ?",
        (reader.space, model.id),
    )
    return [(int(row[0]), str(row[1])) for row in rows]


def save_vector(
    writer: Writer, number: int, text: str, model: EmbeddingModel, vector: Floats
) -> None:
    """Store a summary's vector of another model, unless its text has changed since."""
    writer.execute(
        "UPDATE node SET model = ?, vector = ? WHERE space = ? AND number = ? AND text = ?",
        (model.id, vector.astype("<f4").tobytes(), writer.space, number, text),
    )


def queue_upgrade(writer: Writer, made_by: str) -> None:
    """Queue every summary made by ``made_by`` to be made again from its children."""
    rows = writer.rows(
        "SELECT number FROM node WHERE space = ? AND made_by = ?", (writer.space, made_by)
    )
    numbers = [int(row[0]) for row in rows]
    writer.execute(
        "UPDATE node SET afresh = 1 WHERE space = ? AND made_by = ?", (writer.space, made_by)
    )
    work.enqueue(writer, writer.space, SUMMARIES, numbers)


def erase(writer: Writer, erased: Sequence[int]) -> int:
    """Remove the fragments of entries from their leaves; clear every summary above an empty leaf.

    Called before the fragments are deleted, in the same transaction. From then on no row holds
    anything derived from their texts. Returns how many summaries were cleared. The cleared
    summaries and the empty leaves are queued as work.
    """
    gone = [fragment for entry in erased for fragment, _, _ in fragments.spans(writer, entry)]
    empty, loose = detach(writer, gone)
    work.enqueue(writer, writer.space, LOOSE, sorted(set(loose).difference(gone)))
    above = outdate(writer, empty, "text = NULL, made_by = NULL, vector = NULL, model = NULL, ")
    work.enqueue(writer, writer.space, ERASED, empty)
    return len(above)


def outdate(writer: Writer, leaves: Sequence[int], cleared: str = "") -> list[int]:
    """Queue the summaries above leaves to be made afresh.

    A summary that is written from the old texts now has another generation, and is not stored.
    """
    above = sorted({node for leaf in leaves for node in _line(writer, leaf)})
    for number in above:
        writer.execute(
            f"UPDATE node SET {cleared}afresh = 1, generation = generation + 1"
            " WHERE space = ? AND number = ?",
            (writer.space, number),
        )
    work.enqueue(writer, writer.space, SUMMARIES, above)
    return above


def _line(reader: Reader, number: int) -> list[int]:
    """The summary nodes above a node, by their rows."""
    line: list[int] = []
    while True:
        row = reader.row(
            "SELECT parent FROM node WHERE space = ? AND number = ?", (reader.space, number)
        )
        if row is None or int(row[0]) == ROOT:
            return line
        number = int(row[0])
        line.append(number)
