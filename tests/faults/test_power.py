"""Power cuts: what was not synced may be there, torn at 512 bytes, in any order, or not at all.

The file and its log are looked at after each commit that is synced and around each checkpoint. What
is derived is not synced: it may go with what comes after it. Between two looks, a cut leaves some
sectors of what was written in between. SQLite writes to one of both at a time and
syncs before it goes on to the other, so that only one of them is torn; that it syncs where it says
is not tested here.
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.embedders import HashingEmbedder
from tests.faults.conftest import Note
from treering import Memory
from treering.errors import TreeringError
from treering.journal.contract import Writer
from treering.journal.sqlite import scrub
from treering.journal.sqlite.database import SqliteDatabase

SECTOR = 512
HEADER = 32  # bytes of a log: another one begins with another number
SURELY_FORGETS = 6  # so that at least one checkpoint is cut
NORMAL, FULL = 1, 2  # what SQLite calls how much it waits for the disk
Files = tuple[bytes, bytes]
"""The database and its log."""


@dataclass(frozen=True, slots=True)
class Step:
    """The files before and after something was written, and the texts acknowledged until then."""

    before: Files
    after: Files
    acknowledged: frozenset[str]

    @property
    def is_checkpoint(self) -> bool:
        return self.before[0] != self.after[0]


class Watch:
    """Looks at the files of a memory whenever SQLite has synced them.

    It closes none of them while the memory is open: that would drop its locks.
    """

    def __init__(self, path: Path) -> None:
        self._paths = (path, Path(f"{path}-wal"))
        self._opened: dict[Path, int] = {}
        self._last: Files | None = None
        self.on = True
        self.steps: list[Step] = []
        self.acknowledged: set[str] = set()

    def look(self) -> None:
        if not self.on:
            return
        files, last = (self._read(self._paths[0]), self._read(self._paths[1])), self._last
        if last is not None and files != last:
            self.steps.append(Step(last, files, frozenset(self.acknowledged)))
        self._last = files

    def sees_checkpoint(self) -> bool:
        """Whether the file has changed since: what moves the log into it syncs the log before."""
        return self._last is not None and self._read(self._paths[0]) != self._last[0]

    def _read(self, path: Path) -> bytes:
        if path not in self._opened:
            if not path.exists():
                return b""
            self._opened[path] = os.open(path, os.O_RDONLY)
        opened = self._opened[path]
        return os.pread(opened, os.fstat(opened).st_size, 0)

    def close(self) -> None:
        for opened in self._opened.values():
            os.close(opened)


@pytest.fixture
def watch(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Of the memory at ``path``, after each synced commit and around each checkpoint."""
    watch, write, empty_log = Watch(path), SqliteDatabase.write, scrub.empty_log

    @contextmanager
    def write_and_look(
        database: SqliteDatabase, space: str | None = None, *, derived: bool = False, **how: bool
    ) -> Iterator[Writer]:
        with write(database, space, derived=derived, **how) as writer:
            yield writer
        if not derived or watch.sees_checkpoint():
            watch.look()

    def empty_and_look(connection: sqlite3.Connection) -> bool:
        watch.look()
        is_empty = empty_log(connection)
        watch.look()
        return is_empty

    monkeypatch.setattr(SqliteDatabase, "write", write_and_look)
    monkeypatch.setattr(scrub, "empty_log", empty_and_look)
    yield watch
    watch.close()


def torn(before: bytes, after: bytes, rng: random.Random) -> bytes:
    """Some sectors as they were and some as they would have become; the length is one of both."""
    share = rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    longest = max(len(before), len(after))
    sectors = []
    for start in range(0, longest, SECTOR):
        old, new = (text[start : start + SECTOR] for text in (before, after))
        sectors.append(new if rng.random() < share else old.ljust(len(new), b"\0"))
    whole = b"".join(sectors)
    return whole[: rng.choice((len(before), len(after), longest))]


def cut(step: Step, rng: random.Random) -> Files:
    """What a cut in a step may leave.

    SQLite appends to the log, and syncs it. At a checkpoint it then moves what is in the log into
    the database, syncs that, and empties the log or begins it anew: it writes and syncs another
    header, after which old frames do not count, and only then frames.
    """
    (database, log), (later_database, later_log) = step.before, step.after
    is_appended = log[:HEADER] == later_log[:HEADER]
    if step.is_checkpoint:
        moved = later_log if is_appended else log
        torn_database = torn(database, later_database, rng)
        return rng.choice(
            [(torn_database, moved), (later_database, moved), (later_database, later_log)]
        )
    if is_appended:
        return database, torn(log, later_log, rng)
    return database, later_log[:SECTOR] + torn(log[SECTOR:], later_log[SECTOR:], rng)


def test_every_commit_waits_until_the_drive_has_it_but_for_what_is_derived(path: Path) -> None:
    """On macOS ``fsync`` leaves it in the drive's cache; elsewhere SQLite ignores two of these."""
    with closing(SqliteDatabase(path)) as database:
        for derived, level in ((False, FULL), (True, NORMAL), (False, FULL)):
            with database.write(derived=derived) as writer:
                assert writer.row("PRAGMA synchronous") == (level,)
                assert writer.row("PRAGMA fullfsync") == (1,)
                assert writer.row("PRAGMA checkpoint_fullfsync") == (1,)
        with pytest.raises(KeyboardInterrupt), database.write(derived=True):
            raise KeyboardInterrupt
        with database.write() as writer:
            assert writer.row("PRAGMA synchronous") == (FULL,)


def test_an_entry_is_there_and_found_though_what_was_derived_from_it_went_with_the_power(
    path: Path, watch: Watch
) -> None:
    with Memory.open(path, embedder=HashingEmbedder(), llm="none") as memory:
        memory.add("Ana bought a boat.", source="talk")
        memory.add("I live in Porto.", source="talk", kind="chat", speaker="Ben")
        [*_, last] = watch.steps
        left = last.after  # the entry was stored; what was derived was not synced any more
        copy = path.with_name("cut.db")
        leave(copy, left)
    with closing(sqlite3.connect(copy)) as file:
        assert file.execute("SELECT count(*) FROM entry").fetchone() == (2,)
        assert file.execute("SELECT count(*) FROM fragment").fetchone() == (1,)
    with Memory.open(copy, embedder=HashingEmbedder(), llm="none") as memory:
        assert [hit.text for hit in memory.search("Porto", k=1)] == ["I live in Porto."]
        assert [fact.value for fact in memory.facts.all()] == ["Porto"]
        assert memory.stats().pending == {}


@pytest.mark.timeout(1_200)
def test_a_power_cut_loses_nothing_that_was_acknowledged(
    path: Path, watch: Watch, rng: random.Random, rounds: Callable[[int], int], note: Note
) -> None:
    count, tried, checkpoints, number = rounds(12), 0, 0, 0
    with Memory.open(path, embedder=HashingEmbedder(), llm="none") as memory:
        while tried < count or number < SURELY_FORGETS:
            number += 1
            change(memory, watch, number, rng)
            steps = [step for step in watch.steps if step.is_checkpoint][:1]
            steps += rng.sample(watch.steps, min(2, len(watch.steps)))
            watch.steps.clear()
            watch.on = False
            for step in steps:
                assert_nothing_is_lost(path.with_name("cut.db"), cut(step, rng), step.acknowledged)
                checkpoints += step.is_checkpoint
                tried += 1
            watch.on = True
    assert checkpoints
    note("power cuts, torn and reordered", cuts=tried, at_checkpoints=checkpoints, lost=0)


def change(memory: Memory, watch: Watch, number: int, rng: random.Random) -> None:
    """Add a text, or at times forget one, which empties the log."""
    is_random = rng.random() < 0.3 and len(watch.acknowledged) > 3
    if is_random or number == SURELY_FORGETS:
        text = rng.choice(sorted(watch.acknowledged))
        [identity] = [entry.id for entry in memory.entries() if entry.text == text]
        watch.acknowledged.remove(text)  # it may be gone from now on
        memory.forget(identity)
        return
    text = f"Ana saw number {number} of {rng.getrandbits(60)}. " * rng.randrange(1, 40)
    memory.add(text.strip(), source=f"notes {number}")
    watch.acknowledged.add(text.strip())


def leave(copy: Path, left: Files) -> None:
    copy.write_bytes(left[0])
    Path(f"{copy}-wal").write_bytes(left[1])
    Path(f"{copy}-shm").unlink(missing_ok=True)


def assert_nothing_is_lost(copy: Path, left: Files, acknowledged: frozenset[str]) -> None:
    leave(copy, left)
    with Memory.open(copy, embedder=HashingEmbedder(), llm="none") as memory:
        assert memory.check() == []
        assert acknowledged <= {entry.text for entry in memory.entries()}


@pytest.mark.timeout(1_200)
def test_flipped_bits_are_named_or_harmless(
    tmp_path: Path, rng: random.Random, rounds: Callable[[int], int], note: Note
) -> None:
    source, copy = tmp_path / "life.db", tmp_path / "flipped.db"
    with Memory.open(source, embedder=HashingEmbedder(), llm="none") as memory:
        for number in range(40):
            memory.add(f"Ana saw number {number} in Porto. " * 9, source=f"notes {number}")
        whole = {entry.id: entry.text for entry in memory.entries()}
    content, named, count = source.read_bytes(), 0, rounds(20)
    for _ in range(count):
        damaged = bytearray(content)
        for _ in range(rng.choice((1, 1, 8))):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        copy.write_bytes(damaged)
        for beside in ("-wal", "-shm"):
            Path(f"{copy}{beside}").unlink(missing_ok=True)
        try:
            with Memory.open(copy, embedder=HashingEmbedder(), llm="none") as memory:
                named += bool(memory.check())
                for identity in whole:
                    try:
                        assert memory.get(identity).text == whole[identity]
                    except TreeringError:
                        named += 1
                memory.search("Porto", k=3)
                memory.settle()
        except TreeringError:
            named += 1
    note("flipped bits", files=count, named=named, wrong_texts=0)
