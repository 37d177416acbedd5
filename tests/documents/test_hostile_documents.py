"""Documents that are broken, encrypted, endless or made to harm: each has its reason, in bounds."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.documents import writing
from treering import Memory
from treering.errors import InputError
from treering.ingest.documents.formats import Limits
from treering.ingest.documents.reader import _COMMAND, DocumentReader

FAR_CELLS = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="1"><c r="A1"><v>1</v></c></row>'
    '<row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData></worksheet>'
)
LAUGHS = "<!DOCTYPE x [<!ENTITY a0 'ha'>{}]>".format(
    "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 10))
)
PATIENCE_S = 0.5
PROTECTED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.fixture
def reader() -> Iterator[DocumentReader]:
    with DocumentReader() as documents:
        yield documents


@pytest.fixture(scope="module")
def shared_reader() -> Iterator[DocumentReader]:
    """One that goes on after each document: to start another takes as long as to read ten."""
    with DocumentReader() as documents:
        yield documents


def reason(reader: DocumentReader, path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        reader.read(path)
    assert str(caught.value).startswith(f"{path} ")
    return str(caught.value).removeprefix(f"{path} ")


def far_apart_cells() -> bytes:
    """A spreadsheet of two cells, whose grid would fill terabytes."""
    content = writing.workbook({"Sheet1": [["x"]]})
    with zipfile.ZipFile(io.BytesIO(content)) as zipped:
        members: dict[str, bytes | str] = {name: zipped.read(name) for name in zipped.namelist()}
    members["xl/worksheets/sheet1.xml"] = FAR_CELLS
    return writing.archive(members)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("cut.pdf", writing.pdf(["Some text."])[:300], "is broken, or not a PDF"),
        ("junk.pdf", b"junk", "is broken, or not a PDF"),
        ("empty.pdf", b"", "is broken, or not a PDF"),
        ("locked.pdf", writing.pdf(["Some text."], "secret"), "is encrypted: save a copy"),
        ("scan.pdf", writing.scan_pdf(3), "has no text on any page; pages that are pictures (a sc"),
        ("blank.pdf", writing.pdf([""]), "has no text on any page"),
        ("cut.docx", writing.word("Title", ["Text."])[:900], "is broken, or not what its name"),
        ("zip.docx", writing.archive({"a.txt": "a"}), "is broken, or not a Word document"),
        ("xml.docx", writing.word_archive("<w:broken"), "is broken, or not a Word document"),
        ("locked.docx", PROTECTED, "is encrypted, or of a format before 2007"),
        ("empty.docx", writing.word("", []), "has no text"),
        ("cut.xlsx", writing.workbook({"S": [["a"]]})[:900], "is broken, or not what its name"),
        ("locked.xlsx", PROTECTED, "is broken, or not a spreadsheet"),
        ("empty.xlsx", writing.workbook({"S": []}), "has no filled cells"),
        ("cut.epub", writing.book(["a"])[:200], "is broken, or not what its name"),
        ("zip.epub", writing.archive({"a.txt": "a"}), "is broken: 'META-INF/container.xml'"),
        ("script.html", b"<script>document.write(1)</script>", "is HTML without text"),
        ("deep.html", b"<div>" * 60_000, "has elements that nest too deep"),
    ],
)
def test_what_cannot_be_read_has_its_reason(
    shared_reader: DocumentReader, tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    assert reason(shared_reader, tmp_path / name, content).startswith(expected)


def test_a_reader_goes_on_after_documents_that_it_could_not_read(
    reader: DocumentReader, tmp_path: Path
) -> None:
    assert "needs more than" in reason(reader, tmp_path / "far.xlsx", far_apart_cells())
    assert "is broken" in reason(reader, tmp_path / "junk.pdf", b"junk")
    fine = tmp_path / "fine.pdf"
    fine.write_bytes(writing.pdf(["All is well."]))
    assert reader.read(fine).parts[0].text == "All is well."


def test_a_zip_bomb_is_refused_before_it_is_unpacked(
    reader: DocumentReader, tmp_path: Path
) -> None:
    members: dict[str, bytes | str] = {f"word/{n}.xml": bytes(64 << 20) for n in range(5)}
    bomb = writing.archive(members)
    assert len(bomb) < 1 << 20
    for name in ("bomb.docx", "bomb.xlsx", "bomb.epub"):
        assert reason(reader, tmp_path / name, bomb).startswith("unpacks to 320 MiB in 5 files")


def test_a_member_that_says_less_than_it_holds_is_not_unpacked_any_further(
    reader: DocumentReader, tmp_path: Path
) -> None:
    chapter = b"<p>" + b"a" * (8 << 20)
    content = writing.book(["one"])
    with zipfile.ZipFile(io.BytesIO(content)) as zipped:
        members: dict[str, bytes | str] = {name: zipped.read(name) for name in zipped.namelist()}
    members["OEBPS/text/c 0.xhtml"] = chapter
    size, lie = struct.pack("<I", len(chapter)), struct.pack("<I", 100)
    lying = writing.archive(members).replace(size, lie)
    assert "has no text in its chapters" in reason(reader, tmp_path / "lies.epub", lying)


def test_entities_are_neither_multiplied_nor_fetched(
    reader: DocumentReader, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    bomb = writing.word_archive("&a9;", LAUGHS)
    assert reason(reader, tmp_path / "laughs.docx", bomb).startswith(("is broken", "needs more"))
    fetching = f"<!DOCTYPE x [<!ENTITY f SYSTEM '{secret.as_uri()}'>]>"
    path = tmp_path / "fetch.docx"
    path.write_bytes(writing.word_archive("Before &f; after", fetching))
    assert "secret" not in str(reader.read(path).parts)
    page = tmp_path / "fetch.html"
    page.write_text(f"{fetching}<p>Before &f; after <img src='{secret.as_uri()}'>")
    assert "secret" not in str(reader.read(page).parts)


def test_a_pdf_of_ten_thousand_pages_is_read_within_the_limits(
    reader: DocumentReader, tmp_path: Path
) -> None:
    path = tmp_path / "long.pdf"
    path.write_bytes(writing.long_pdf(10_000))
    parts = reader.read(path).parts
    assert len(parts) == 10_000
    assert (parts[-1].place, parts[-1].text) == ("10000", "This is page 10000 of the long book.")


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(seconds=0.01), "takes longer than 0.01 s to read: split it"),
        (Limits(text=1000), "has over 1,000 characters: split it"),
        (Limits(file=1 << 20), "has 1 MiB, over the limit of 1: split it"),
        (Limits(memory=1 << 20), Limits(memory=1 << 20).exhaustion),
    ],
)
def test_a_document_over_a_limit_says_so(limits: Limits, expected: str, tmp_path: Path) -> None:
    with DocumentReader(limits) as reader:
        assert reason(reader, tmp_path / "long.pdf", writing.long_pdf(6_000)) == expected


def test_the_process_that_reads_has_no_network_no_programs_and_writes_nothing(
    tmp_path: Path,
) -> None:
    target = tmp_path / "written"
    attempts = [
        "socket.create_connection(('127.0.0.1', 9))",
        "subprocess.run(['true'])",
        "os.system('true')",
        f"open({str(target)!r}, 'w')",
        f"os.open({str(target)!r}, os.O_CREAT | os.O_WRONLY)",
    ]
    code = (
        "import os, socket, subprocess, sys\n"
        "from treering.ingest.documents import worker\n"
        "sys.addaudithook(worker._forbid)\n"
        f"for attempt in {attempts!r}:\n"
        "    try: eval(attempt)\n"
        "    except PermissionError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.count("is not for readers of documents") == len(attempts), done.stderr
    assert not target.exists()


def test_nothing_of_the_folder_that_is_added_is_run(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "download"
    folder.mkdir()
    for name in ("pypdfium2", "json", "warnings"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    (folder / "lease.pdf").write_bytes(writing.pdf(["The rent is 900 euros."]))
    monkeypatch.chdir(folder)
    assert memory.add(folder).added == 4
    assert not (tmp_path / "run").exists()


def test_the_process_that_reads_is_not_ended_while_it_waits_for_the_next_document() -> None:
    """Neither is it ended by the time of a document that it has read."""
    with subprocess.Popen(
        [*_COMMAND, json.dumps(asdict(Limits(seconds=PATIENCE_S)))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"format": "none", "bytes": 0}\n')
        process.stdin.flush()
        assert b'"end"' in process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2 * PATIENCE_S)
        process.stdin.close()
        assert process.wait(timeout=60) == 0
