"""Power cuts: what was not synced may be there, torn at 512 bytes, in any order, or not at all.

The states of the file and its log are copied at each acknowledgement. Between two of them, a cut
leaves some sectors of what was written in between. SQLite writes to one of both at a time and syncs
before it goes on to the other, so that only one of them is torn; that it syncs where it says is not
tested here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.embedders import HashingEmbedder
from tests.faults.conftest import Note
from treering import Memory
from treering.errors import TreeringError
from treering.journal.sqlite import SqliteDatabase

SECTOR = 512
Files = tuple[bytes, bytes]
"""The database and its log."""


def files(path: Path) -> Files:
    log = Path(f"{path}-wal")
    return path.read_bytes(), log.read_bytes() if log.exists() else b""


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


def cuts(before: Files, after: Files, rng: random.Random) -> Files:
    """What a cut between two acknowledgements may leave."""
    if before[0] == after[0]:  # only the log was written
        return before[0], torn(before[1], after[1], rng)
    # A checkpoint: the log was whole and synced first, then the pages were moved, then a new log
    # may have been begun.
    if rng.random() < 0.5:
        return torn(before[0], after[0], rng), before[1]
    return after[0], torn(before[1], after[1], rng)


def test_every_commit_waits_until_the_drive_has_it(path: Path) -> None:
    """On macOS ``fsync`` leaves it in the drive's cache; elsewhere SQLite ignores two of these."""
    with closing(SqliteDatabase(path)) as database, database.read() as reader:
        for setting, value in (("synchronous", 2), ("fullfsync", 1), ("checkpoint_fullfsync", 1)):
            assert reader.row(f"PRAGMA {setting}") == (value,), setting


@pytest.mark.timeout(1_200)
def test_a_power_cut_loses_nothing_that_was_acknowledged(
    tmp_path: Path, rng: random.Random, rounds: Callable[[int], int], note: Note
) -> None:
    source, tried = tmp_path / "life.db", 0
    states: list[tuple[Files, frozenset[str]]] = []
    texts: set[str] = set()
    with Memory.open(source, embedder=HashingEmbedder(), llm="none") as memory:
        for number in range(10 + rounds(5)):
            text = f"Ana saw number {number} of {rng.getrandbits(60)}. " * rng.randrange(1, 40)
            memory.add(text, source=f"notes {number}")
            texts.add(text)
            states.append((files(source), frozenset(texts)))
    copy = tmp_path / "cut.db"
    for _ in range(rounds(12)):
        at = rng.randrange(len(states) - 1)
        (before, acknowledged), (after, _) = states[at], states[at + 1]
        database, log = cuts(before, after, rng)
        copy.write_bytes(database)
        Path(f"{copy}-wal").write_bytes(log)
        Path(f"{copy}-shm").unlink(missing_ok=True)
        with Memory.open(copy, embedder=HashingEmbedder(), llm="none") as memory:
            assert memory.check() == []
            assert acknowledged <= {entry.text for entry in memory.entries()}
        tried += 1
    note("power cuts, torn and reordered", cuts=tried, acknowledged=len(texts), lost=0)


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
