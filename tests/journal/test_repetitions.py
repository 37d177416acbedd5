"""Equal entries: each is checked against its digest, at a cost that does not grow with them."""

from __future__ import annotations

import hashlib
import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.journal import damage
from treering.journal.damage import Content, Repetitions, digest, is_content

pytestmark = pytest.mark.both_engines

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
MAYBE = st.none() | TEXTS
EQUALS = 600
SEED = 20_260_101
TIMEOUT_S = 60.0
ID = "an id"


@given(st.tuples(TEXTS, TEXTS, MAYBE, MAYBE, MAYBE, TEXTS, st.none() | st.integers()), TEXTS)
def test_a_digest_is_that_of_a_list_in_json(content: Content, key: str) -> None:
    written = json.dumps([*content, key], ensure_ascii=False)
    assert digest(content, key) == hashlib.sha256(written.encode()).digest()


class CountingHash:
    """SHA-256 that counts what is hashed: a deterministic measure of the work."""

    count = 0

    def __init__(self, data: bytes) -> None:
        self._hash = hashlib.new("sha256", data)

    def copy(self) -> Self:
        other = type(self)(b"")
        other._hash = self._hash.copy()
        return other

    def update(self, data: bytes, /) -> None:
        CountingHash.count += 1
        self._hash.update(data)

    def digest(self) -> bytes:
        return self._hash.digest()


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> type[CountingHash]:
    CountingHash.count = 0
    monkeypatch.setattr(damage.hashlib, "sha256", CountingHash)  # type: ignore[attr-defined]
    return CountingHash


def content_of(text: str) -> Content:
    return text, "chat", None, "user", None, "{}", None


def equals(content: Content, count: int = EQUALS) -> list[tuple[bytes, int]]:
    """The digests of equal entries and the numbers of their rows."""
    return [(digest(content, str(number or "")), number + 1) for number in range(count)]


@pytest.mark.parametrize("order", ["as added", "newest first", "random"])
def test_equal_entries_cost_a_few_hashes_each_in_any_order(
    order: str, hashes: type[CountingHash]
) -> None:
    content = content_of(f"read {order}")
    rows = equals(content)
    if order == "newest first":
        rows.reverse()
    elif order == "random":
        random.Random(SEED).shuffle(rows)
    hashes.count = 0

    for _ in range(2):
        assert all(is_content(stored, content, ID, seq) for stored, seq in rows)
    assert hashes.count <= 6 * EQUALS


def test_eight_threads_that_read_equal_entries_share_the_work(hashes: type[CountingHash]) -> None:
    content = content_of("read by eight threads")
    rows = equals(content)

    def read(seed: int) -> bool:
        mine = random.Random(seed).sample(rows, len(rows))
        return all(is_content(stored, content, ID, seq) for stored, seq in mine)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(read, range(8), timeout=TIMEOUT_S))
    # Counts of threads may overwrite each other, which only makes the count smaller.
    assert hashes.count <= (1 + 8 * 2 + 1) * EQUALS


def test_a_damaged_entry_is_looked_for_once(hashes: type[CountingHash]) -> None:
    content, altered = content_of("damaged"), content_of("Damaged")
    rows = equals(content, 5)
    assert all(is_content(stored, content, ID, seq) for stored, seq in rows)
    hashes.count = 0
    for _ in range(100):
        assert not any(is_content(stored, altered, ID, seq) for stored, seq in rows)
        assert not is_content(b"", content, ID, 3)
    assert hashes.count <= 6 * 4096 + 100 * 6 * 2
    assert all(is_content(stored, content, ID, seq) for stored, seq in rows)


def test_a_number_that_an_entry_cannot_have_is_refused_although_it_is_noted() -> None:
    content = content_of("numbered")
    late = digest(content, "5000")

    assert not is_content(late, content, ID, 5000)
    assert is_content(late, content, ID, 5001)
    assert not is_content(late, content, ID, 5000)
    assert not is_content(digest(content, "0"), content, ID, 5000)
    assert is_content(digest(content, ID), content, ID, 1)
    assert not is_content(digest(content, "another id"), content, ID, 1)


@pytest.mark.parametrize("capacity", [1, 2, 64])
def test_what_is_noted_stays_within_its_capacity_and_answers_stay_right(capacity: int) -> None:
    repetitions = Repetitions(capacity)
    rng = random.Random(SEED)
    for _ in range(400):
        content = content_of(f"text {rng.randrange(8)}")
        number, stop = rng.randrange(60), rng.randrange(1, 60)
        stored = digest(content, str(number))
        begun = hashlib.sha256(damage._head(content).encode())

        assert repetitions.has_number(begun, stored, stop) == (0 < number < stop)
        assert len(repetitions) <= 2 * capacity


def test_more_equal_entries_than_are_noted_cost_a_few_hashes_each_in_order() -> None:
    repetitions, content = Repetitions(64), content_of("many")
    begun = CountingHash(damage._head(content).encode())
    rows = equals(content, 1000)[1:]
    CountingHash.count = 0

    assert all(repetitions.has_number(begun, stored, 4096) for stored, _ in rows)
    assert CountingHash.count <= 4 * len(rows)
    assert len(repetitions) <= 64
