"""The sources of a space: their names, and the files that they were read from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from unicodedata import normalize

from treering.journal.contract import Reader, Value, Writer
from treering.text import composed


def source_id(writer: Writer, space: int, name: str) -> int:
    """The number of a source within a space, made on first use."""
    row = writer.row("SELECT id FROM source WHERE space = ? AND hash = ?", key(space, name))
    if row is not None:
        return int(row[0])
    [new] = writer.insert_many(
        "INSERT INTO source (space, hash, family, name) VALUES (?, ?, ?, ?) RETURNING id",
        [(*key(space, name), family_hash(name), _put_label(writer, name))],
    )
    return new


def key(space: int, name: str) -> tuple[int, bytes]:
    """The parameters that a source of a space is looked up by."""
    return space, name_hash(name)


def matching_sources(reader: Reader, space: int, name: str) -> list[int]:
    """The numbers of the sources that a filter's ``source`` stands for; see ``Filter``."""
    clause, params = source_clause(name)
    rows = reader.rows(
        f"SELECT s.id FROM source s WHERE s.space = ? AND {clause}", (space, *params)
    )
    return [int(row[0]) for row in rows]


def shown_names(reader: Reader, numbers: Collection[int]) -> dict[int, str]:
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
        """The name of the whole file, of which this may be a part."""
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


def document_parts(reader: Reader, space: int, name: str) -> list[FileSource]:
    """The source of a name, if there is one, and the parts of the document of that name."""
    identity = name_hash(name)
    rows = reader.rows(
        f"{_FILE_SOURCE} WHERE s.space = ? AND (s.hash = ? OR s.whole = ?) ORDER BY s.id",
        (space, identity, identity),
    )
    return [FileSource(*row) for row in rows]


def file_source(reader: Reader, space: int, name: str) -> FileSource | None:
    """The source of a name, if there is one."""
    row = reader.row(f"{_FILE_SOURCE} WHERE s.space = ? AND s.hash = ?", key(space, name))
    return FileSource(*row) if row else None


def set_file(writer: Writer, space: int, file: FileSource) -> None:
    """Note which file a source was read from; a path that is not known leaves the one there is.

    A file without a digest is that of another program: it does not make the source one of a file.
    """
    row = writer.row(
        "SELECT s.id, s.path, p.text, s.document, d.text, s.digest FROM source s"
        " LEFT JOIN label p ON p.id = s.path LEFT JOIN label d ON d.id = s.document"
        " WHERE s.space = ? AND s.hash = ?",
        key(space, file.name),
    )
    if row is None or (file.digest is None and row[5] is not None):
        return
    path, document = row[1], row[3]
    if file.path is not None and file.path != row[2]:
        path = _replace_label(writer, space, path, file.path)
    if file.document != row[4]:
        document = _replace_label(writer, space, document, file.document)
    path_hash = None if file.path is None else name_hash(file.path)
    whole = None if file.document is None else name_hash(file.document)
    writer.execute(
        "UPDATE source SET digest = ?, path = ?, path_hash = coalesce(?, path_hash), document = ?,"
        " whole = ? WHERE space = ? AND id = ?",
        (file.digest, path, path_hash, document, whole, space, row[0]),
    )


def source_names(reader: Reader, space: int) -> list[str]:
    """Return the names of the sources of a space, oldest first."""
    rows = reader.rows(
        "SELECT n.text FROM source s JOIN label n ON n.id = s.name WHERE s.space = ? ORDER BY s.id",
        (space,),
    )
    return [str(row[0]) for row in rows]


def leave_file(writer: Writer, space: int, source: int) -> None:
    """Note that a source no longer equals a file."""
    writer.execute(
        "UPDATE source SET digest = NULL WHERE space = ? AND id = ? AND digest IS NOT NULL",
        (space, source),
    )


def rename_file(writer: Writer, space: int, name: str, new: str, path: str) -> None:
    """Give the source of a file, or the parts of a document, another name and path."""
    identity = name_hash(name)
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
                *(name_hash(renamed), family_hash(renamed)),
                _replace_label(writer, space, label, renamed),
                *(_replace_label(writer, space, old_path, path), name_hash(path)),
                _replace_label(writer, space, document, whole),
                *(None if whole is None else name_hash(whole), space, source),
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
    blank_labels(writer, space, [label for row in rows for label in row[2:]])
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
        whole, decomposed = composed(source), normalize("NFD", source)
        return f"({name} OR {path} OR {path})", [whole, whole, decomposed]
    return "? IN (s.hash, s.whole, s.path_hash)", [name_hash(source)]


# ---------------------------------------------------------------------------- labels

# Names and paths have rows of their own, which are overwritten without leaving a copy. A name is
# looked up by its hash, because an index of names would hold copies of them.


def name_hash(name: str) -> bytes:
    """Return the key of a name, 16 bytes, in any Unicode form of it."""
    return hashlib.sha256(composed(name).encode("utf-8", "surrogatepass")).digest()[:16]


def family_hash(name: str) -> bytes | None:
    """Return the hash of a name up to its first colon, included; None without a colon."""
    head, colon, _ = name.partition(":")
    return name_hash(head + colon) if colon else None


def _put_label(writer: Writer, text: str) -> int:
    return writer.insert_many("INSERT INTO label (text) VALUES (?) RETURNING id", [(text,)])[0]


def blank_labels(writer: Writer, space: int, labels: Iterable[int | None]) -> None:
    """Overwrite labels of a space that nothing refers to any more."""
    writer.blank("label", ("text",), space, [label for label in labels if label is not None])


def _replace_label(writer: Writer, space: int, label: int | None, text: str | None) -> int | None:
    """Overwrite a label; return the number of the label that takes its place."""
    blank_labels(writer, space, [label])
    return None if text is None else _put_label(writer, text)
