"""Blocks hold what was put there, whatever came, went or was made anew; nothing of what went."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.pictures import terms_at
from treering.arrays import quantise_rows
from treering.errors import JournalCorrupt
from treering.journal import blocks, vector_blocks
from treering.journal.contract import Reader, Writer
from treering.journal.space import EmbeddingModel, Space, register_model
from treering.journal.sqlite.database import SqliteDatabase

WIDTH = 8
sizes = st.lists(st.integers(0, 5), min_size=1, max_size=9)
step = st.one_of(
    st.tuples(st.just("add"), sizes),
    st.tuples(st.just("erase"), st.sets(st.integers(0, 40), max_size=6)),
    st.tuples(st.just("rewrite"), st.sets(st.integers(0, 40), max_size=4)),
)


class Blocks:
    """Fragments of one space in blocks, and beside them what is expected of each."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = Space(database, "here")
        self.terms: dict[int, list[tuple[int, int]]] = {}
        self.vectors: dict[int, bytes] = {}
        self.places: dict[int, tuple[int, int]] = {}
        self.gone: list[bytes] = []
        self._last = 0
        self._rng = np.random.default_rng(0)
        with self.database.write() as writer:
            self.space = writer.id
            self.model = register_model(writer, "hashing", WIDTH)

    def add(self, sizes: list[int]) -> None:
        counts = [self._terms(size) for size in sizes]
        rows = np.zeros(len(sizes), dtype=blocks.ROW)
        rows["fragment"] = np.arange(len(sizes)) + self._last + 1
        rows["entry"] = rows["fragment"] + 1_000
        vectors = self._rng.normal(size=(len(sizes), WIDTH)).astype(np.float32)
        ids = rows["fragment"].copy()
        with self.database.write() as writer:
            places, reserved = blocks.reserve(writer, self.space, sizes)
            blocks.fill(writer, places, reserved, rows, counts)
            at = [(place.block, place.slot) for place in places]
            vector_blocks.put(writer, self.space, self.model, at, ids, ids, vectors)
        self._last += len(sizes)
        for fragment, place, of_row, vector in zip(ids.tolist(), at, counts, vectors, strict=True):
            self.places[fragment] = place
            self.terms[fragment] = [tuple(pair) for pair in of_row.tolist()]
            self.vectors[fragment] = vector.tobytes()

    def erase(self, chosen: set[int]) -> None:
        fragments = chosen & self.places.keys()
        places = [self.places.pop(fragment) for fragment in sorted(fragments)]
        with self.database.write() as writer:
            vector_blocks.erase(writer, places)
            emptied = blocks.erase(writer, self.space, places)
            vector_blocks.drop_beside(writer, [self.model], emptied)
        for fragment, (_, slot) in zip(sorted(fragments), places, strict=True):
            self.gone += self._codes(self.vectors.pop(fragment))
            self.gone += self._postings(slot, self.terms.pop(fragment))

    def rewrite(self, chosen: set[int]) -> None:
        fragments = sorted(chosen & self.places.keys())
        by_block = blocks.by_block(self.places[fragment] for fragment in fragments)
        of_place = {place: fragment for fragment, place in self.places.items()}
        for block, slots in by_block.items():
            ids = [of_place[block, slot] for slot in slots]
            counts = [self._terms(int(self._rng.integers(9))) for _ in slots]
            rows = np.zeros(len(slots), dtype=blocks.ROW)
            rows["fragment"], rows["entry"] = ids, np.array(ids) + 1_000
            with self.database.write() as writer:
                blocks.rewrite(writer, block, slots, rows, counts)
            for fragment, slot, of_row in zip(ids, slots, counts, strict=True):
                self.gone += self._postings(slot, self.terms[fragment])
                self.terms[fragment] = [tuple(pair) for pair in of_row.tolist()]

    def _terms(self, size: int) -> Any:
        """Terms that no other fragment has, but by a chance that does not occur."""
        terms = self._rng.integers(1 << 30, 1 << 32, size)
        counts = np.stack([np.sort(terms), self._rng.integers(1, 9, size)], axis=1)
        return counts.astype(np.uint32)

    @staticmethod
    def _postings(slot: int, terms: list[tuple[int, int]]) -> list[bytes]:
        return [np.array((term, slot, n), dtype=blocks.POSTING).tobytes() for term, n in terms]

    @staticmethod
    def _codes(vector: bytes) -> list[bytes]:
        codes, _ = quantise_rows(np.frombuffer(vector, np.float32)[None])
        return [codes.tobytes()]


@contextmanager
def database() -> Iterator[SqliteDatabase]:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(SqliteDatabase(Path(folder) / "blocks.db")) as database,
    ):
        yield database


def terms_after(reader: Reader, space: int, fragment: int) -> dict[int, list[tuple[int, int]]]:
    """Fragments above one, with their terms, as opening a space reads them."""
    terms: dict[int, list[tuple[int, int]]] = {}
    for block in blocks.after(reader, space, fragment):
        first, rows = blocks.new_rows(reader, block, fragment)
        postings = blocks.postings_of(reader, block, first, rows)
        assert not block.is_sorted or (np.diff(postings["term"].astype(np.int64)) >= 0).all()
        for at, row in enumerate(rows):
            if row["fragment"]:
                assert row["entry"] == row["fragment"] + 1_000
                ours = postings[postings["slot"] == first + at]
                pairs = zip(ours["term"].tolist(), ours["count"].tolist(), strict=True)
                terms[int(row["fragment"])] = sorted(pairs)
                assert row["length"] == ours["count"].sum()
    return terms


def vectors_after(reader: Reader, space: int, model: EmbeddingModel, number: int) -> list[int]:
    found: list[int] = []
    for block in vector_blocks.after(reader, space, model, number):
        stored = vector_blocks.read(reader, block, number)
        found += stored.fragment.tolist()
    return found


@given(steps=st.lists(step, max_size=9), mark=st.integers(0, 30))
def test_what_blocks_hold_is_what_came_and_did_not_go(
    steps: list[tuple[str, Any]], mark: int
) -> None:
    with database() as file, pytest.MonkeyPatch.context() as small:
        small.setattr(blocks, "MOST_SLOTS", 12)
        small.setattr(blocks, "MOST_POSTINGS", 30)
        small.setattr(vector_blocks, "MOST_SLOTS", 5)
        held = Blocks(file)
        for name, what in steps:
            getattr(held, name)(what)
        with held.database.read() as reader:
            later = {f: of for f, of in held.terms.items() if f > mark}
            assert terms_after(reader, held.space, 0) == held.terms
            assert terms_after(reader, held.space, mark) == later
            assert blocks.count(reader, held.space) == len(held.terms)
            assert sorted(vectors_after(reader, held.space, held.model, mark)) == sorted(later)
            assert vector_blocks.count(reader, held.space, held.model) == len(held.terms)
            assert vector_blocks.count_after(reader, held.space, held.model, mark) == len(later)
            following = vector_blocks.next_after(reader, held.space, held.model, mark, 3)
            assert [fragment for _, fragment in following] == sorted(later)[:3]
            at = list(held.places.values())
            assert vector_blocks.number_at(reader, held.model, at) == list(held.places)
        assert file.scrub(())
        content = Path(file.url).read_bytes()
        assert not [trace for trace in held.gone if trace in content]


def test_a_block_is_as_large_as_the_half_of_what_is_there_up_to_a_limit() -> None:
    with database() as file, pytest.MonkeyPatch.context() as small:
        small.setattr(blocks, "MOST_SLOTS", 64)
        held = Blocks(file)
        for _ in range(300):
            held.add([1])
        with file.read() as reader:
            slots = [int(row[0]) for row in reader.rows("SELECT slots FROM block ORDER BY id")]
            is_sorted = [row[0] for row in reader.rows("SELECT sorted FROM block ORDER BY id")]
    assert slots == [1, 2, 2, 2, 3, 5, 7, 11, 16, 24, 36, 54, 64, 64, 64]
    assert is_sorted == [1] * 14 + [0]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE block_rows SET data = x'01'",
        "DELETE FROM block_postings",
        "UPDATE block_postings SET data = 'words'",
        "DELETE FROM block",
    ],
)
def test_a_damaged_block_is_an_error_and_is_mended_by_writing_it_anew(damage: str) -> None:
    with database() as file:
        held = Blocks(file)
        held.add([2, 3])
        with file.write() as writer:
            writer.execute(damage)

        def read(reader: Reader | Writer) -> None:
            assert terms_at(reader, held.space, list(held.places.values()))
            for block in blocks.after(reader, held.space, 0):
                blocks.read_rows(reader, block)

        with held.database.read() as reader, pytest.raises(JournalCorrupt):
            read(reader)
        if damage.endswith("block"):
            return
        held.rewrite({1, 2})
        with held.database.read() as reader:
            assert terms_after(reader, held.space, 0) == held.terms


def test_a_posting_that_names_no_slot_of_its_block_stops_no_forgetting() -> None:
    with database() as file:
        held = Blocks(file)
        held.add([2, 3])
        with file.write() as writer:
            [(number, data)] = writer.rows("SELECT id, data FROM block_postings")
            postings = np.frombuffer(data, dtype=blocks.POSTING).copy()
            postings["slot"][-1] = 60_000
            writer.execute(
                "UPDATE block_postings SET data = ? WHERE id = ?", (postings.tobytes(), number)
            )
            place = next(iter(held.places.values()))
            blocks.erase(writer, held.space, [place])
            [block] = blocks.after(writer, held.space, 0)
            left = blocks.read_postings(writer, block)
            assert not ((left["slot"] == place[1]) & (left["count"] > 0)).any()
