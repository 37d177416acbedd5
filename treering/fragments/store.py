"""The rows of the fragments view, in portable SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treering.errors import DimensionMismatch
from treering.journal import damage, work
from treering.journal.contract import Reader, Row, Writer
from treering.journal.entries import PAGE
from treering.records import Entry
from treering.relate.contract import Floats
from treering.score.terms import Terms
from treering.split import Span

LONGEST = 1.01
"""No component of a unit vector is longer, rounded or not."""

VIEW = "fragments"
"""Work whose targets are entries that have not been split."""


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model as the database knows it."""

    id: int
    name: str
    dimension: int

    @property
    def view(self) -> str:
        """Work whose targets are fragments that this model has not embedded."""
        return f"embed:{self.id}"


@dataclass(frozen=True, slots=True)
class State:
    """What a space's view looks like from outside: compare to notice a change."""

    space: int
    revision: int
    model: Model | None
    next: Model | None


def state(reader: Reader, name: str) -> State | None:
    """The state of a space, or None if nothing has been added to it."""
    row = reader.row("SELECT id, revision, model, next FROM space WHERE name = ?", (name,))
    if row is None:
        return None
    return State(int(row[0]), int(row[1]), _model(reader, row[2]), _model(reader, row[3]))


def _model(reader: Reader, identity: int | None) -> Model | None:
    if identity is None:
        return None
    row = reader.row("SELECT id, name, dimension FROM model WHERE id = ?", (identity,))
    return None if row is None else Model(int(row[0]), str(row[1]), int(row[2]))


def register_model(writer: Writer, name: str, dimension: int) -> Model:
    """The model of that name, made known on first use. Raises DimensionMismatch."""
    writer.execute(
        "INSERT INTO model (name, dimension) VALUES (?, ?) ON CONFLICT DO NOTHING",
        (name, dimension),
    )
    row = writer.row("SELECT id, dimension FROM model WHERE name = ?", (name,))
    assert row is not None  # just inserted
    if int(row[1]) != dimension:
        raise DimensionMismatch(
            f"model {name!r} gives {dimension} dimensions, this file knows it with {row[1]}; "
            "give the changed model another name and call reembed()"
        )
    return Model(int(row[0]), name, dimension)


def set_models(writer: Writer, space: int, model: Model | None, following: Model | None) -> None:
    """Set which model answers and which one is being built."""
    writer.execute(
        "UPDATE space SET model = ?, next = ?, revision = revision + 1 WHERE id = ?",
        (model.id if model else None, following.id if following else None, space),
    )


def touch(writer: Writer, space: int) -> None:
    """Let every process notice that the view has changed."""
    writer.execute("UPDATE space SET revision = revision + 1 WHERE id = ?", (space,))


def insert(writer: Writer, space: int, entry: int, span: Span, terms: Terms) -> int:
    """Store a fragment; return its id."""
    return writer.insert(
        "INSERT INTO fragment (space, entry, start, stop, terms) VALUES (?, ?, ?, ?, ?)",
        (space, entry, *span, terms.astype("<u4").tobytes()),
    )


def insert_vectors(
    writer: Writer, space: int, model: Model, fragments: Sequence[int], vectors: Floats
) -> None:
    """Store one vector a fragment."""
    data = vectors.astype("<f4", copy=False)
    writer.many(
        "INSERT INTO vector (model, space, fragment, data) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (
            (model.id, space, fragment, row.tobytes())
            for fragment, row in zip(fragments, data, strict=True)
        ),
    )


def texts(reader: Reader, fragments: Iterable[int]) -> list[tuple[int, str, str | None]]:
    """Id, text and speaker of fragments that still exist, in the order given."""
    found = []
    for fragment in fragments:
        row = reader.row(
            "SELECT f.start, f.stop, e.text, e.speaker FROM fragment f"
            " JOIN entry e ON e.seq = f.entry WHERE f.id = ?",
            (fragment,),
        )
        if row is not None:
            found.append((fragment, str(row[2])[row[0] : row[1]], row[3]))
    return found


def rows(reader: Reader, space: int, after: int) -> Iterator[Row]:
    """The fragments above an id with what their entries say of them.

    Columns: fragment id, entry seq, start, source, position, at, speaker, session, kind, terms.
    """
    return reader.rows(
        "SELECT f.id, f.entry, f.start, e.source, e.position, e.at, e.speaker, e.session, e.kind,"
        " f.terms FROM fragment f JOIN entry e ON e.seq = f.entry"
        " WHERE f.space = ? AND f.id > ? ORDER BY f.id",
        (space, after),
    )


def vectors(reader: Reader, space: int, model: Model, after: int) -> Iterator[Row]:
    """Vector id, fragment id and bytes of the vectors above a vector id."""
    return reader.rows(
        "SELECT id, fragment, data FROM vector WHERE space = ? AND model = ? AND id > ?"
        " ORDER BY id",
        (space, model.id, after),
    )


def count(reader: Reader, space: int) -> int:
    """How many fragments a space has."""
    row = reader.row("SELECT count(*) FROM fragment WHERE space = ?", (space,))
    return int(row[0]) if row else 0


def count_vectors(reader: Reader, space: int, model: Model) -> int:
    """How many fragments of a space a model has embedded."""
    row = reader.row("SELECT count(*) FROM vector WHERE space = ? AND model = ?", (space, model.id))
    return int(row[0]) if row else 0


def spans(reader: Reader, entry: int) -> list[tuple[int, int, int]]:
    """Id, start and stop of the fragments of an entry."""
    found = reader.rows(
        "SELECT id, start, stop FROM fragment WHERE entry = ? ORDER BY id", (entry,)
    )
    return [(int(row[0]), int(row[1]), int(row[2])) for row in found]


def entry_of_fragments(reader: Reader, space: int) -> dict[int, int]:
    """The entry of every fragment of a space."""
    found = reader.rows("SELECT id, entry FROM fragment WHERE space = ?", (space,))
    return {int(row[0]): int(row[1]) for row in found}


def gone_since(reader: Reader, space: int, after: int) -> tuple[int, list[int]]:
    """The fragments that went since a mark, and the new mark."""
    found = list(
        reader.rows(
            "SELECT id, fragment FROM gone WHERE space = ? AND id > ? ORDER BY id", (space, after)
        )
    )
    return (int(found[-1][0]) if found else after), [int(row[1]) for row in found]


def last_gone(reader: Reader, space: int) -> int:
    """The mark after everything that has gone so far."""
    row = reader.row("SELECT coalesce(max(id), 0) FROM gone WHERE space = ?", (space,))
    return int(row[0]) if row else 0


def untried(reader: Reader, state: State) -> int:
    """How much work of this view nobody has tried; what has failed waits for ``settle``."""
    views = [VIEW] + [model.view for model in (state.model, state.next) if model]
    marks = ", ".join("?" * len(views))
    row = reader.row(
        f"SELECT count(*) FROM work WHERE space = ? AND attempts = 0 AND view IN ({marks})",
        (state.space, *views),
    )
    return int(row[0]) if row else 0


def unfinished(reader: Reader, state: State) -> int:
    """How many entries are not split, or not embedded by the model that answers."""
    row = reader.row("SELECT count(*) FROM work WHERE space = ? AND view = ?", (state.space, VIEW))
    unsplit = int(row[0]) if row else 0
    if state.model is None:
        row = reader.row(
            "SELECT count(DISTINCT entry) FROM fragment WHERE space = ?", (state.space,)
        )
    else:
        row = reader.row(
            "SELECT count(DISTINCT f.entry) FROM work w JOIN fragment f ON f.id = w.target"
            " WHERE w.space = ? AND w.view = ?",
            (state.space, state.model.view),
        )
    return unsplit + (int(row[0]) if row else 0)


def erase(writer: Writer, space: int, entries: Iterable[int]) -> dict[str, int]:
    """Delete what was derived from entries; return how many rows of each kind went."""
    gone = {"fragments": 0, "vectors": 0}
    # An endpoint may have quoted the text in its error.
    writer.execute("UPDATE work SET error = NULL WHERE space = ? AND error IS NOT NULL", (space,))
    models = [int(row[0]) for row in writer.rows("SELECT id FROM model")]
    for entry in entries:
        for fragment, _, _ in spans(writer, entry):
            gone["vectors"] += writer.execute("DELETE FROM vector WHERE fragment = ?", (fragment,))
            gone["fragments"] += writer.execute("DELETE FROM fragment WHERE id = ?", (fragment,))
            writer.execute("INSERT INTO gone (space, fragment) VALUES (?, ?)", (space, fragment))
            writer.many(
                "DELETE FROM work WHERE space = ? AND view = ? AND target = ?",
                ((space, f"embed:{model}", fragment) for model in models),
            )
        writer.execute(
            "DELETE FROM work WHERE space = ? AND view = ? AND target = ?", (space, VIEW, entry)
        )
    touch(writer, space)
    return gone


def drop_vectors(writer: Writer, space: int, model: Model) -> None:
    """Delete what a model embedded, and what it had still to do."""
    writer.execute("DELETE FROM vector WHERE space = ? AND model = ?", (space, model.id))
    work.drop(writer, space, model.view)


def enqueue_all(writer: Writer, space: int, model: Model) -> None:
    """Queue every fragment that a model has not embedded."""
    writer.execute(
        "INSERT INTO work (space, view, target) SELECT ?, ?, f.id FROM fragment f"
        " WHERE f.space = ? AND NOT EXISTS"
        " (SELECT 1 FROM vector v WHERE v.fragment = f.id AND v.model = ?)"
        " ON CONFLICT DO NOTHING",
        (space, model.view, space, model.id),
    )


def cut(entry: Entry, span: Span | None) -> str:
    """The text of a fragment of an entry. Raises JournalCorrupt if that has no such place."""
    with damage.decoding(f"the fragments of entry {entry.id!r}"):
        if span is None or not 0 <= span[0] < span[1] <= len(entry.text):
            raise ValueError(span)
        return entry.text[slice(*span)]


def to_vectors(data: Sequence[bytes], dimension: int) -> Floats:
    """Stored vectors, shape (len(data), dimension). Raises JournalCorrupt."""
    with damage.decoding("a stored vector"):
        if wrong := {len(one) for one in data} - {4 * dimension}:
            raise ValueError(f"{wrong.pop()} bytes, its model {dimension} dimensions")
        found = np.frombuffer(b"".join(data), dtype="<f4").reshape(-1, dimension)
        # All are unit vectors; what is no number is neither above nor below.
        if len(found) and not (found.min() > -LONGEST and found.max() < LONGEST):
            raise ValueError("not of unit length")
    return found


def locate(reader: Reader, fragments: Sequence[int]) -> dict[int, Span]:
    """Start and stop of fragments by id."""
    found: dict[int, Span] = {}
    for start in range(0, len(fragments), PAGE):
        chunk = fragments[start : start + PAGE]
        marks = ", ".join("?" * len(chunk))
        rows = reader.rows(f"SELECT id, start, stop FROM fragment WHERE id IN ({marks})", chunk)
        with damage.decoding("the search index"):
            found.update((int(row[0]), (int(row[1]), int(row[2]))) for row in rows)
    return found
