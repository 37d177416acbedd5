"""The rows of the fragments view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from treering.arrays import Codes, Floats
from treering.journal import damage, work
from treering.journal.contract import Reader, Row
from treering.journal.entries import PAGE, by_seq
from treering.journal.space import EmbeddingModel, SpaceReader, SpaceState, SpaceWriter
from treering.records import KINDS, Entry
from treering.search.lexical import counted
from treering.search.names import Names
from treering.search.terms import Terms
from treering.split import Span
from treering.views.fragments.segment import EmbeddedRows, Segment

UNIT_TOLERANCE = 1e-3
"""How far the length of a stored vector may be from 1: float32 rounds far less."""

LONGEST = 1.01
"""No component of a unit vector is larger, even after rounding."""

LOAD_ROWS = 2_048  # rows turned into columns at a time: the Python objects stay few

_KIND_CODES = {name: code for code, name in enumerate(KINDS)}


def insert(writer: SpaceWriter, entry: int, span: Span, terms: Terms) -> int:
    """Store a fragment; return its id."""
    return writer.insert(
        "INSERT INTO fragment (space, entry, start, stop, terms) VALUES (?, ?, ?, ?, ?)",
        (writer.id, entry, *span, _put_terms(writer, terms)),
    )


def set_terms(writer: SpaceWriter, fragment: int, terms: Terms) -> None:
    """Give a fragment other terms."""
    row = writer.row(
        "SELECT t.data FROM fragment f JOIN term_list t ON t.id = f.terms WHERE f.id = ?",
        (fragment,),
    )
    if row is not None and row[0] == _packed(terms):
        return
    _blank_terms(writer, [fragment])
    writer.execute(
        "UPDATE fragment SET terms = ? WHERE id = ?", (_put_terms(writer, terms), fragment)
    )


def _put_terms(writer: SpaceWriter, terms: Terms) -> int:
    return writer.insert("INSERT INTO term_list (data) VALUES (?)", (_packed(terms),))


def _blank_terms(writer: SpaceWriter, fragments: Sequence[int]) -> None:
    rows = (writer.row("SELECT terms FROM fragment WHERE id = ?", (id_,)) for id_ in fragments)
    writer.blank("term_list", ("data",), [int(row[0]) for row in rows if row is not None])


def _packed(terms: Terms) -> bytes:
    return terms.astype("<u4").tobytes()


def insert_vectors(
    writer: SpaceWriter, model: EmbeddingModel, fragments: Sequence[int], vectors: Floats
) -> None:
    """Store one vector per fragment."""
    data = vectors.astype("<f4", copy=False)
    writer.many(
        "INSERT INTO vector (model, space, fragment) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        ((model.id, writer.id, fragment) for fragment in fragments),
    )
    writer.many(
        "INSERT INTO vector_data (id, data) SELECT id, ? FROM vector"
        " WHERE fragment = ? AND model = ? ON CONFLICT DO NOTHING",
        (
            (row.tobytes(), fragment, model.id)
            for fragment, row in zip(fragments, data, strict=True)
        ),
    )


def texts(reader: Reader, fragments: Iterable[int]) -> list[tuple[int, str, str | None]]:
    """Id, text and speaker of the fragments that still exist, in the given order."""
    existing = []
    for fragment in fragments:
        row = reader.row(
            "SELECT f.start, f.stop, b.text, b.speaker FROM fragment f"
            " JOIN entry e ON e.seq = f.entry JOIN body b ON b.id = e.body WHERE f.id = ?",
            (fragment,),
        )
        if row is not None:
            existing.append((fragment, str(row[2])[row[0] : row[1]], row[3]))
    return existing


def segments(reader: Reader, space: int, after: int, names: Names) -> Iterator[Segment]:
    """The fragments with an id above ``after``. New speakers and sessions are added to ``names``.

    Raises JournalCorrupt.
    """
    rows = reader.rows(
        "SELECT f.id, f.entry, f.start, e.source, e.position, e.at, b.speaker, b.session, e.kind,"
        " t.data FROM fragment f JOIN entry e ON e.seq = f.entry"
        " LEFT JOIN body b ON b.id = e.body LEFT JOIN term_list t ON t.id = f.terms"
        " WHERE f.space = ? AND f.id > ? ORDER BY f.id",
        (space, after),
    )
    while chunk := list(islice(rows, LOAD_ROWS)):
        # What is too large for a column raises too, where numpy would only warn.
        with damage.decoding("the search index"), np.errstate(invalid="raise"):
            segment = _segment(chunk, names)
        yield segment


def _segment(rows: Sequence[Row], names: Names) -> Segment:
    fragment, entry, start, source, position, at, speaker, session, kind, terms = zip(
        *rows, strict=True
    )
    for name in {*speaker, *session} - {None}:
        damage.checked(str, name)
    sizes = np.array([len(blob) // 8 for blob in terms], dtype=np.int64)
    flat = np.frombuffer(b"".join(terms), dtype="<u4").reshape(-1, 2)
    postings, lengths = counted(flat, sizes)
    return Segment(
        fragment=np.array(fragment, dtype=np.int64),
        entry=np.array(entry, dtype=np.int64),
        start=np.array(start, dtype=np.int32),
        source=np.array(source, dtype=np.int32),
        position=np.array(position, dtype=np.int32),
        at=np.array([np.nan if stamp is None else stamp / 1e6 for stamp in at]),
        speaker=np.array([names.speaker(name) for name in speaker], dtype=np.int32),
        session=np.array(
            [names.session(of, name) for of, name in zip(source, session, strict=True)],
            dtype=np.int32,
        ),
        kind=np.array([_KIND_CODES[name] for name in kind], dtype=np.int8),
        lengths=lengths,
        postings=postings,
    )


def vectors_since(reader: Reader, state: SpaceState, after: int) -> Iterator[EmbeddedRows]:
    """What the space's model has embedded since the mark ``after``. Raises JournalCorrupt."""
    if state.model is None:
        return
    rows = reader.rows(
        "SELECT v.id, v.fragment, d.data FROM vector v LEFT JOIN vector_data d ON d.id = v.id"
        " WHERE v.space = ? AND v.model = ? AND v.id > ? ORDER BY v.id",
        (state.id, state.model.id, after),
    )
    while chunk := list(islice(rows, LOAD_ROWS)):
        identities, fragments, data = zip(*chunk, strict=True)
        vectors = to_vectors(data, state.model.dimension)
        yield EmbeddedRows(int(identities[-1]), np.array(fragments, dtype=np.int64), vectors)


def exact(reader: Reader, model: EmbeddingModel, fragments: Codes) -> Floats:
    """The vectors of fragments, shape (len(fragments), d); zeros for one that has none."""
    vectors = np.zeros((len(fragments), model.dimension), dtype=np.float32)
    place = {fragment: at for at, fragment in enumerate(fragments.tolist())}
    ids = list(place)
    for start in range(0, len(ids), PAGE):
        chunk = ids[start : start + PAGE]
        marks = ", ".join("?" * len(chunk))
        rows = list(
            reader.rows(
                "SELECT v.fragment, d.data FROM vector v LEFT JOIN vector_data d ON d.id = v.id"
                f" WHERE v.model = ? AND v.fragment IN ({marks})",
                (model.id, *chunk),
            )
        )
        places = [place[int(row[0])] for row in rows]
        vectors[places] = to_vectors([row[1] for row in rows], model.dimension)
    return vectors


def count(reader: Reader, space: int) -> int:
    """How many fragments a space has."""
    row = reader.row("SELECT count(*) FROM fragment WHERE space = ?", (space,))
    return int(row[0]) if row else 0


def count_vectors(reader: Reader, space: int, model: EmbeddingModel) -> int:
    """How many fragments of a space a model has embedded."""
    row = reader.row("SELECT count(*) FROM vector WHERE space = ? AND model = ?", (space, model.id))
    return int(row[0]) if row else 0


def spans(reader: Reader, entry: int) -> list[tuple[int, int, int]]:
    """Id, start and stop of the fragments of an entry."""
    rows = reader.rows("SELECT id, start, stop FROM fragment WHERE entry = ? ORDER BY id", (entry,))
    return [(int(row[0]), int(row[1]), int(row[2])) for row in rows]


def entry_of_fragments(reader: Reader, space: int) -> dict[int, int]:
    """The entry of every fragment of a space."""
    rows = reader.rows("SELECT id, entry FROM fragment WHERE space = ?", (space,))
    return {int(row[0]): int(row[1]) for row in rows}


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


def untried(reader: SpaceReader) -> int:
    """How many fragments were never tried to be embedded; failed ones wait for ``settle``."""
    kinds = [model.work for model in reader.state.models]
    row = reader.row(
        "SELECT count(*) FROM work WHERE space = ? AND attempts = 0"
        f" AND view IN ({', '.join('?' * len(kinds))})",
        (reader.id, *kinds),
    )
    return int(row[0]) if row else 0


def unembedded(reader: SpaceReader) -> bool:
    """Whether a model of the space has fragments left to embed."""
    if not reader.state.models:
        row = reader.row("SELECT 1 FROM fragment WHERE space = ? LIMIT 1", (reader.id,))
        return row is not None
    return any(work.queued(reader, reader.id, model.work, 1) for model in reader.state.models)


def unfinished(reader: SpaceReader) -> int:
    """How many entries have fragments that the current model has not embedded."""
    if reader.model is None:
        row = reader.row("SELECT count(DISTINCT entry) FROM fragment WHERE space = ?", (reader.id,))
    else:
        row = reader.row(
            "SELECT count(DISTINCT f.entry) FROM work w JOIN fragment f ON f.id = w.target"
            " WHERE w.space = ? AND w.view = ?",
            (reader.id, reader.model.work),
        )
    return int(row[0]) if row else 0


def erase(writer: SpaceWriter, entries: Iterable[int]) -> dict[str, int]:
    """Delete the fragments of entries; return how many rows of each kind were deleted."""
    gone = {"fragments": 0, "vectors": 0}
    space = writer.id
    work.forget_errors(writer, space)  # an endpoint may have quoted the text in one
    models = [int(row[0]) for row in writer.rows("SELECT id FROM model")]
    for entry in entries:
        for fragment, _, _ in spans(writer, entry):
            gone["vectors"] += _drop_vectors(writer, "fragment = ?", (fragment,))
            _blank_terms(writer, [fragment])
            gone["fragments"] += writer.execute("DELETE FROM fragment WHERE id = ?", (fragment,))
            writer.execute("INSERT INTO gone (space, fragment) VALUES (?, ?)", (space, fragment))
            writer.many(
                "DELETE FROM work WHERE space = ? AND view = ? AND target = ?",
                ((space, f"embed:{model}", fragment) for model in models),
            )
    writer.touch()
    return gone


def drop_vectors(writer: SpaceWriter, model: EmbeddingModel) -> None:
    """Delete the vectors of a model, and the work queued for it."""
    _drop_vectors(writer, "space = ? AND model = ?", (writer.id, model.id))
    work.drop(writer, writer.id, model.work)


def _drop_vectors(writer: SpaceWriter, where: str, params: Sequence[int]) -> int:
    """Overwrite and delete vectors; return how many."""
    ids = [int(row[0]) for row in writer.rows(f"SELECT id FROM vector WHERE {where}", params)]
    writer.blank("vector_data", ("data",), ids)
    return writer.execute(f"DELETE FROM vector WHERE {where}", params)


def enqueue_all(writer: SpaceWriter, model: EmbeddingModel) -> None:
    """Queue every fragment that a model has not embedded."""
    writer.execute(
        "INSERT INTO work (space, view, target) SELECT ?, ?, f.id FROM fragment f"
        " WHERE f.space = ? AND NOT EXISTS"
        " (SELECT 1 FROM vector v WHERE v.fragment = f.id AND v.model = ?)"
        " ON CONFLICT DO NOTHING",
        (writer.id, model.work, writer.id, model.id),
    )


def drop_unsound(writer: SpaceWriter, fragments: Sequence[int]) -> None:
    """Delete the vectors of fragments that have a wrong size or not unit length."""
    for model in writer.state.models:
        for fragment in fragments:
            row = writer.row(
                "SELECT d.data FROM vector v LEFT JOIN vector_data d ON d.id = v.id"
                " WHERE v.fragment = ? AND v.model = ?",
                (fragment, model.id),
            )
            if row is not None and not _is_sound(row[0], model.dimension):
                _drop_vectors(writer, "fragment = ? AND model = ?", (fragment, model.id))


def _is_sound(data: bytes | None, dimension: int) -> bool:
    if data is None or len(data) != 4 * dimension:
        return False
    length = float(np.linalg.norm(np.frombuffer(data, dtype="<f4")))
    return abs(length - 1) < UNIT_TOLERANCE or length == 0  # of a text that has no direction


def sample_of_entries(reader: SpaceReader, size: int) -> dict[int, Entry]:
    """Some entries that have fragments, spread over the space, by sequence number."""
    row = reader.row("SELECT min(id), max(id) FROM fragment WHERE space = ?", (reader.id,))
    if row is None or row[0] is None:
        return {}
    places = np.linspace(int(row[0]), int(row[1]), size).astype(np.int64).tolist()
    chosen = (
        reader.row(
            "SELECT entry FROM fragment WHERE space = ? AND id >= ? ORDER BY id LIMIT 1",
            (reader.id, place),
        )
        for place in places
    )
    return by_seq(reader, [int(entry_row[0]) for entry_row in chosen if entry_row is not None])


def is_as_stored(reader: SpaceReader, entry: int, pieces: Sequence[tuple[Span, Terms]]) -> bool:
    """Whether an entry is stored as these fragments."""
    rows = reader.rows(
        "SELECT f.start, f.stop, t.data FROM fragment f JOIN term_list t ON t.id = f.terms"
        " WHERE f.entry = ? ORDER BY f.id",
        (entry,),
    )
    stored = [(int(row[0]), int(row[1]), bytes(row[2])) for row in rows]
    return stored == [(*span, _packed(terms)) for span, terms in pieces]


def to_vectors(data: Sequence[bytes], dimension: int) -> Floats:
    """Stored vectors, shape (len(data), dimension). Raises JournalCorrupt."""
    with damage.decoding("a stored vector"):
        if wrong := {len(blob) for blob in data} - {4 * dimension}:
            raise ValueError(f"{wrong.pop()} bytes, its model {dimension} dimensions")
        vectors = np.frombuffer(b"".join(data), dtype="<f4").reshape(-1, dimension)
        # All are unit vectors. NaN is neither above nor below a bound, so it fails as well.
        if len(vectors) and not (vectors.min() > -LONGEST and vectors.max() < LONGEST):
            raise ValueError("not of unit length")
    return vectors


def locate(reader: Reader, fragments: Sequence[int]) -> dict[int, Span]:
    """Start and stop of fragments by id."""
    span_of: dict[int, Span] = {}
    for start in range(0, len(fragments), PAGE):
        chunk = fragments[start : start + PAGE]
        marks = ", ".join("?" * len(chunk))
        rows = reader.rows(f"SELECT id, start, stop FROM fragment WHERE id IN ({marks})", chunk)
        with damage.decoding("the search index"):
            span_of.update((int(row[0]), (int(row[1]), int(row[2]))) for row in rows)
    return span_of
