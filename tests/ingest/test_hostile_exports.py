"""Exports that somebody else made, to fill the disk or the memory, or to end in a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from tests.ingest.clients import CHATGPT, write_json
from treering import Memory
from treering.errors import InputError
from treering.ingest.transcripts import archive

ROOT = Path(__file__).parents[2]
MIB = 2**20


def packed(path: Path, name: str, pieces: list[bytes]) -> Path:
    """A zip archive with one member."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file,
        file.open(name, "w", force_zip64=True) as member,
    ):
        for piece in pieces:
            member.write(piece)
    return path


def test_an_export_that_unpacks_to_too_much_is_refused(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = packed(tmp_path / "export.zip", "conversations.json", [b" " * MIB] * 20)
    with pytest.raises(InputError, match="no conversation"):  # that much may be
        memory.import_(bomb)
    for limit in ("HARMLESS_BYTES", "MAX_UNPACKED_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(archive, limit, 19 * MIB)
            with pytest.raises(InputError, match=r"to 20,971,520 bytes.*unpack it yourself"):
                memory.import_(bomb)


def test_an_export_of_deep_folders_is_refused(memory: Memory, tmp_path: Path) -> None:
    """The paths of these folders have 1 GB: 64 KB of an archive would fill the memory."""
    deep = packed(tmp_path / "deep.zip", f"{'d/' * 32_000}a.json", [b"[]"])
    with pytest.raises(InputError, match=r"folders with paths of 2,\d+,\d+,000 characters"):
        memory.import_(deep)


def test_a_folder_of_an_export_is_found_without_reading_all_names(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as file:
        for number in range(2000):
            file.writestr(f"channels/{number}/a.json", b"[]")
    seen = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal seen
        seen += event == "call"

    with archive.open_archive(path) as top:
        [folders] = top.iterdir()
        sys.setprofile(count)
        try:
            files = [member for folder in folders.iterdir() for member in folder.iterdir()]
        finally:
            sys.setprofile(None)
    assert sorted(str(member.at) for member in files) == sorted(
        f"channels/{number}/a.json" for number in range(2000)
    )
    assert seen < 100 * len(files)  # 16,000 for each file when all names are compared


def test_a_document_of_very_many_values_is_refused_before_it_takes_the_memory(
    tmp_path: Path,
) -> None:
    """90 MB of empty lists take 2 GB as values: less is allowed here."""
    path = tmp_path / "conversations.json"
    with path.open("wb") as stream:
        stream.write(b'[{"mapping": {}, "id": "a"}')
        for _ in range(90):
            stream.write(b",[]" * (MIB // 3))
        stream.write(b"]")
    script = """
import resource, sys
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.errors import InputError
from pathlib import Path
with Memory.open(sys.argv[1], embedder=HashingEmbedder(), llm="none") as memory:
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.RLIM_INFINITY))
    try:
        memory.import_(Path(sys.argv[2]))
    except InputError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "life.db"), str(path)],
        capture_output=True, text=True, timeout=100, check=False, cwd=ROOT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "values" in done.stdout


def damaged(path: Path) -> None:
    """The archive with a member whose compressed bytes are not what deflate writes."""
    write_json(path.with_name("conversations.json"), CHATGPT)
    packed(path, "conversations.json", [path.with_name("conversations.json").read_bytes()])
    content = bytearray(path.read_bytes())
    start = 30 + len("conversations.json") + 20  # the header, the name, the sizes in 64 bits
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(content)


def lying(path: Path) -> None:
    """The archive with a member that says it has one byte."""
    packed(path, "conversations.json", [b"[" + b" " * MIB + b"]"])
    content = path.read_bytes()
    size = (MIB + 2).to_bytes(4, "little")
    assert size in content
    path.write_bytes(content.replace(size, (1).to_bytes(4, "little")))


def cut(path: Path) -> None:
    """The archive with a member whose bytes are not all there."""
    packed(path, "conversations.json", [os.urandom(50_000)])
    content = path.read_bytes()
    place = content.rindex(b"PK\x01\x02")
    short = content[:20_000] + content[place:]
    end = short.rindex(b"PK\x05\x06")
    start = (20_000).to_bytes(4, "little")
    path.write_bytes(short[: end + 16] + start + short[end + 20 :])


def encrypted(path: Path) -> None:
    """The archive with a member that says it is encrypted."""
    packed(path, "conversations.json", [b"[]"])
    content = bytearray(path.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def sparse(path: Path) -> Path:
    """A file of 3 GB that takes no room."""
    with path.open("wb") as stream:
        stream.write(b"5/3/26, 10:00 - Ana: Hello\n")
        stream.truncate(3 << 30)
    return path


@pytest.mark.parametrize("name", ["chat.txt", "a.eml"])
def test_a_file_that_is_read_as_a_whole_has_a_largest_size(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    with pytest.raises(InputError, match="can be read at once"):
        memory.import_(sparse(tmp_path / name))


@pytest.mark.parametrize("make", [damaged, lying, cut, encrypted])
def test_an_archive_that_cannot_be_unpacked_says_so(
    memory: Memory, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "export.zip")
    with pytest.raises(InputError, match="cannot be unpacked"):
        memory.import_(tmp_path / "export.zip")
    assert list(memory.entries()) == []


@pytest.mark.parametrize(
    "names",
    [
        [f"{'n' * 300}.json"],
        ["a.json", "a.json/b.json"],
        *([name] for name in ("../a.json", "/a.json", "a/../../a.json", "..\\a.json")),
    ],
)
def test_an_archive_with_names_that_no_disk_takes_is_read(
    memory: Memory, tmp_path: Path, names: list[str]
) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as file:
        for name in names:
            file.writestr(name, json.dumps(CHATGPT))
    assert memory.import_(tmp_path / "export.zip").added == 2
