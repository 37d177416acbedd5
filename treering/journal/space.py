"""An open space of a database: its transactions know which space they are of.

A space is named from outside and numbered inside. It has no row before something is written to it;
until then it reads as one that holds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from treering.errors import DimensionMismatch, JournalConflict, UnknownSpace
from treering.hints import Hint
from treering.journal.contract import Database, Reader, Row, Writer
from treering.text import composed, nearest_told

T = TypeVar("T")

NOWHERE = 0
"""The number of a space without a row: no row of any table has it."""

UNNAMED = "\n"
"""Begins the name of a removed space; names from users have no line break."""

WITHHELD = "\t"
"""Begins the name of the hidden space of withheld entries; names from users have no tab."""

ATTEMPTS = 4
"""Of a transaction that the server ends in favour of another one."""

EMBEDDING = "embed:"
"""Begins the names of the work of embedding; the number of a model comes after it."""


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedding model as the database knows it."""

    id: int
    name: str
    dimension: int

    @property
    def work(self) -> str:
        """Work whose targets are fragments that this model has not embedded."""
        return f"{EMBEDDING}{self.id}"


@dataclass(frozen=True, slots=True)
class SpaceState:
    """A space as of one transaction: compare to notice a change.

    ``revision`` grows whenever fragments or models change, ``edition`` when fragments that were
    there already do. ``model`` answers searches; ``next`` is the one that is being built beside
    it, if any. ``has_assistant`` says whether it has a message of an assistant, and
    ``has_corrections`` whether a hidden space may hold withheld entries and the history, and
    ``has_copies`` whether an entry was ever copied between spaces of the database.
    """

    id: int
    revision: int = 0
    edition: int = 0
    model: EmbeddingModel | None = None
    next: EmbeddingModel | None = None
    has_assistant: bool = False
    has_corrections: bool = False
    has_copies: bool = field(default=False, compare=False)
    settings: str = field(default="{}", compare=False, repr=False)
    """JSON of ``ledger.settings``."""
    views: str = field(default="{}", compare=False, repr=False)
    """JSON of the states of views."""
    secret: bytes = field(default=b"", compare=False, repr=False)
    """The random key of the database: digests of ids that were erased are keyed by it."""

    @property
    def models(self) -> tuple[EmbeddingModel, ...]:
        """The models whose vectors the space keeps; none before one has embedded something."""
        return tuple(model for model in (self.model, self.next) if model is not None)


class SpaceReader:
    """A read transaction of one space; a ``Reader`` of its database."""

    def __init__(self, reader: Reader, space: Space) -> None:
        self._reader = reader
        self._open_space = space
        self._read_state: SpaceState | None = None
        self.name = space.name
        self.dialect = reader.dialect
        self.rows, self.row, self.tables = reader.rows, reader.row, reader.tables
        self.part, self.extent = reader.part, reader.extent
        self.as_of: int | None = None
        """Marks ignore everything that became known later, in microseconds since the epoch; None
        for now."""

    @property
    def id(self) -> int:
        """The number of the space; ``NOWHERE`` while nothing has been written to it."""
        return self.state.id

    @property
    def space(self) -> int:
        """See ``Reader``: the number of a space that is there. To ask for it makes none."""
        return self.state.id

    @property
    def is_there(self) -> bool:
        """Whether the space has a row. Ask before writing results of slow work: the space may have
        been removed meanwhile, and writing would create it again."""
        return self.state.id != NOWHERE

    @property
    def is_keyed(self) -> bool:
        """Whether a key of a server opens the space, which may lack a row."""
        return self.row("SELECT 1 FROM serve_key WHERE space = ?", (self.name,)) is not None

    @property
    def state(self) -> SpaceState:
        """Revision and models, as of this transaction."""
        if self._read_state is None:
            self._read_state = self._open_space.latest = read_state(self._reader, self.name)
        return self._read_state

    @property
    def model(self) -> EmbeddingModel | None:
        """The embedding model that answers; None before one has embedded something."""
        return self.state.model

    def ensure_there(self) -> None:
        """Raise UnknownName if the file has spaces, but not this one.

        "Nothing found" would hide a typing error. A file without any space is new, and the space of
        a key was named on purpose.
        """
        if self.is_there or self._open_space.is_granted:
            return
        there = names(self)
        if not there or self.is_keyed:
            return
        meant = nearest_told(self.name, there)
        raise UnknownSpace(f"there is no space {self.name!r}{meant}")


class SpaceWriter(SpaceReader):
    """The write transaction of one space; a ``Writer`` of its database."""

    def __init__(self, writer: Writer, space: Space) -> None:
        super().__init__(writer, space)
        self._writer = writer
        self.execute, self.many = writer.execute, writer.many
        self.insert_many, self.allot = writer.insert_many, writer.allot
        self.patch, self.blank = writer.patch, writer.blank
        self.vector_numbers, self.share = writer.vector_numbers, writer.share
        self.defer_references = writer.defer_references
        self.quota = space.database.quota

    @property
    def id(self) -> int:
        """The number of the space; asking for it creates the space."""
        if self.state.id == NOWHERE:
            self._writer.execute(
                "INSERT INTO space (name) VALUES (?) ON CONFLICT DO NOTHING", (self.name,)
            )
            # Numbers are not given twice. So no process takes rows that it has in memory of a
            # removed space for those of a later one of the same name.
            self._writer.execute(
                "UPDATE space SET revision = id << 32, edition = id << 32"
                " WHERE name = ? AND revision = 0 AND edition = 0",
                (self.name,),
            )
            self._read_state = None
        return self.state.id

    def touch(self) -> None:
        """Let every process notice that fragments have changed."""
        self._writer.execute("UPDATE space SET revision = revision + 1 WHERE id = ?", (self.id,))
        self._read_state = replace(self.state, revision=self.state.revision + 1)

    def renew(self) -> None:
        """Let every process read all fragments again: rows that were there have changed."""
        self._writer.execute(
            "UPDATE space SET revision = revision + 1, edition = edition + 1 WHERE id = ?",
            (self.id,),
        )
        self._read_state = None

    def set_settings(self, settings: str) -> None:
        """Keep the settings of the space, as JSON."""
        self._writer.execute("UPDATE space SET settings = ? WHERE id = ?", (settings, self.id))
        self._read_state = replace(self.state, settings=settings)

    def set_views(self, views: str) -> None:
        """Keep how far the views have read, as JSON."""
        self._writer.execute("UPDATE space SET views = ? WHERE id = ?", (views, self.id))
        self._read_state = replace(self.state, views=views)

    def set_models(
        self, answering: EmbeddingModel | None, following: EmbeddingModel | None
    ) -> None:
        """Set which model answers and which one is being built."""
        identities = [model.id if model else None for model in (answering, following)]
        self._writer.execute(
            "UPDATE space SET model = ?, next = ?, revision = revision + 1 WHERE id = ?",
            (*identities, self.id),
        )
        self._read_state = None


class Space:
    """An open space. Safe to use from many threads."""

    def __init__(self, database: Database, name: str) -> None:
        self.database = database
        self.name = composed(name)
        self.is_granted = False
        """Whether it was named on purpose, by ``create=True`` or to a caller of a server; then it
        may lack a row."""
        self.latest: SpaceState | None = None
        """The state that a transaction saw last; it may have changed since."""

    @property
    def withheld(self) -> Space:
        """The hidden space of entries that are withheld from this one; no view reads it."""
        return Space(self.database, f"{WITHHELD}{self.name}")

    @contextmanager
    def read(self) -> Iterator[SpaceReader]:
        """A read transaction: everything seen inside is one state. A nested one joins the outer."""
        with self.database.read(self.name) as reader:
            yield SpaceReader(reader, self)

    @contextmanager
    def write(self) -> Iterator[SpaceWriter]:
        """A write transaction, durable once the block has ended without an exception.

        Raises JournalBusy, JournalFull, JournalCorrupt: see ``Database.write``.
        """
        with self.database.write(self.name) as writer:
            yield SpaceWriter(writer, self)

    def change(self, work: Callable[[SpaceWriter], T], *, derived: bool = False) -> T:
        """Return the result of ``work`` in a write transaction; see ``write`` of ``Database``.

        If the server ends the transaction in favour of another one, it is run again, a few times.
        So ``work`` must change nothing but the database. Raises as ``write`` does.
        """

        def attempt() -> T:
            with self.database.write(self.name, derived=derived) as writer:
                return work(SpaceWriter(writer, self))

        return retry(attempt)

    def task(self, kind: str, wait_s: float = 0.0) -> AbstractContextManager[bool]:
        """The right to do work of a kind for this space; see ``Database.task``."""
        return self.database.task(f"{self.name}\n{kind}", wait_s)

    def await_task(self, kind: str, wait_s: float) -> bool:
        """Wait until no process does work of a kind for this space; False after ``wait_s``."""
        if wait_s <= 0:
            return False
        with self.task(kind, wait_s) as is_ours:
            return is_ours


def retry(work: Callable[[], T]) -> T:
    """Return the result of ``work``, a transaction, which is begun again if the server ends it.

    Raise what it raises. Of an attempt that the server ended nothing was stored, so nothing is
    done twice; one whose connection was lost while it ended may be stored, and is not repeated.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(JournalConflict):
            return work()
    return work()


def begin(space: Space, create: bool | None) -> None:
    """Make a space if ``create`` says so; if it says no, raise UnknownName unless it is there."""
    with space.read() as reader:
        there = reader.id != NOWHERE
        if create:  # holds after a removal of the space, too
            space.is_granted = True
        if not there and create is False:
            reader.ensure_there()
            raise UnknownSpace(f"there is no space {space.name!r}")
    if not there and create:
        with space.write() as writer:
            _ = writer.id  # a space gets its row when its number is first asked for


def names(reader: Reader) -> list[str]:
    """The names of all spaces of the database."""
    rows = reader.rows(
        "SELECT name FROM space WHERE instr(name, ?) <> 1 AND instr(name, ?) <> 1 ORDER BY name",
        (UNNAMED, WITHHELD),
    )
    return [str(row[0]) for row in rows]


_HAS_COPIES = "coalesce((SELECT value FROM storage WHERE name = 'copies'), 0)"


def read_state(reader: Reader, name: str) -> SpaceState:
    """The state of the space of that name; that of an empty one without a row."""
    row = reader.row(
        "SELECT s.id, s.revision, s.edition, m.id, m.name, m.dimension, n.id, n.name, n.dimension,"
        f" s.assistant, s.corrected, {_HAS_COPIES}, s.settings, s.views, (SELECT key FROM secret)"
        " FROM space s LEFT JOIN model m ON m.id = s.model LEFT JOIN model n ON n.id = s.next"
        " WHERE s.name = ?",
        (name,),
    )
    if row is None:
        copies, secret = reader.row(f"SELECT {_HAS_COPIES}, key FROM secret") or (0, b"")
        return SpaceState(NOWHERE, has_copies=bool(copies), secret=secret)
    identity, revision, edition = (int(number) for number in row[:3])
    models = (_model(row[3:6]), _model(row[6:9]))
    return SpaceState(
        *(identity, revision, edition, *models),
        has_assistant=bool(row[9]),
        has_corrections=bool(row[10]),
        has_copies=bool(row[11]),
        settings=row[12],
        views=row[13],
        secret=row[14],
    )


def _model(columns: Row) -> EmbeddingModel | None:
    identity, name, dimension = columns
    return None if identity is None else EmbeddingModel(int(identity), str(name), int(dimension))


def all_models(reader: Reader) -> list[EmbeddingModel]:
    """The models of all spaces."""
    rows = reader.rows("SELECT id, name, dimension FROM model ORDER BY id")
    return [EmbeddingModel(int(row[0]), str(row[1]), int(row[2])) for row in rows]


def register_model(writer: Writer, name: str, dimension: int) -> EmbeddingModel:
    """The model of that name, made known on first use. Raises DimensionMismatch."""
    writer.share()
    writer.execute(
        "INSERT INTO model (name, dimension) VALUES (?, ?) ON CONFLICT DO NOTHING",
        (name, dimension),
    )
    row = writer.row("SELECT id, dimension FROM model WHERE name = ?", (name,))
    assert row is not None  # just inserted
    if int(row[1]) != dimension:
        raise DimensionMismatch(
            f"model {name!r} gives {dimension} dimensions, this file knows it with {row[1]}",
            hint=Hint.RENAME_MODEL,
        )
    return EmbeddingModel(int(row[0]), name, dimension)
