"""What is too large for one transaction: all or nothing, while others write, killed or not."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import pytest

from tests import programs
from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.ingest.staging_process import COUNT, SLICES, TIMEOUT_S, WRITES, killed, lines, text_of
from treering import Memory
from treering.errors import InputError, JournalFull, UnknownName
from treering.ingest.drafts import Envelope
from treering.ingest.slices import (
    SLICE_CHARS,
    SLICE_ENTRIES,
    SLICES_AT_ONCE,
    Item,
    Plan,
    from_json,
    in_slices,
    to_json,
)
from treering.journal import staged
from treering.journal.contract import Database, Writer
from treering.journal.fields import parse_time
from treering.journal.open import open_database
from treering.journal.sources import FileSource
from treering.journal.sqlite.database import SqliteDatabase
from treering.journal.writing import Draft
from treering.serve import spaces

STAGED = 1 + SLICES + 1
"""Transactions until all is staged, and known to be."""

OPENER = """
import sys
from tests.embedders import HashingEmbedder
from treering import Memory
with Memory.open(sys.argv[1], space="other", embedder=HashingEmbedder()) as memory:
    memory.add("Mine.")
    memory.settle()
"""


class Counting(SqliteDatabase):
    """A database that lets another connection write after each of its write transactions."""

    def __init__(self, path: Path, other: Memory | None = None) -> None:
        self.other = other
        self.writes = 0
        super().__init__(path)

    @contextmanager
    def write(self, space: str | None = None, *, derived: bool = False) -> Iterator[Writer]:
        with super().write(space, derived=derived) as writer:
            yield writer
        self.writes += 1
        if self.other is not None:
            self.other.add(f"Written meanwhile, {self.writes}.", source="beside")


def opened(path: Path, other: Memory | None = None) -> tuple[Memory, Counting]:
    database = Counting(path, other)
    return Memory(database, "default", HashingEmbedder(), "none"), database


def left(path: Path) -> int:
    """Rows of what is under way."""
    with closing(sqlite3.connect(path)) as file:
        counts = file.execute("SELECT (SELECT count(*) FROM intake), count(*) FROM intake_slice")
        return sum(counts.fetchone())


def waiting(path: Path) -> int:
    """Slices that are to be taken in; others are blank, and are dropped by whoever comes next."""
    with closing(sqlite3.connect(path)) as file:
        return int(file.execute("SELECT count(*) FROM intake_slice WHERE NOT taken").fetchone()[0])


def texts(memory: Memory, source: str) -> list[str]:
    return [entry.text for entry in memory.entries(source=source)]


def test_a_large_import_lets_another_writer_in_after_every_slice(
    path: Path, open_memory: Open
) -> None:
    other = open_memory(path, space="others")
    memory, database = opened(path, other)
    with memory:
        receipt = memory.import_(lines())
        assert receipt.added == COUNT
        assert database.writes >= WRITES
        assert len(texts(other, "beside")) == database.writes
        assert texts(memory, "talk") == [text_of(number) for number in range(COUNT)]
        assert memory.import_(lines()).unchanged == COUNT
        assert memory.stats().fragments == COUNT
    assert left(path) == 0


def test_a_small_import_is_one_transaction(path: Path) -> None:
    memory, database = opened(path)
    with memory:
        memory.import_(lines(COUNT - 1))
        before = database.writes
        memory.import_(lines(COUNT - 1))
        assert database.writes == before + 1


def superseded(older: int, newer: int) -> str:
    return f'{{"superseded": "{older:016x}", "by": "{newer:016x}"}}'


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("{", "line .* is not JSON"),
        ('{"id": "0", "source": "a", "position": 0, "kind": "chat"}', "'text' is missing"),
        (
            f'{{"id": "{0:016x}", "source": "a", "position": 0, "kind": "chat", "text": "other"}}',
            "the id of an earlier one and another text",
        ),
        (
            '{"id": "0", "source": "treering:memos", "position": 0, "kind": "text", "text": "x"}',
            "no change of a memo",
        ),
        (
            "\n".join([superseded(1, 2), superseded(2, 3), superseded(3, 1)]),
            "which it supersedes itself",
        ),
    ],
)
def test_a_large_import_with_one_bad_line_leaves_nothing(
    path: Path, open_memory: Open, last: str, message: str
) -> None:
    memory = open_memory(path, space="new")
    with pytest.raises(InputError, match=message):
        memory.import_([*lines(), *last.split("\n")])
    assert list(memory.entries()) == []
    assert memory.spaces() == []
    assert left(path) == 0


def test_a_large_import_of_another_text_under_an_id_that_is_here_leaves_nothing(
    open_memory: Open, path: Path
) -> None:
    memory = open_memory(path)
    other = '{"id": "%016x", "source": "a", "position": 0, "kind": "chat", "text": "mine"}'
    memory.import_([next(lines()), other % (COUNT - 1)])
    with pytest.raises(InputError, match="with another text"):
        memory.import_(lines())
    assert [entry.text for entry in memory.entries()] == ["mine"]
    assert left(path) == 0


@pytest.mark.parametrize("count", [3, COUNT])
def test_an_import_says_what_holds_of_a_text_that_is_here_under_another_id(
    path: Path, open_memory: Open, count: int
) -> None:
    memory = open_memory(path)
    [own] = memory.import_([next(lines()), list(lines(2))[2].replace(f"{1:016x}", "own")]).ids
    memory.import_([*lines(count), superseded(1, 2)])
    newer = memory.get(own).superseded_by
    assert newer is not None
    assert newer.entry_id == f"{2:016x}"
    assert left(path) == 0


class Interrupted(Counting):
    """A database in which somebody else does something after the n-th write transaction."""

    def __init__(self, path: Path, last: int, act: Callable[[], object]) -> None:
        super().__init__(path)
        self._last, self._act = last, act

    @contextmanager
    def write(self, space: str | None = None, *, derived: bool = False) -> Iterator[Writer]:
        with super().write(space, derived=derived) as writer:
            yield writer
        if self.writes == self._last:
            self._act()


def test_what_is_forgotten_while_it_is_taken_in_keeps_nobody_out(
    path: Path, open_memory: Open
) -> None:
    other = open_memory(path)
    database = Interrupted(path, STAGED + 1, lambda: other.forget(f"{1:016x}"))
    with Memory(database, "default", HashingEmbedder(), "none") as memory:
        memory.import_([*lines(), superseded(1, 2)])
    assert left(path) == 0
    assert len(list(open_memory(path).entries())) == COUNT - 1


class Full(SqliteDatabase):
    """A database whose disk is full."""

    @contextmanager
    def write(self, space: str | None = None, *, derived: bool = False) -> Iterator[Writer]:
        raise JournalFull("the disk is full")
        yield


def test_what_cannot_be_taken_in_now_keeps_nobody_out(path: Path, open_memory: Open) -> None:
    killed(path, "default", STAGED + 2)
    with Memory(Full(path), "default", HashingEmbedder(), "none") as memory:
        assert texts(memory, "talk") == [text_of(number) for number in range(SLICE_ENTRIES)]
        with pytest.raises(JournalFull):
            memory.settle()
    assert len(texts(open_memory(path), "talk")) == COUNT


@pytest.mark.parametrize("last", [1, 2, STAGED - 1, STAGED, STAGED + 1, WRITES - 1, WRITES])
def test_an_import_that_is_killed_is_there_as_a_whole_or_not_at_all(
    path: Path, open_memory: Open, last: int
) -> None:
    killed(path, "default", last)
    memory = open_memory(path)
    is_whole = last > STAGED
    assert texts(memory, "talk") == [text_of(number) for number in range(COUNT * is_whole)]
    assert left(path) == 0
    assert memory.settle().fragments == COUNT * is_whole
    assert memory.check() == []
    assert memory.import_(lines()).unchanged == COUNT * is_whole


@pytest.mark.parametrize("last", [STAGED - 1, STAGED + 1])
def test_what_was_cut_short_goes_with_its_space(path: Path, open_memory: Open, last: int) -> None:
    other = open_memory(path, space="other")
    other.add("Mine.")
    open_memory(path, space="talks").add("Here before.")
    killed(path, "talks", last)
    assert waiting(path) > 0
    assert other.forget_space("talks").scrubbed
    assert waiting(path) == 0
    assert b"of the import, which nobody else says" not in path.read_bytes()
    assert other.spaces() == ["other"]
    assert list(open_memory(path, space="talks", create=True).entries()) == []


def staged_rows(database: Database) -> int:
    """Imports and their slices that hold anything, of all spaces."""
    with database.read() as reader:
        row = reader.row(
            "SELECT (SELECT count(*) FROM intake), count(*) FROM intake_slice WHERE NOT taken"
        )
        assert row is not None
        return int(row[0]) + int(row[1])


@pytest.fixture
def url(path: Path, engine: str, databases: dict[Path, str]) -> Path | str:
    return databases[path] if engine == "postgres" else path


@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("last", "comes"), [(2, 0), (STAGED - 1, 0), (STAGED + 1, COUNT), (STAGED + 2, COUNT)]
)
@pytest.mark.parametrize("sweeps", ["opening", "settle", "upkeep"])
def test_opening_any_space_sweeps_an_import_into_another_one_that_was_killed(
    url: Path | str, open_memory: Open, last: int, comes: int, sweeps: str
) -> None:
    other = open_memory(url, space="other")
    other.add("Mine.")
    killed(url, "anna", last)
    with closing(open_database(url)) as database:
        assert staged.abandoned_spaces(database) == ["anna"]
        if sweeps == "opening":
            open_memory(url, space="other")
        elif sweeps == "settle":
            other.settle()
        else:
            spaces._upkeep(database, {})
        assert staged_rows(database) == 0
    assert other.spaces() == (["anna", "other"] if comes else ["other"])
    assert len(texts(open_memory(url, space="anna", create=True), "talk")) == comes
    assert other.stats().pending == {}


@pytest.mark.both_engines
@pytest.mark.parametrize("last", [2, STAGED - 1, STAGED + 1])
def test_a_space_that_only_a_killed_import_names_can_be_forgotten(
    url: Path | str, open_memory: Open, last: int
) -> None:
    other = open_memory(url, space="other")
    other.add("Mine.")
    killed(url, "anna", last)
    assert other.forget_space("anna").scrubbed
    with closing(open_database(url)) as database:
        assert staged_rows(database) == 0
    assert other.spaces() == ["other"]
    with pytest.raises(UnknownName):
        other.forget_space("anna")


def test_what_a_killed_import_had_staged_leaves_the_bytes_of_the_file(
    path: Path, open_memory: Open
) -> None:
    open_memory(path, space="other").add("Mine.")
    killed(path, "anna", STAGED - 1)
    assert text_of(1).encode() in bytes_of(path)
    assert open_memory(path, space="other").settle().pending == {}
    assert text_of(1).encode() not in bytes_of(path)
    assert b"anna" not in bytes_of(path)


@pytest.mark.both_engines
def test_an_import_that_is_at_work_is_left_alone_by_those_who_open_other_spaces(
    url: Path | str, open_memory: Open
) -> None:
    def while_it_is_staged() -> Iterator[str]:
        yield from lines(COUNT + SLICE_ENTRIES)
        program = [sys.executable, "-c", OPENER, str(url)]
        assert programs.run(program, timeout=TIMEOUT_S).returncode == 0
        open_memory(url, space="another", create=True).settle()

    memory = open_memory(url, space="talks")
    assert memory.import_(while_it_is_staged()).added == COUNT + SLICE_ENTRIES


@pytest.mark.both_engines
@pytest.mark.parametrize("is_same", [True, False])
def test_an_import_whose_presence_was_lost_goes_on_or_is_refused(
    url: Path | str, open_memory: Open, is_same: bool
) -> None:
    """Another process may take it for gone: it is either ours still, or adds nothing more."""
    memory = open_memory(url, space="talks")
    database = memory._database

    def while_it_is_staged() -> Iterator[str]:
        yield from lines(COUNT + SLICE_ENTRIES)
        with database.write() as writer:
            # Its lock went with a connection; and somebody had noticed that.
            taken = "" if is_same else ", attempt = 1"
            writer.execute(f"UPDATE intake SET presence = 1{taken}")
        yield from islice(lines(COUNT + 3 * SLICE_ENTRIES), COUNT + SLICE_ENTRIES + 1, None)

    if is_same:
        assert memory.import_(while_it_is_staged()).added == COUNT + 3 * SLICE_ENTRIES
    else:
        with pytest.raises(UnknownName):
            memory.import_(while_it_is_staged())
        assert staged_rows(database) > 0
        memory.settle()
    assert staged_rows(database) == 0


def test_what_another_process_is_taking_in_is_left_to_it(path: Path, open_memory: Open) -> None:
    def while_it_is_staged() -> Iterator[str]:
        yield from lines(COUNT + SLICE_ENTRIES)
        assert left(path) > 0
        assert list(open_memory(path).entries()) == []  # which looks for what was cut short
        assert left(path) > 0

    memory = open_memory(path)
    assert memory.import_(while_it_is_staged()).added == COUNT + SLICE_ENTRIES


def test_no_text_is_in_the_file_twice_once_it_is_taken_in(path: Path) -> None:
    memory, _ = opened(path)
    with memory:
        memory.import_(lines())
    content = path.read_bytes()
    for number in (0, 1, SLICE_ENTRIES, COUNT - 1):
        assert content.count(text_of(number).encode()) == 1


def bytes_of(path: Path) -> bytes:
    """All that the file and its log hold."""
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


def test_what_was_staged_is_in_no_byte_once_it_is_forgotten(path: Path, open_memory: Open) -> None:
    memory = open_memory(path)
    ids = memory.import_(lines()).ids
    assert memory.forget(ids[1], ids[SLICE_ENTRIES], ids[-1]).scrubbed
    content = bytes_of(path)
    for number in (1, SLICE_ENTRIES, COUNT - 1):
        assert text_of(number).encode() not in content
    assert text_of(2).encode() in content


def test_blank_slices_keep_their_place_while_another_one_waits(
    path: Path, open_memory: Open
) -> None:
    memory, other = open_memory(path), open_memory(path, space="others")

    def while_it_is_staged() -> Iterator[str]:
        yield from lines(COUNT + SLICE_ENTRIES)
        before = left(path)
        other.import_(lines())
        assert left(path) == before + SLICES

    memory.import_(while_it_is_staged())
    assert left(path) == 0


def test_a_space_that_is_removed_takes_along_what_is_staged_for_it(
    path: Path, open_memory: Open
) -> None:
    memory = open_memory(path)
    memory.add("Before.")

    def while_it_is_staged() -> Iterator[str]:
        yield from lines(COUNT + SLICE_ENTRIES)
        assert text_of(0).encode() in bytes_of(path)
        assert memory.forget_space("default").scrubbed
        assert text_of(0).encode() not in bytes_of(path)
        yield from islice(lines(), 1, None)  # without the header

    with pytest.raises(UnknownName, match="was removed during"):
        memory.import_(while_it_is_staged())
    assert memory.spaces() == []
    assert left(path) == 0


def test_a_long_text_and_a_long_file_come_in_slices(
    path: Path, tmp_path: Path, open_memory: Open
) -> None:
    text = "".join(
        f"Line {number} of a long text.\n" for number in range(SLICES_AT_ONCE * SLICE_CHARS // 20)
    )
    file = tmp_path / "long.txt"
    file.write_text(text, encoding="utf-8")
    other = open_memory(path, space="others")
    memory, database = opened(path, other)
    with memory:
        receipt = memory.add(text, source="text")
        assert "".join(texts(memory, "text")) == text
        assert list(receipt.ids) == [entry.id for entry in memory.entries(source="text")]
        memory.add(file, source="file")
        assert "".join(texts(memory, "file")) == text
        assert memory.add(file, source="file").unchanged == receipt.added
        assert memory.add(text, source="text").unchanged == receipt.added
        file.write_text(text.replace("Line 1 ", "Line one "), encoding="utf-8")
        assert memory.add(file, source="file").removed > 0
        assert "Line one " in "".join(texts(memory, "file"))
        assert len(texts(other, "beside")) == database.writes
    assert left(path) == 0


def test_slices_are_read_back_as_they_were_written() -> None:
    at = parse_time("2026-05-03T10:00:00.000001Z", "at")
    draft = Draft("é", "chat", at, "Ana", "user", "1", '{"a":1}', "2", "id", 3, at)
    items: list[Item] = [
        ("a", draft),
        ("a", Draft("x", "text")),
        ("b", FileSource("b", b"\1", "/b", None)),
    ]
    assert from_json(to_json(items)) == items
    plan = Plan(keeps=True, settings={"relations": {}})
    assert Plan.from_json(plan.to_json()) == plan


def test_a_slice_ends_with_its_entries_or_its_characters() -> None:
    short = [("a", Draft("x", "text"))] * (SLICE_ENTRIES + 1)
    assert [len(items) for items in in_slices(short)] == [SLICE_ENTRIES, 1]
    long = [("a", Draft("x" * (SLICE_CHARS // 2), "text"))] * 3
    assert [len(items) for items in in_slices(long)] == [2, 1]
    assert list(in_slices([])) == []


def test_an_old_version_of_a_file_that_was_cut_short_does_not_come_back_after_the_new_one(
    path: Path, open_memory: Open, tmp_path: Path
) -> None:
    file = tmp_path / "talk.jsonl"
    said = [f'{{"role": "user", "content": "{text_of(number)}"}}' for number in range(COUNT)]
    file.write_text("\n".join(said))
    memory = open_memory(path)
    envelope = Envelope.check(None, None, None, None, None, mask=False)
    with closing(memory._intake.each_file(file, None, envelope)) as receipts:
        next(receipts)  # who asked is interrupted here
    file.write_text('{"role": "user", "content": "All that is left."}\n')
    memory.add(file)
    memory.settle()  # which finishes what was cut short
    assert [entry.text for entry in memory.entries()] == ["All that is left."]


def test_forgotten_texts_that_were_staged_leave_the_bytes_when_settled(
    path: Path, open_memory: Open
) -> None:
    memory = open_memory(path)
    memory.import_(lines())
    memory.forget(f"{COUNT - 1:016x}")
    memory.import_(lines())
    memory.settle()
    stored = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    assert text_of(COUNT - 1).encode() not in stored
    assert text_of(COUNT - 2).encode() in stored
