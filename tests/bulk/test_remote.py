"""Files at URIs: fetched one by one, named by their URIs, never by where the copy lay."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import fsspec
import pytest

from tests.bulk.texts import journal
from tests.conftest import Open
from treering.bulk.ingest import bulk_ingest
from treering.bulk.remote import RemoteFiles
from treering.errors import EmptyText, InputError, MissingExtra
from treering.ingest.documents.formats import HTML, LIBRARIES_BY_FORMAT
from treering.ingest.drafts import Envelope


@pytest.fixture
def bucket() -> Iterator[str]:
    """The URI of a folder in main memory, which fsspec has for tests."""
    system = fsspec.filesystem("memory")
    files = {
        "notes/a.txt": b"The boiler is old.",
        "notes/deep/b.md": b"---\ndate: 2024-05-03\n---\nTea at four.",
        "notes/.git/config": b"hidden",
        "notes/node_modules/c.js": b"hidden, too",
        "notes/d.bin": b"\0\1\2",
    }
    for name, content in files.items():
        system.pipe_file(f"/bucket/{name}", content)
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


def test_files_of_a_bucket_are_named_by_their_uris(open_memory: Open, bucket: str) -> None:
    memory = open_memory()
    report = bulk_ingest(memory, f"{bucket}/notes", workers=1)
    assert (report.files, report.added) == (2, 2)
    entries = {entry.source: entry for entry in memory.entries()}
    assert entries.keys() == {
        "memory:///bucket/notes/a.txt",
        "memory:///bucket/notes/deep/b.md",
    }
    assert entries["memory:///bucket/notes/deep/b.md"].at is not None
    [skipped] = report.skipped
    assert skipped.path == "memory:///bucket/notes/d.bin"
    assert "is not text" in skipped.reason


def test_files_of_a_bucket_that_have_changed_replace_what_they_left(
    open_memory: Open, bucket: str
) -> None:
    memory = open_memory()
    bulk_ingest(memory, f"{bucket}/notes", workers=1)
    assert bulk_ingest(memory, f"{bucket}/notes", workers=1).unchanged == 2
    fsspec.filesystem("memory").pipe_file("/bucket/notes/a.txt", b"The boiler is gone.")
    report = bulk_ingest(memory, f"{bucket}/notes", workers=1)
    assert (report.added, report.removed, report.unchanged) == (1, 1, 1)


def test_a_source_names_what_is_below_the_uri(open_memory: Open, bucket: str) -> None:
    memory = open_memory()
    bulk_ingest(memory, f"{bucket}/notes", workers=1, source="notes")
    bulk_ingest(memory, f"{bucket}/notes/a.txt", workers=1, source="one")
    sources = {entry.source for entry in memory.entries()}
    assert sources == {"notes/a.txt", "notes/deep/b.md", "one"}


def test_a_file_uri_is_the_path(open_memory: Open, tmp_path: Path) -> None:
    (tmp_path / "my notes").mkdir()
    (tmp_path / "my notes" / "a.txt").write_text("The boiler is old.")
    by_uri, by_path = open_memory(tmp_path / "uri.db"), open_memory(tmp_path / "path.db")
    bulk_ingest(by_uri, (tmp_path / "my notes").as_uri(), workers=1)
    by_path.add(tmp_path / "my notes")
    assert journal(by_uri) == journal(by_path) != []


def test_what_cannot_be_reached_is_refused_before_anything_is_taken_in(
    open_memory: Open, bucket: str, tmp_path: Path
) -> None:
    memory = open_memory()
    for uri, why in (
        (f"{bucket}/nowhere", "there is no file at"),
        ("gopher://host/file", "no scheme 'gopher'"),
        ("ftp://ana:secret@host/file", "the URI has a password"),
        ("http://[::1/file", "cannot be read: ValueError"),
        ("file://", "there is no file or folder 'file://'"),
    ):
        with pytest.raises(InputError, match=why):
            bulk_ingest(memory, f"{bucket}/notes", uri, workers=1)
    assert memory.stats().entries == 0


def test_a_file_that_is_gone_when_it_is_fetched_is_an_input_error(bucket: str) -> None:
    files = RemoteFiles(f"{bucket}/notes/a.txt")
    fsspec.filesystem("memory").rm("/bucket/notes/a.txt")
    [uri] = files
    with pytest.raises(InputError, match="cannot be read: FileNotFoundError"), files.fetch(uri):
        pass


@pytest.mark.skipif(find_spec("s3fs") is not None, reason="s3fs is here")
def test_a_scheme_that_needs_another_package_names_it() -> None:
    with pytest.raises(MissingExtra):
        RemoteFiles("s3://bucket/folder")


@pytest.mark.parametrize(
    ("name", "kind"), [("notes/page.html", MissingExtra), ("notes/blank.txt", EmptyText)]
)
def test_one_file_that_cannot_be_read_raises_what_it_raises_on_disk(
    open_memory: Open,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    kind: type[Exception],
) -> None:
    monkeypatch.setitem(LIBRARIES_BY_FORMAT, HTML, ("no_such_module",))
    fsspec.filesystem("memory").pipe_file("/bucket/notes/page.html", b"<p>The boiler.</p>")
    fsspec.filesystem("memory").pipe_file("/bucket/notes/blank.txt", b" \n")
    memory = open_memory()
    with pytest.raises(kind) as raised:
        bulk_ingest(memory, f"{bucket}/{name}", workers=1)
    assert type(raised.value) is kind
    report = bulk_ingest(memory, f"{bucket}/notes", workers=1)
    assert f"memory:///bucket/{name}" in {skipped.path for skipped in report.skipped}


def test_no_copy_of_a_remote_file_has_a_name_on_this_disk(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends the process, nothing of it is left behind."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    lines = [f"Line {number} of a long text.\n" for number in range(40_000)]
    fsspec.filesystem("memory").pipe_file("/long/text.txt", "".join(lines).encode())
    place = RemoteFiles("memory://long/text.txt")
    memory = open_memory()
    intake = memory._intake
    with place.fetch("memory://long/text.txt") as file:
        for _ in intake.file(file, "long", Envelope()):
            assert list(temporary.iterdir()) == []
        assert "".join(entry.text for entry in memory.entries()) == "".join(lines)
        lines[5] = "Another line.\n"
    fsspec.filesystem("memory").pipe_file("/long/text.txt", "".join(lines).encode())
    with place.fetch("memory://long/text.txt") as file:
        assert sum(receipt.removed for receipt in intake.file(file, "long", Envelope())) > 0
    kept = sorted(memory.entries(), key=lambda entry: entry.position)
    assert "".join(entry.text for entry in kept) == "".join(lines)
