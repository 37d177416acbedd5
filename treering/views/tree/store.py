"""The rows of the tree view."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from treering.journal import damage, entries, work
from treering.journal.contract import Reader, Row, Writer
from treering.journal.entries import PAGE
from treering.journal.space import EmbeddingModel
from treering.journal.stored import cut
from treering.views.fragments import store as fragments
from treering.views.fragments.build import embedded_text
from treering.views.tree.family import Vector
from treering.views.tree.shape import ROOT, Node

SUMMARIES: Final = "tree"
"""Work whose targets are summary nodes that do not yet speak of everything below them."""

ERASED: Final = "tree:erased"
"""Work whose targets are leaves without a fragment, to be taken out of the tree."""

DIGEST_BYTES: Final = 16  # two texts share a digest by chance with probability 2^-64 in 2^32 texts


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
    must be made from the children alone. ``generation`` grows when a text below is erased.
    """

    number: int
    text: str | None
    made_by: str | None
    taken: int
    afresh: bool
    generation: int


@dataclass(frozen=True, slots=True)
class NewLeaf:
    """A fragment that is not in the tree: its text as it was embedded, and its vector."""

    fragment: int
    text: str
    vector: Vector

    def digest(self) -> bytes:
        """A digest of the text; exact repetitions have the same."""
        return hashlib.blake2b(self.text.encode(), digest_size=DIGEST_BYTES).digest()


def state(reader: Reader, space: int) -> TreeState | None:
    """The state of a space's tree, or None if it has none yet."""
    row = reader.row("SELECT model, mark, bound, revision FROM tree WHERE space = ?", (space,))
    return None if row is None else TreeState(*(int(value) for value in row))


def save_state(writer: Writer, space: int, tree: TreeState) -> None:
    """Store the state of a space's tree."""
    writer.execute(
        "INSERT INTO tree (space, model, mark, bound, revision) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (space) DO UPDATE SET model = excluded.model, mark = excluded.mark,"
        " bound = excluded.bound, revision = excluded.revision",
        (space, tree.model, tree.mark, tree.bound, tree.revision),
    )


def clear(writer: Writer, space: int) -> None:
    """Drop every node, the leaves of all fragments, and the queued work."""
    for table in ("node", "leaf"):
        writer.execute(f"DELETE FROM {table} WHERE space = ?", (space,))
    for view in (SUMMARIES, ERASED):
        work.drop(writer, space, view)


def fell(writer: Writer, space: int) -> None:
    """Drop the tree, if there is one, so that it grows again from the first text on."""
    tree = state(writer, space)
    clear(writer, space)
    if tree is not None:
        save_state(writer, space, replace(tree, mark=0, revision=tree.revision + 1))


def count_written(reader: Reader, space: int, extractive: str) -> int:
    """How many summaries a language model has made."""
    row = reader.row(
        "SELECT count(*) FROM node WHERE space = ? AND made_by IS NOT NULL AND made_by <> ?",
        (space, extractive),
    )
    return int(row[0]) if row else 0


def nodes(reader: Reader, space: int) -> list[Node]:
    """Every node of a space's tree."""
    rows = reader.rows(
        "SELECT number, parent, rank, leaf FROM node WHERE space = ? ORDER BY rank", (space,)
    )
    return [Node(int(row[0]), int(row[1]), int(row[2]), bool(row[3])) for row in rows]


def put_nodes(writer: Writer, space: int, changed: Iterable[Node]) -> None:
    """Store the places of nodes; their texts stay as they are."""
    writer.many(
        "INSERT INTO node (space, number, parent, rank, leaf) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (space, number) DO UPDATE SET parent = excluded.parent, rank = excluded.rank",
        ((space, node.number, node.parent, node.rank, int(node.leaf)) for node in changed),
    )


def drop_nodes(writer: Writer, space: int, numbers: Iterable[int]) -> None:
    """Delete nodes and the work queued for them."""
    for number in numbers:
        writer.execute("DELETE FROM node WHERE space = ? AND number = ?", (space, number))
        work.claim(writer, space, SUMMARIES, [number])


def leaf_vectors(reader: Reader, space: int, model: EmbeddingModel) -> dict[int, Vector]:
    """The vector of every leaf by its number, from the first of its fragments."""
    leaves = dict(sorted(standing(reader, space), reverse=True))
    vectors = fragments.vectors_of(reader, model, list(leaves))
    return {number: vectors[f] for f, number in leaves.items() if f in vectors}


def summary_vectors(reader: Reader, space: int, model: EmbeddingModel) -> dict[int, Vector]:
    """The vectors of the summaries that have one of that model."""
    rows = reader.rows(
        "SELECT number, vector FROM node WHERE space = ? AND model = ? AND vector IS NOT NULL",
        (space, model.id),
    )
    return _by_number(rows, model.dimension)


def _by_number(rows: Iterable[Row], dimension: int) -> dict[int, Vector]:
    """Vectors by number, from rows of both."""
    numbers, data = [], []
    for number, blob in rows:
        numbers.append(int(number))
        data.append(blob)
    return dict(zip(numbers, fragments.to_vectors(data, dimension), strict=True))


def new_leaves(
    reader: Reader, space: int, model: EmbeddingModel, mark: int, limit: int
) -> tuple[int, list[NewLeaf]]:
    """The new mark, and the fragments embedded since ``mark`` that have no leaf; none of code."""
    mark, vectors = fragments.embedded_after(reader, space, model, mark, limit)
    rows: dict[int, Row] = {}
    for chunk in _pages(vectors):
        said = reader.rows(
            "SELECT f.id, b.text, f.start, f.stop, b.speaker, e.kind, l.number"
            # LEFT: what is missing is an error, not skipped, or it would never be there.
            " FROM fragment f LEFT JOIN entry e ON e.seq = f.entry"
            " LEFT JOIN body b ON b.id = e.body LEFT JOIN leaf l ON l.fragment = f.id"
            f" WHERE f.id IN ({_marks(chunk)})",
            chunk,
        )
        rows.update((int(row[0]), row[1:]) for row in said)
    with damage.decoding("the text of a fragment"):
        leaves = ((fragment, rows[fragment], vector) for fragment, vector in vectors.items())
        return mark, [
            NewLeaf(fragment, _embedded(text, start, stop, speaker), vector)
            for fragment, (text, start, stop, speaker, kind, number), vector in leaves
            if number is None and kind != "code"
        ]


def _embedded(text: object, start: int, stop: int, speaker: str | None) -> str:
    return embedded_text(damage.checked(str, text)[start:stop], speaker)


def leaf_by_digest(reader: Reader, space: int, digest: bytes) -> int | None:
    """The leaf that holds exactly this text."""
    row = reader.row(
        "SELECT number FROM leaf WHERE space = ? AND digest = ? LIMIT 1", (space, digest)
    )
    return None if row is None else int(row[0])


def put_leaf(writer: Writer, space: int, number: int, leaf: NewLeaf, digest: bytes) -> None:
    """Store the leaf of a fragment."""
    writer.execute(
        "INSERT INTO leaf (fragment, space, number, digest) VALUES (?, ?, ?, ?)",
        (leaf.fragment, space, number, digest),
    )


def standing(reader: Reader, space: int) -> Iterator[tuple[int, int]]:
    """Every fragment and its leaf."""
    rows = reader.rows("SELECT fragment, number FROM leaf WHERE space = ?", (space,))
    return ((int(row[0]), int(row[1])) for row in rows)


def fragments_of(reader: Reader, space: int, number: int) -> list[int]:
    """The fragments of a leaf, oldest first; several if the text was repeated."""
    rows = reader.rows(
        "SELECT fragment FROM leaf WHERE space = ? AND number = ? ORDER BY fragment",
        (space, number),
    )
    return [int(row[0]) for row in rows]


@dataclass(frozen=True, slots=True)
class LeafText:
    """A leaf's text, its origin, and how many more times exactly this text was added."""

    text: str
    entry_id: str
    source: str
    repeats: int


def leaf_texts(reader: Reader, space: int, numbers: Iterable[int]) -> dict[int, LeafText]:
    """The texts of leaves by number. A leaf whose fragments were erased is left out."""
    texts = {}
    for chunk in _pages(numbers):
        rows = reader.rows(
            "SELECT l.number, l.more, e.seq, f.start, f.stop"
            " FROM (SELECT number, MIN(fragment) AS first, COUNT(*) - 1 AS more FROM leaf"
            f" WHERE space = ? AND number IN ({_marks(chunk)}) GROUP BY number) l"
            " JOIN fragment f ON f.id = l.first"
            " JOIN entry e ON e.seq = f.entry",
            [space, *chunk],
        )
        standing = list(rows)
        stored = entries.there(reader, [seq for _, _, seq, _, _ in standing])
        for number, more, seq, start, stop in standing:
            entry = stored[seq]
            text = embedded_text(cut(entry, (start, stop)), entry.speaker)
            texts[int(number)] = LeafText(text, entry.id, entry.source, int(more))
    return texts


def leaves_of_entry(reader: Reader, space: int, seq: int) -> list[int]:
    """The leaves of an entry's fragments, in the order of the entry."""
    rows = reader.rows(
        "SELECT l.number FROM leaf l JOIN fragment f ON f.id = l.fragment"
        " WHERE l.space = ? AND f.entry = ? ORDER BY f.start",
        (space, seq),
    )
    return list(dict.fromkeys(int(row[0]) for row in rows))


def levels(reader: Reader, space: int, standing: Sequence[int]) -> dict[int, int]:
    """The depth of each fragment's leaf, 1 below the root. Fragments without one are left out."""
    depths: dict[int, int] = {}
    for chunk in _pages(standing):
        rows = reader.rows(
            "WITH RECURSIVE line (fragment, number, depth) AS ("
            f" SELECT fragment, number, 1 FROM leaf WHERE fragment IN ({_marks(chunk)})"
            " UNION ALL SELECT line.fragment, node.parent, line.depth + 1"
            " FROM line JOIN node ON node.space = ? AND node.number = line.number"
            " WHERE node.parent != ?)"
            " SELECT fragment, MAX(depth) FROM line GROUP BY fragment",
            [*chunk, space, ROOT],
        )
        depths.update((int(row[0]), int(row[1])) for row in rows)
    return depths


def summaries(reader: Reader, space: int, numbers: Iterable[int]) -> dict[int, Summary]:
    """Summary nodes by number, as they are stored."""
    stored = {}
    for chunk in _pages(numbers):
        rows = reader.rows(
            "SELECT number, text, made_by, taken, afresh, generation FROM node"
            f" WHERE space = ? AND number IN ({_marks(chunk)}) AND leaf = 0",
            [space, *chunk],
        )
        for number, text, made_by, taken, afresh, generation in rows:
            stored[int(number)] = Summary(
                int(number), text, made_by, int(taken), bool(afresh), int(generation)
            )
    return stored


def save_summary(
    writer: Writer, space: int, summary: Summary, model: EmbeddingModel, vector: Vector
) -> bool:
    """Store a summary's new text. False if a text below was erased while it was written."""
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
                space,
                summary.number,
                summary.generation,
            ),
        )
    )


def embedded_summaries(reader: Reader, space: int, width: int) -> list[tuple[int, str, Vector]]:
    """Number, text and vector of the summaries that have a vector of that width, by number."""
    rows = reader.rows(
        "SELECT n.number, n.text, n.vector FROM node n JOIN model m ON m.id = n.model"
        " JOIN space s ON s.id = n.space"
        " WHERE n.space = ? AND n.vector IS NOT NULL AND n.model = s.model AND m.dimension = ?"
        " ORDER BY n.number",
        (space, width),
    )
    embedded = list(rows)
    vectors = fragments.to_vectors([row[2] for row in embedded], width)
    return [
        (int(row[0]), str(row[1]), vector) for row, vector in zip(embedded, vectors, strict=True)
    ]


def texts_of_others(reader: Reader, space: int, model: EmbeddingModel) -> list[tuple[int, str]]:
    """Number and text of the summaries whose vector another model made."""
    rows = reader.rows(
        "SELECT number, text FROM node WHERE space = ? AND text IS NOT NULL AND model != ?",
        (space, model.id),
    )
    return [(int(row[0]), str(row[1])) for row in rows]


def save_vector(
    writer: Writer, space: int, number: int, text: str, model: EmbeddingModel, vector: Vector
) -> None:
    """Store a summary's vector of another model, unless its text has changed since."""
    writer.execute(
        "UPDATE node SET model = ?, vector = ? WHERE space = ? AND number = ? AND text = ?",
        (model.id, vector.astype("<f4").tobytes(), space, number, text),
    )


def queue_upgrade(writer: Writer, space: int, made_by: str) -> None:
    """Queue every summary made by ``made_by`` to be made again from its children."""
    rows = writer.rows("SELECT number FROM node WHERE space = ? AND made_by = ?", (space, made_by))
    numbers = [int(row[0]) for row in rows]
    writer.execute("UPDATE node SET afresh = 1 WHERE space = ? AND made_by = ?", (space, made_by))
    work.enqueue(writer, space, SUMMARIES, numbers)


def erase(writer: Writer, space: int, erased: Sequence[int]) -> int:
    """Remove the fragments of entries from their leaves; clear every summary above an empty leaf.

    Called before the fragments are deleted, in the same transaction. From then on no row holds
    anything derived from their texts. Returns how many summaries were cleared. The cleared
    summaries and the empty leaves are queued as work.
    """
    numbers = set()
    for entry in erased:
        for fragment, _, _ in fragments.spans(writer, entry):
            row = writer.row("SELECT number FROM leaf WHERE fragment = ?", (fragment,))
            if row is not None:
                numbers.add(int(row[0]))
                writer.execute("DELETE FROM leaf WHERE fragment = ?", (fragment,))
    empty = sorted(number for number in numbers if not fragments_of(writer, space, number))
    above = sorted({node for leaf in empty for node in _line(writer, space, leaf)})
    # A new generation, so that a summary being written from the erased texts now is not stored.
    for number in above:
        writer.execute(
            "UPDATE node SET text = NULL, made_by = NULL, vector = NULL, model = NULL, afresh = 1,"
            " generation = generation + 1 WHERE space = ? AND number = ?",
            (space, number),
        )
    work.enqueue(writer, space, SUMMARIES, above)
    work.enqueue(writer, space, ERASED, empty)
    return len(above)


def _line(reader: Reader, space: int, number: int) -> list[int]:
    """The summary nodes above a node, by their rows."""
    line: list[int] = []
    while True:
        row = reader.row("SELECT parent FROM node WHERE space = ? AND number = ?", (space, number))
        if row is None or int(row[0]) == ROOT:
            return line
        number = int(row[0])
        line.append(number)


def _pages(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Numbers in chunks that one SQL statement can take."""
    waiting = iter(numbers)
    while chunk := list(islice(waiting, PAGE)):
        yield chunk


def _marks(chunk: Sequence[int]) -> str:
    return ", ".join("?" * len(chunk))
