from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from treering import Memory
from treering.errors import InputError

pytest.importorskip("langgraph.store", reason="langgraph-checkpoint is not installed")

from langgraph.store.base import GetOp, PutOp
from langgraph.store.memory import InMemoryStore

from treering.adapters.langgraph import TreeringStore

USERS: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
    (("users", "ann"), "tea", {"text": "Ann drinks green tea", "cups": 3}),
    (("users", "ann"), "pet", {"text": "Ann has a cat named Miu", "cups": 0}),
    (("users", "bob"), "tea", {"text": "Bob drinks black tea", "cups": 5}),
    (("users",), "rule", {"text": "Users are polite"}),
    (("us",), "other", {"text": "no user drinks this"}),
    (("odd/name", "%2F"), "a/b", {"text": "odd"}),
]


@pytest.fixture
def store(memory: Memory) -> TreeringStore:
    made = TreeringStore(memory)
    for namespace, key, value in USERS:
        made.put(namespace, key, value)
    return made


@pytest.fixture
def oracle() -> InMemoryStore:
    made = InMemoryStore()
    for namespace, key, value in USERS:
        made.put(namespace, key, value)
    return made


def keys(items: list[Any]) -> set[tuple[tuple[str, ...], str]]:
    return {(item.namespace, item.key) for item in items}


def test_what_is_put_is_got_and_what_is_deleted_is_gone_from_the_bytes(
    store: TreeringStore, path: Path
) -> None:
    item = store.get(("users", "ann"), "pet")
    assert item is not None
    assert item.value == {"text": "Ann has a cat named Miu", "cups": 0}
    assert item.namespace == ("users", "ann")
    store.delete(("users", "ann"), "pet")
    assert store.get(("users", "ann"), "pet") is None
    assert b"named Miu" not in path.read_bytes()
    assert store.get(("users", "ann"), "tea") is not None


def test_what_is_put_again_replaces_the_old_and_keeps_when_it_was_made(
    store: TreeringStore, path: Path
) -> None:
    before = store.get(("users", "ann"), "tea")
    store.put(("users", "ann"), "tea", {"text": "Ann drinks mate"})
    after = store.get(("users", "ann"), "tea")
    assert before is not None
    assert after is not None
    assert after.value == {"text": "Ann drinks mate"}
    assert after.created_at == before.created_at
    assert after.updated_at > before.updated_at
    assert b"Ann drinks green tea" not in path.read_bytes()


@pytest.mark.parametrize(
    ("prefix", "condition"),
    [
        ((), None),
        (("users",), None),
        (("users", "ann"), {"cups": 3}),
        (("users",), {"cups": {"$gte": 3}}),
        (("users",), {"cups": {"$gt": 0, "$lt": 5}}),
        (("users",), {"cups": {"$ne": 3}}),
        (("odd/name",), None),
        (("nobody",), None),
    ],
)
def test_items_are_listed_as_the_reference_store_lists_them(
    store: TreeringStore,
    oracle: InMemoryStore,
    prefix: tuple[str, ...],
    condition: dict[str, Any] | None,
) -> None:
    if condition == {"cups": {"$gte": 3}}:  # it cannot compare what is missing with a number
        oracle.delete(("users",), "rule")
        store.delete(("users",), "rule")
    if condition == {"cups": {"$gt": 0, "$lt": 5}}:
        oracle.delete(("users",), "rule")
        store.delete(("users",), "rule")
    assert keys([*store.search(prefix, filter=condition)]) == keys(
        [*oracle.search(prefix, filter=condition)]
    )


def test_a_query_finds_by_what_was_said_within_the_namespace(store: TreeringStore) -> None:
    best = store.search(("users",), query="who drinks tea", limit=2)
    assert keys([*best]) == {(("users", "ann"), "tea"), (("users", "bob"), "tea")}
    scores = [one.score or 0.0 for one in best]
    assert scores == sorted(scores, reverse=True)
    assert keys([*store.search(("users", "ann"), query="tea", limit=1)]) == {
        (("users", "ann"), "tea")
    }
    [strong] = store.search(("users",), query="drinks tea", filter={"cups": 5})
    assert strong.value["text"] == "Bob drinks black tea"


def test_pages_of_results_do_not_overlap(store: TreeringStore) -> None:
    pages = [store.search((), query="drinks", limit=2, offset=at) for at in range(0, 8, 2)]
    seen = [(one.namespace, one.key) for page in pages for one in page]
    assert len(seen) == len(set(seen)) == len(USERS)


def test_only_the_indexed_fields_are_searched(memory: Memory) -> None:
    store = TreeringStore(memory)
    store.put(("a",), "one", {"title": "harbour", "secret": "zebra"}, index=["title"])
    store.put(("a",), "two", {"title": "meadow"}, index=False)
    assert [entry.text for entry in memory.entries()] == ["harbour", "two"]
    assert store.search(("a",), query="harbour")[0].key == "one"


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"prefix": ("users",)},
        {"suffix": ("ann",)},
        {"prefix": ("users", "*")},
        {"max_depth": 1},
        {"prefix": ("users", "ann", "deep")},
    ],
)
def test_namespaces_are_listed_as_the_reference_store_lists_them(
    store: TreeringStore, oracle: InMemoryStore, asked: dict[str, Any]
) -> None:
    found = store.list_namespaces(**asked)
    assert set(found) == set(oracle.list_namespaces(**asked))


def test_a_value_longer_than_an_entry_comes_back_whole_and_once(memory: Memory) -> None:
    store = TreeringStore(memory)
    long = {"text": "the tide turns. " * 4000}
    store.put(("a",), "long", long)
    item = store.get(("a",), "long")
    assert item is not None
    assert item.value == long
    assert len(store.search(("a",), query="tide")) == 1
    store.put(("a",), "long", {"text": "short"})
    assert sum(1 for _ in memory.entries()) == 1


def test_operations_come_in_batches_also_side_by_side(memory: Memory) -> None:
    store = TreeringStore(memory)
    put = PutOp(("a",), "k", {"text": "hello"})
    item: Any = asyncio.run(store.abatch([put, GetOp(("a",), "k")]))[1]
    assert item.value == {"text": "hello"}


def test_an_operator_that_is_not_known_is_refused(store: TreeringStore) -> None:
    with pytest.raises(InputError, match=r"\$near"):
        store.search((), filter={"cups": {"$near": 3}})


def test_a_filter_may_be_a_path_with_dots(memory: Memory) -> None:
    store = TreeringStore(memory)
    store.put(("docs",), "a", {"user": {"access-level": "nested"}, "x.y": 1})
    store.put(("docs",), "b", {"user": "nested", "x": {"y": 2}})
    assert keys([*store.search(("docs",), filter={"user.access-level": "nested"})]) == {
        (("docs",), "a")
    }
    for wanted, key in ((1, "a"), (2, "b")):
        assert keys([*store.search(("docs",), filter={"x.y": wanted})]) == {(("docs",), key)}


def test_characters_that_cannot_be_stored_are_replaced(memory: Memory) -> None:
    store = TreeringStore(memory)
    store.put(("a",), "k", {"text": "cut \ud83d", "parts": ["a\0b"]})
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"text": "cut \ufffd", "parts": ["a\ufffdb"]}
