"""The rows of the code index, in portable SQL.

An indexed file is stored as bytes: JSON for the outline, columns as they lie in memory.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treering.journal import damage
from treering.journal.contract import Reader, Row, Writer
from treering.views.choices import Unit
from treering.views.code.graph.code_graph import Trunk
from treering.views.code.graph.resolve import CallTarget, Candidates
from treering.views.code.index.code_index import NO_TREE, IndexedFile
from treering.views.code.parse.cuts import Lines
from treering.views.code.parse.outline import (
    CallSite,
    CodeDefinition,
    ImportedName,
    ParsedFile,
    SourceSpan,
    TypedVariable,
)

_LEVEL = 1
"""Source code shrinks to a fifth at zlib's fastest level; higher ones gain little."""

_TRUNK = ("parent", "calls", "definitions", "fragment", "node", "share")
"""The columns of a trunk."""


class IndexSettings(NamedTuple):
    """How a repository is indexed: cut, with which weights of edges, embedded by which model."""

    unit: Unit
    edges: str
    model: str | None


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as the database knows it; compare ``revision`` to notice a change."""

    space: int
    id: int
    root: str
    settings: IndexSettings
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


def add(writer: Writer, space: int, root: str, settings: IndexSettings) -> Repository:
    """Make a repository known."""
    writer.execute(
        "INSERT INTO code_repository (space, root, unit, edges, model) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (space, root, *settings),
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
            of_calls = json.loads(zlib.decompress(candidates))
            calls[path] = [tuple(CallTarget(*row) for row in targets) for targets in of_calls]
    return files, calls


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
            (*repository.key, path, digests[path], dump_file(file), _dump_calls(calls[path]))
            for path, file in files.items()
        ),
    )


def save_calls(writer: Writer, repository: Repository, calls: Mapping[str, Candidates]) -> None:
    """Store the candidates of files that have not changed themselves."""
    writer.many(
        "UPDATE code_file SET calls = ? WHERE space = ? AND repository = ? AND path = ?",
        ((_dump_calls(candidates), *repository.key, path) for path, candidates in calls.items()),
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
    key = repository.key
    writer.execute("DELETE FROM code_change WHERE space = ? AND repository = ?", key)
    files = writer.execute("DELETE FROM code_file WHERE space = ? AND repository = ?", key)
    writer.execute("DELETE FROM code_repository WHERE space = ? AND id = ?", key)
    return files


def _repository(row: Row) -> Repository:
    space, number, root, *settings, revision = row
    return Repository(space, number, root, IndexSettings(*settings), revision)


def dump_file(file: IndexedFile) -> bytes:
    """The bytes of a file; ``load_file`` is the inverse."""
    parsed = file.parsed
    outline = {
        "language": parsed.language,
        "definitions": parsed.definitions,
        "calls": parsed.calls,
        "imports": parsed.imports,
        "bindings": parsed.bindings,
    }
    arrays: dict[str, NDArray[Any]] = {
        "source": np.frombuffer(parsed.source, dtype=np.uint8),
        "outline": np.frombuffer(json.dumps(outline).encode(), dtype=np.uint8),
        "fragments": np.array(file.fragments, dtype=np.int32).reshape(-1, 3),
        "term_counts": file.term_counts,
        "terms": file.terms,
        **{name: getattr(file.trunk, name) for name in _TRUNK},
    }
    if file.vectors is not None:
        arrays["vectors"] = file.vectors
    return zlib.compress(_dump_arrays(arrays), _LEVEL)


def load_file(data: bytes) -> IndexedFile:
    """The file that ``dump_file`` made ``data`` of."""
    arrays = _load_arrays(zlib.decompress(data))
    columns = {name: arrays[name] for name in _TRUNK}
    source = arrays["source"].tobytes()
    outline = arrays["outline"].tobytes()
    fragments = arrays["fragments"].tolist()
    return IndexedFile(
        source=source,
        decode=cache(lambda: _parse_outline(json.loads(outline), source)),
        fragments=tuple(Lines(*row) for row in fragments),
        terms=arrays["terms"],
        term_counts=arrays["term_counts"],
        trunk=Trunk(fragments=len(fragments), **columns),
        vectors=arrays.get("vectors"),
    )


def _dump_arrays(arrays: dict[str, NDArray[Any]]) -> bytes:
    """Arrays by name: the length of a head, the head, and their bytes one after another.

    numpy's own format has a head for each array, which takes longer to read than the array.
    """
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    shapes = [(name, array.dtype.str, array.shape) for name, array in plain.items()]
    head = json.dumps(shapes).encode()
    return b"".join([len(head).to_bytes(4, "little"), head, *(a.tobytes() for a in plain.values())])


def _load_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    at = 4 + int.from_bytes(data[:4], "little")
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind, shape in json.loads(data[4:at]):
        dtype, count = np.dtype(kind), math.prod(shape)
        arrays[name] = np.frombuffer(data, dtype, count, at).reshape(shape)
        at += count * dtype.itemsize
    return arrays


def _dump_calls(candidates: Candidates) -> bytes:
    return zlib.compress(json.dumps(candidates).encode(), _LEVEL)


def _parse_outline(outline: dict[str, Any], source: bytes) -> ParsedFile:
    return ParsedFile(
        language=outline["language"],
        source=source,
        tree=NO_TREE,
        definitions=tuple(map(_definition, outline["definitions"])),
        calls=tuple(CallSite(*row) for row in outline["calls"]),
        imports=tuple(ImportedName(*row) for row in outline["imports"]),
        bindings=tuple(TypedVariable(*row) for row in outline["bindings"]),
    )


def _definition(row: list[Any]) -> CodeDefinition:
    read = CodeDefinition(*row)
    span, bases, attributes = SourceSpan(*read.span), tuple(read.bases), tuple(read.attributes)
    return read._replace(span=span, bases=bases, attributes=attributes)
