"""Erasing holds for every byte: no piece of an erased text, nor of its vector, is in any file."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.embedders import HashingEmbedder
from tests.faults.forgetter import Life, opened
from tests.faults.processes import ROOT
from tests.programs import Program
from treering import Memory
from treering.arrays import quantise_rows
from treering.text import with_speaker

PIECE = 12
MIXED = np.uint64(0x9E3779B97F4A7C15)


def keys(data: bytes) -> NDArray[np.uint64]:
    """A number for each piece of ``data``, in their order: of equal pieces the same."""
    count = max(len(data) - PIECE + 1, 0)
    head, tail = (
        np.ndarray((count,), "<u8", data if count else b" " * PIECE, offset, (1,))
        for offset in (0, PIECE - 8)
    )
    key: NDArray[np.uint64] = head * MIXED ^ tail
    return key


def shared(texts: Iterable[str], data: bytes) -> set[bytes]:
    """The pieces of texts that are in ``data``. A set of all pieces of a file takes ten times as
    long to make as this takes.
    """
    sought = np.sort(np.concatenate([keys(text.encode()) for text in ["", *texts]]))
    if not len(sought):
        return set()
    of_data = keys(data)
    may_be = np.zeros(1 << 24, dtype=bool)  # by the first bits: so few are left to look up
    may_be[sought >> np.uint64(40)] = True
    places = np.flatnonzero(may_be[of_data >> np.uint64(40)])
    nearest = np.searchsorted(sought, of_data[places]).clip(max=len(sought) - 1)
    places = places[sought[nearest] == of_data[places]]
    return {data[start : start + PIECE] for start in places}


def of_vectors(texts: Iterable[str]) -> set[bytes]:
    """Pieces of the vectors of short texts, which are one fragment each, as they are stored: as
    floats, and in eight bits.
    """
    short = [with_speaker(text, "Ana") for text in texts if len(text) < 200]
    vectors = HashingEmbedder().embed(short)
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    codes, _ = quantise_rows(unit.astype("<f4"))
    floats = {row.tobytes()[8:40] for row in unit.astype("<f4")}
    return floats | {row.tobytes() for row in codes}


def in_files(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def assert_gone(
    path: Path, erased: Iterable[str], memory: Memory, unfinished: Iterable[str] = ()
) -> None:
    """Whoever is killed may leave in the log what was being stored, ``unfinished``: it was no entry
    yet, and may begin like what was erased.
    """
    live = [entry.text for entry in memory.entries()]
    names = [entry.source for entry in memory.entries()]
    gone = [text for text in erased if text not in live]
    stored = in_files(path)
    kept = [text.encode() for text in (*live, *names, *unfinished)]
    left = [p for p in shared(gone, stored) if not any(p in text for text in kept)]
    assert not left, sorted(left)[:5]
    assert not [row for row in of_vectors(gone) - of_vectors(live) if row in stored]


def test_a_piece_of_a_text_is_found_wherever_it_stands() -> None:
    data = b"0123456789abcdefghij"
    pieces = {data[start : start + PIECE] for start in range(len(data) - PIECE + 1)}
    assert shared([data.decode(), "ABCDEFGHIJKL", "0123456789aB"], data) == pieces
    assert shared(["a piece of 789abcdefghi"], data) == {b"789abcdefghi"}
    assert shared(["0123456789", "nothing of it"], data) == shared([], data) == set()


@pytest.mark.parametrize("seed", range(3))
def test_what_was_forgotten_is_in_no_byte_when_forget_returns(path: Path, seed: int) -> None:
    erased: list[str] = []
    with opened(str(path)) as memory:

        def hear(**event: Any) -> None:
            erased.extend(event.get("replaced", ()))
            if "forgotten" in event:
                assert event["scrubbed"]
                erased.extend(event["forgotten"])
                if len(erased) % 3 == 0:  # looking at every byte takes its time
                    assert_gone(path, erased, memory)

        life = Life(memory, seed, hear)
        for number in range(15):
            life.step(number)
        memory.settle(upgrade=True)
        assert_gone(path, erased, memory)
        assert memory.check() == []
        assert {entry.id for entry in memory.entries()} >= life.texts.keys()
    assert_gone_closed(path, erased)


@pytest.mark.parametrize("seed", range(3))
def test_who_is_killed_while_it_forgets_leaves_nothing_once_the_file_is_opened(
    path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    command = [sys.executable, "-m", "tests.faults.forgetter", str(path), str(seed), "60"]
    with Program(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(rng.randrange(8, 45))]
        delay = rng.choice([0.0, 0.002, 0.01, 0.03])  # into the step that was announced
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay)
        process.kill()
        lines += process.stdout.readlines()
    events = [json.loads(line) for line in lines if line.endswith("\n")]
    added = [text for event in events for text in event.get("added", ())]
    forgotten = [text for event in events for text in event.get("forgotten", ())]
    with opened(str(path)) as memory:
        live = {entry.text for entry in memory.entries()}
        assert live.isdisjoint(forgotten)
        assert "scrub" not in memory.stats().pending
        unfinished = events[-1].get("adding", ()) if events else ()
        assert_gone(path, [*added, *forgotten], memory, unfinished)
        assert memory.check() == []
        memory.settle()
        assert_gone(path, [*added, *forgotten], memory, unfinished)


def assert_gone_closed(path: Path, erased: Iterable[str]) -> None:
    with opened(str(path)) as memory:
        assert_gone(path, erased, memory)
