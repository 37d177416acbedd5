"""A file that an earlier release wrote: it opens, answers as before, and is rebuilt where due.

``data/made-by-894192a.db.gz`` was made by that release with the hashing embedder of these tests,
and the answers beside it are those that it gave.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.views.pictures import picture
from treering import Memory

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "made-by-894192a.json").read_text("utf-8"))
for hits in EXPECTED["search"].values():
    for hit in hits:
        del hit[2]  # the score


@pytest.fixture
def old(path: Path, open_memory: Open) -> Memory:
    path.write_bytes(gzip.decompress((DATA / "made-by-894192a.db.gz").read_bytes()))
    return open_memory()


def search(memory: Memory) -> dict[str, Any]:
    """What is found by the relation that was the default then; there are more of them now.

    Scores are left out: cosines of texts count for less than they did then.
    """
    return {
        query: [
            [
                hit.text,
                hit.source,
                hit.superseded_by.text if hit.superseded_by else None,
                hit.stale.text if hit.stale else None,
                hit.level,
            ]
            for hit in memory.search(query, k=5, relations=["context"])
        ]
        for query in EXPECTED["search"]
    }


ANSWERS: dict[str, Callable[[Memory], Any]] = {
    "search": search,
    "facts": lambda memory: [
        [fact.subject, fact.slot, fact.value, fact.superseded_by and fact.superseded_by.text]
        for fact in memory.facts.all()
    ],
    "memos": lambda memory: [
        [memo.topic, memo.summary, list(memo.entry_ids)] for memo in memory.memos.list()
    ],
    "tree": lambda memory: memory.tree.draw(),
    "entries": lambda memory: [entry.text for entry in memory.entries()],
    "log": lambda memory: [block.instruction for block in memory.code.log("parse")],
    "context": lambda memory: str(memory.context("Where does Ines live?", budget=120)),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_it_answers_as_the_release_that_wrote_it(old: Memory, name: str) -> None:
    assert ANSWERS[name](old) == EXPECTED[name]


def test_what_scores_by_default_now_find_is_the_same_in_another_order(old: Memory) -> None:
    for query, hits in EXPECTED["search"].items():
        assert {hit.text for hit in old.search(query, k=5)} == {text for text, *_ in hits}


def test_it_is_sound_and_goes_on(old: Memory, open_memory: Open) -> None:
    assert old.check() == []
    assert old.stats().outdated == ("facts",)  # more is read of a sentence than was then
    old.rebuild("facts")
    assert old.stats().outdated == ()
    assert old.stats().pending == {}
    old.add("Added by this release.", source="new")
    assert old.search("Added by this release.", k=1)[0].source == "new"
    assert old.forget(source="ana").entries
    assert [hit.text for hit in open_memory(space="ben").search("bees")] == ["Ben keeps bees."]


def test_it_can_be_rebuilt(old: Memory) -> None:
    old.rebuild("facts")  # by the rules of today; the others were derived in the same way
    before = {name: picture(old, name) for name in ("fragments", "facts", "code", "tree")}
    old.rebuild("fragments", "facts", "code")
    assert {name: picture(old, name) for name in before} == before
    assert search(old) == EXPECTED["search"]
