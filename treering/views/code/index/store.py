"""The rows of the code view, in portable SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from treering.journal import damage
from treering.journal.contract import Reader, Row, Writer
from treering.views.choices import Unit
from treering.views.code.graph.code_graph import Candidates
from treering.views.code.graph.operator import CallGain
from treering.views.code.index.code_index import IndexedFile
from treering.views.code.index.codec import (
    dump_calls,
    dump_file,
    dump_gain,
    load_calls,
    load_file,
    load_gain,
)
from treering.views.code.rounds import marks


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as the database knows it; compare ``revision`` to notice a change."""

    space: int
    id: int
    root: str
    unit: Unit
    edges: str
    model: str | None
    revision: int

    @property
    def key(self) -> tuple[int, int]:
        """The key in its rows: its space and its number."""
        return self.space, self.id


AGAIN = "`treering code forget` and `treering code index` index it again"

_COLUMNS = "r.space, r.id, r.root, r.unit, r.edges, r.model, r.revision"


def repositories(reader: Reader, space: int) -> list[Repository]:
    """The repositories of a space, in the order they were first indexed."""
    rows = reader.rows(
        f"SELECT {_COLUMNS} FROM code_repository r WHERE r.space = ? ORDER BY r.id",
        (space,),
    )
    return [_repository(row) for row in rows]


def add(
    writer: Writer, space: int, root: str, unit: Unit, edges: str, model: str | None
) -> Repository:
    """Make a repository known."""
    writer.execute(
        "INSERT INTO code_repository (space, root, unit, edges, model) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (space, root, unit, edges, model),
    )
    row = writer.row(
        f"SELECT {_COLUMNS} FROM code_repository r WHERE r.space = ? AND r.root = ?", (space, root)
    )
    assert row is not None  # just inserted
    return _repository(row)


def digests(reader: Reader, repository: Repository) -> dict[str, bytes]:
    """The digest of every file of a repository, by path."""
    rows = reader.rows(
        "SELECT path, digest FROM code_file WHERE space = ? AND repository = ?", repository.key
    )
    return {str(row[0]): bytes(row[1]) for row in rows}


def load(
    reader: Reader, repository: Repository
) -> tuple[dict[str, IndexedFile], dict[str, Candidates]]:
    """The files of a repository by path, and the candidates of their calls."""
    rows = reader.rows(
        "SELECT path, data, calls FROM code_file WHERE space = ? AND repository = ? ORDER BY id",
        repository.key,
    )
    files: dict[str, IndexedFile] = {}
    calls: dict[str, Candidates] = {}
    for path, data, candidates in rows:
        with damage.decoding(f"the index of {path!r} in {repository.root}", AGAIN):
            files[path] = load_file(data)
            calls[path] = load_calls(candidates)
    return files, calls


def gain(reader: Reader, repository: Repository, fragments: int) -> CallGain | None:
    """The gain of paths through calls, if it is stored for that many fragments."""
    row = reader.row(
        "SELECT data FROM code_relation WHERE space = ? AND repository = ? AND fragments = ?",
        (*repository.key, fragments),
    )
    with damage.decoding(f"the index of {repository.root}", AGAIN):
        return None if row is None else load_gain(row[0])


def save_gain(writer: Writer, repository: Repository, fragments: int, found: CallGain) -> None:
    """Store what paths through calls add to the relation."""
    writer.execute("DELETE FROM code_relation WHERE space = ? AND repository = ?", repository.key)
    writer.execute(
        "INSERT INTO code_relation (space, repository, fragments, data) VALUES (?, ?, ?, ?)",
        (*repository.key, fragments, dump_gain(found)),
    )


def save_files(
    writer: Writer,
    repository: Repository,
    files: Mapping[str, IndexedFile],
    digests: Mapping[str, bytes],
    calls: Mapping[str, Candidates],
) -> None:
    """Store new and changed files."""
    delete(writer, repository, files)
    writer.many(
        "INSERT INTO code_file (space, repository, path, digest, data, calls)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            (*repository.key, path, digests[path], dump_file(file), dump_calls(calls[path]))
            for path, file in files.items()
        ),
    )


def save_calls(writer: Writer, repository: Repository, calls: Mapping[str, Candidates]) -> None:
    """Store the candidates of files that have not changed themselves."""
    writer.many(
        "UPDATE code_file SET calls = ? WHERE space = ? AND repository = ? AND path = ?",
        ((dump_calls(found), *repository.key, path) for path, found in calls.items()),
    )


def delete(writer: Writer, repository: Repository, paths: Iterable[str]) -> None:
    """Delete files."""
    writer.many(
        "DELETE FROM code_file WHERE space = ? AND repository = ? AND path = ?",
        ((*repository.key, path) for path in paths),
    )


def touch(writer: Writer, repository: Repository) -> None:
    """Let every process notice that a repository has changed."""
    writer.execute(
        "UPDATE code_repository SET revision = revision + 1 WHERE space = ? AND id = ?",
        repository.key,
    )


def drop(writer: Writer, repository: Repository) -> int:
    """Delete a repository; return how many files it had."""
    marks.drop(writer, *repository.key)
    writer.execute("DELETE FROM code_relation WHERE space = ? AND repository = ?", repository.key)
    files = writer.execute(
        "DELETE FROM code_file WHERE space = ? AND repository = ?", repository.key
    )
    writer.execute("DELETE FROM code_repository WHERE space = ? AND id = ?", repository.key)
    return files


def _repository(row: Row) -> Repository:
    return Repository(int(row[0]), int(row[1]), str(row[2]), row[3], row[4], row[5], int(row[6]))
