"""Search: the terms of ``why`` add up to the score, and modes and relations do what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.raised import raises
from treering import Hit, Memory
from treering.arrays import Floats
from treering.errors import EmptyText, InputError, UnknownName
from treering.llm.settings import NONE
from treering.records import KINDS, Forgotten, Why
from treering.search.relations.contract import Weighted
from treering.search.relations.decay import ContextRelation, Time
from treering.search.relations.group import Session, Speaker
from treering.search.relations.semantic import Semantic
from treering.search.searcher import MAX_QUERY_CHARS

RELATIONS: list[Any] = [
    None,
    (),
    ["context"],
    ["context", "time", "semantic", "session", "speaker"],
    [ContextRelation(0.8, "session"), Weighted(Time(3600), 0.3), Semantic(form="printed")],
    [Session(), Speaker(), ContextRelation(0.2), ContextRelation(0.9, name="wide")],
]


@pytest.fixture
def mixed(memory: Memory) -> Memory:
    """A chat of two with times, a text and code."""
    memory.add(
        [
            {
                "role": "user",
                "name": ("Ana", "Ben")[n % 2],
                "content": f"Message {n} on {('Porto', 'the river', 'boats')[n % 3]}.",
                "at": 1_700_000_000 + n * (60 if n % 7 else 90_000),
            }
            for n in range(40)
        ],
        source="chat",
    )
    memory.add("Porto lies on a river. " * 120, source="novel.txt")
    code = "\n".join(f"def porto_{n}():\n    return {n}" for n in range(60))
    memory.add(code, source="porto.py", kind="code")
    return memory


def assert_adds_up(hits: list[Hit]) -> None:
    assert hits
    for hit in hits:
        assert math.isfinite(hit.score)
        assert sum(hit.why.terms.values()) == pytest.approx(hit.score, abs=1e-4)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "dense"])
@pytest.mark.parametrize("relations", RELATIONS)
@pytest.mark.parametrize("alpha", [None, 0.0, 0.7])
def test_the_terms_of_why_add_up_to_the_score(
    mixed: Memory, mode: Any, relations: Any, alpha: float | None
) -> None:
    hits = mixed.search(
        "What did Ana say on Porto?", k=60, mode=mode, relations=relations, alpha=alpha
    )
    assert_adds_up(hits)
    assert {hit.kind for hit in hits} <= set(KINDS)
    for hit in hits:
        assert ("lexical" in hit.why.terms) == (hit.why.bm25 is not None) == (mode != "dense")
        assert ("dense" in hit.why.terms) == (hit.why.cosine is not None) == (mode != "lexical")


def test_without_relations_only_the_own_score_counts(mixed: Memory) -> None:
    for hit in mixed.search("What did Ana say on Porto?", k=50, relations=()):
        assert set(hit.why.terms) == {"lexical", "dense"}


def test_k_bounds_the_hits_and_more_than_all_is_all(mixed: Memory) -> None:
    everything = mixed.search("Porto", k=10_000, all=True)
    assert len(everything) == mixed.stats().fragments
    for k in (1, 3, 50):
        assert mixed.search("Porto", k=k, all=True) == everything[:k]


def test_equal_texts_come_in_the_order_in_which_they_were_added(memory: Memory) -> None:
    for n in range(20):
        memory.add("Porto lies on a river.", source=f"note {n:02}")
    sources = [hit.source for hit in memory.search("Porto", k=20, all=True)]
    assert sources == sorted(sources)
    assert [hit.source for hit in memory.search("Porto", k=5, all=True)] == sources[:5]


def test_any_query_has_finite_scores(mixed: Memory) -> None:
    longest = "Porto river " * (MAX_QUERY_CHARS // 12)
    for query in ("xyzzy", "?!", "…", "の", "the of and", "\n\tPorto", longest):
        assert_adds_up(mixed.search(query, k=5))


@pytest.mark.parametrize(
    ("query", "options", "error", "message"),
    [
        ("", {}, EmptyText, "ask for something"),
        (" \n", {}, EmptyText, "ask for something"),
        (5, {}, InputError, "a query is a int"),
        ("x" * (MAX_QUERY_CHARS + 1), {}, InputError, "20001 characters, at most 20000"),
        ("Porto\0", {}, InputError, "NUL"),
        ("Porto \ud800", {}, InputError, "lone surrogate"),
        ("Porto", {"k": 0}, InputError, "k is 0"),
        ("Porto", {"k": 1.5}, InputError, "k is 1.5"),
        ("Porto", {"k": True}, InputError, "k is True"),
        ("Porto", {"min_confidence": "a"}, InputError, "'a'; it must be a number from 0 to 1"),
        ("Porto", {"min_confidence": None}, InputError, "None; it must be a number from 0 to 1"),
        ("Porto", {"mode": "fuzzy"}, InputError, "mode is 'fuzzy'; it can be hybrid"),
        ("Porto", {"relations": ["kinship"]}, UnknownName, "no relation 'kinship'"),
        ("Porto", {"relations": [5]}, InputError, "5, which has no name and no bind; give a name"),
        ("Porto", {"relations": "context"}, InputError, "relations"),
        ("Porto", {"alpha": {"kinship": 1.0}}, UnknownName, "alpha for kinship"),
    ],
)
def test_a_query_that_cannot_be_asked_is_refused(
    mixed: Memory, query: Any, options: dict[str, Any], error: type[InputError], message: str
) -> None:
    with pytest.raises(error, match=message):
        mixed.search(query, **options)
    if "k" not in options:
        with pytest.raises(error, match=message):
            mixed.context(query, **options)


def test_what_a_crash_left_undone_is_found_by_the_next_search(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    with monkeypatch.context() as crash:
        crash.setattr(memory._views, "build", lambda *_, **__: None)  # killed after the commit
        assert memory.add("Porto lies on a river.").pending == 1
    assert memory.search("Porto")[0].text == "Porto lies on a river."
    assert memory.stats().pending == {}


def test_a_query_is_not_stored(open_memory: Open, tmp_path: Any) -> None:
    embedder = HashingEmbedder()
    memory = open_memory(embedder=embedder)
    memory.add("Porto lies on a river.")
    memory.search("unmistakable question")
    memory.context("unmistakable question")
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("life.db*"))
    assert b"unmistakable" not in stored


def test_a_query_that_is_slow_to_embed_does_not_keep_the_file_from_being_cleaned(
    open_memory: Open,
) -> None:
    embedder = HashingEmbedder()
    memory = open_memory(embedder=embedder)
    entry = memory.add("The spare key lies under the third flowerpot.").ids[0]
    forgotten: list[Forgotten] = []

    def forgetting(texts: Sequence[str], vectors: Floats) -> Floats:
        embedder.tamper = None
        forgotten.append(memory.forget(entry))
        return vectors

    embedder.tamper = forgetting
    assert not memory.search("Where is the key?")
    assert forgotten[0].scrubbed


def test_cosines_of_what_the_bundled_model_cannot_read_count_a_fifth(path: Path) -> None:
    texts = ["Ana lives in Porto", "Ана живёт в Порту", "The weather is fine", "Погода хорошая"]
    with Memory.open(path, llm=NONE) as memory:
        for text in texts:
            memory.add(text, source=text)
        read, *unread = (
            {hit.text: hit.why for hit in memory.search(query, k=4, relations=())}
            for query in ("where does Ana live", "где живёт Ана", "Wo wohnt denn die Ana?")
        )

    def scale(whys: dict[str, Why]) -> float:
        """What a difference of cosines is worth, in terms of the standard deviation of all."""
        cosines = np.array([whys[text].cosine for text in texts], dtype=np.float64)
        dense = np.array([whys[text].terms["dense"] for text in texts])
        return float(np.ptp(dense) / np.ptp(cosines) * cosines.std())

    assert scale(read) == pytest.approx(1, rel=1e-3)
    assert [scale(whys) for whys in unread] == pytest.approx([0.2, 0.2], rel=1e-3)


def test_several_queries_are_no_text(mixed: Memory) -> None:
    with raises(InputError, param="queries"):
        mixed.search_many("Porto")


def test_words_that_no_text_has_find_nothing_but_all_match_in_a_memory_of_one(
    memory: Memory,
) -> None:
    memory.add("Porto lies on a river.", source="a note")
    assert memory.search("zebra", mode="lexical") == []
    assert memory.context("zebra", mode="lexical").passages == ()
    assert [hit.score for hit in memory.search("Porto", mode="lexical")] == [0.0]
    assert memory.search("zebra") != []
