"""The sources of a space: their names, and the files that they were read from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from unicodedata import normalize

from treering.journal import labels
from treering.journal.contract import Reader, Value, Writer


def source_id(writer: Writer, space: int, name: str) -> int:
    """The number of a source within a space, made on first use."""
    row = writer.row("SELECT id FROM source WHERE space = ? AND hash = ?", named(space, name))
    if row is not None:
        return int(row[0])
    return writer.insert(
        "INSERT INTO source (space, hash, family, name) VALUES (?, ?, ?, ?)",
        (*named(space, name), labels.family_of(name), labels.put(writer, name)),
    )


def named(space: int, name: str) -> tuple[int, bytes]:
    """The parameters that a source of a space is looked up by."""
    return space, labels.hash_of(name)


def sources_named(reader: Reader, space: int, name: str) -> list[int]:
    """The numbers of the sources that a filter's ``source`` stands for; see ``Filter``."""
    clause, params = source_clause(name)
    rows = reader.rows(
        f"SELECT s.id FROM source s WHERE s.space = ? AND {clause}", (space, *params)
    )
    return [int(row[0]) for row in rows]


def names_of(reader: Reader, numbers: Collection[int]) -> dict[int, str]:
    """The names of sources by their numbers; of a page and the like that of the whole document."""
    rows = reader.rows(
        "SELECT s.id, n.text FROM source s JOIN label n ON n.id = coalesce(s.document, s.name)"
        " WHERE s.space = ? AND s.id IN (SELECT value FROM json_each(?))",
        (reader.space, json.dumps(sorted(numbers))),
    )
    return {int(row[0]): str(row[1]) for row in rows}


@dataclass(frozen=True, slots=True)
class FileSource:
    """A source that was read from a file: the digest of that, which changes with its content.

    ``path`` is None where it is not known. A page and the like is a source of its own, and
    ``document`` is the name of the whole.
    """

    name: str
    digest: bytes | None
    path: str | None = None
    document: str | None = None

    @property
    def whole(self) -> str:
        """What the whole file is called, of which this may be a part."""
        return self.document or self.name


_FILE_SOURCE = (
    "SELECT n.text, s.digest, p.text, d.text FROM source s JOIN label n ON n.id = s.name"
    " LEFT JOIN label p ON p.id = s.path LEFT JOIN label d ON d.id = s.document"
)


def file_sources(reader: Reader, space: int) -> Iterator[FileSource]:
    """The sources that hold nothing but what was read from files."""
    rows = reader.rows(
        f"{_FILE_SOURCE} WHERE s.space = ? AND s.digest IS NOT NULL ORDER BY s.id",
        (space,),
    )
    return (FileSource(*row) for row in rows)


def parts_of(reader: Reader, space: int, name: str) -> list[FileSource]:
    """The source of a name, if there is one, and the parts of the document of that name."""
    identity = labels.hash_of(name)
    rows = reader.rows(
        f"{_FILE_SOURCE} WHERE s.space = ? AND (s.hash = ? OR s.whole = ?) ORDER BY s.id",
        (space, identity, identity),
    )
    return [FileSource(*row) for row in rows]


def file_source(reader: Reader, space: int, name: str) -> FileSource | None:
    """The source of a name, if there is one."""
    row = reader.row(f"{_FILE_SOURCE} WHERE s.space = ? AND s.hash = ?", named(space, name))
    return FileSource(*row) if row else None


def set_file(writer: Writer, space: int, file: FileSource) -> None:
    """Note which file a source was read from; a path that is not known leaves the one there is.

    A file without a digest is that of another program: it does not make the source one of a file.
    """
    row = writer.row(
        "SELECT s.id, s.path, p.text, s.document, d.text, s.digest FROM source s"
        " LEFT JOIN label p ON p.id = s.path LEFT JOIN label d ON d.id = s.document"
        " WHERE s.space = ? AND s.hash = ?",
        named(space, file.name),
    )
    if row is None or (file.digest is None and row[5] is not None):
        return
    path, document = row[1], row[3]
    if file.path is not None and file.path != row[2]:
        path = labels.replace(writer, space, path, file.path)
    if file.document != row[4]:
        document = labels.replace(writer, space, document, file.document)
    path_hash = None if file.path is None else labels.hash_of(file.path)
    whole = None if file.document is None else labels.hash_of(file.document)
    writer.execute(
        "UPDATE source SET digest = ?, path = ?, path_hash = coalesce(?, path_hash), document = ?,"
        " whole = ? WHERE space = ? AND id = ?",
        (file.digest, path, path_hash, document, whole, space, row[0]),
    )


def source_names(reader: Reader, space: int) -> list[str]:
    """The names of the sources of a space, in the order they were made."""
    rows = reader.rows(
        "SELECT n.text FROM source s JOIN label n ON n.id = s.name WHERE s.space = ? ORDER BY s.id",
        (space,),
    )
    return [str(row[0]) for row in rows]


def set_source_digest(writer: Writer, space: int, name: str, digest: bytes | None) -> None:
    """Note the digest of the file that a source holds; None if it holds anything else."""
    writer.execute(
        "UPDATE source SET digest = ? WHERE space = ? AND hash = ?", (digest, *named(space, name))
    )


def rename_file(writer: Writer, space: int, name: str, new: str, path: str) -> None:
    """Give the source of a file, or the parts of a document, another name and path."""
    identity = labels.hash_of(name)
    rows = list(
        writer.rows(
            "SELECT s.id, s.name, n.text, s.path, s.document FROM source s"
            " JOIN label n ON n.id = s.name WHERE s.space = ? AND (s.hash = ? OR s.whole = ?)",
            (space, identity, identity),
        )
    )
    for source, label, old, old_path, document in rows:
        renamed = new + str(old)[len(name) :]
        whole = None if document is None else new
        writer.execute(
            "UPDATE source SET hash = ?, family = ?, name = ?, path = ?, path_hash = ?,"
            " document = ?, whole = ? WHERE space = ? AND id = ?",
            (
                *(labels.hash_of(renamed), labels.family_of(renamed)),
                labels.replace(writer, space, label, renamed),
                *(labels.replace(writer, space, old_path, path), labels.hash_of(path)),
                labels.replace(writer, space, document, whole),
                *(None if whole is None else labels.hash_of(whole), space, source),
            ),
        )


def drop_empty_sources(
    writer: Writer, space: int, numbers: Collection[int] | None = None
) -> list[str]:
    """Delete the sources of a space that hold no entry any more; return their names.

    Those of some ``numbers``, or of all.
    """
    among = "" if numbers is None else " AND s.id IN (SELECT value FROM json_each(?))"
    rows = list(
        writer.rows(
            "SELECT s.id, n.text, s.name, s.path, s.document FROM source s"
            " LEFT JOIN label n ON n.id = s.name"
            f" WHERE s.space = ?{among} AND NOT EXISTS"
            " (SELECT 1 FROM entry e WHERE e.space = s.space AND e.source = s.id)",
            (space, *([] if numbers is None else [json.dumps(sorted(numbers))])),
        )
    )
    if not rows:
        return []
    labels.blank(writer, space, [label for row in rows for label in row[2:]])
    writer.many("DELETE FROM source WHERE space = ? AND id = ?", ((space, row[0]) for row in rows))
    return [str(row[1]) for row in rows]


def source_clause(source: str) -> tuple[str, list[Value]]:
    """The condition for the name of a source or the file it was read from.

    One that ends in ``/`` stands for all below it; the name of a document stands for its parts,
    such as pages.
    """
    if source.endswith("/"):
        begins = "instr((SELECT l.text FROM label l WHERE l.id = {}), ?) = 1"
        name, path = begins.format("s.name"), begins.format("s.path")
        composed, decomposed = (normalize(form, source) for form in ("NFC", "NFD"))
        return f"({name} OR {path} OR {path})", [composed, composed, decomposed]
    return "? IN (s.hash, s.whole, s.path_hash)", [labels.hash_of(source)]
