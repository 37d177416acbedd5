"""Searching vectors of eight bits gives what searching floats gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.journal.space import SpaceReader
from treering.records import MODES, Filter, Hit, Mode
from treering.search.ranking import MOST_REFINED
from treering.search.relations.contract import Plan, Weighted
from treering.search.relations.registry import DEFAULTS
from treering.search.relations.semantic import Semantic
from treering.search.searcher import Search, Searcher
from treering.views.fragments.table import Table

WORDS = "ana ben moved porto river sister rows daily boat oar mill bread night train".split()  # noqa: SIM905
QUERIES = ["who moved to porto", "ben's boat on the river", "bread and the night train"]
WITH_SEMANTIC: Plan = {
    kind: [*weighted, Weighted(Semantic(), 0.5)] for kind, weighted in DEFAULTS.items()
}


def searcher(memory: Memory, exact_rows: int) -> Searcher:
    views = memory._views
    return Searcher(memory._space, Table(memory._space, exact_rows), lambda: views.embedder)


def filled(open_memory: Open) -> Memory:
    memory = open_memory(embedder=HashingEmbedder("hashing", 96))
    rng = np.random.default_rng(7)
    for number in range(4):
        said = [" ".join(rng.choice(WORDS, 6)) for _ in range(30)]
        messages: list[dict[str, Any]] = [
            {"role": "user", "name": ("Ana", "Ben")[at % 2], "content": text, "at": 3600 * at}
            for at, text in enumerate(said)
        ]
        memory.add(messages, source=f"chat {number}")
    memory.add(" ".join(rng.choice(WORDS, 900)), source="novel")
    return memory


def as_pairs(hits: list[Hit]) -> list[tuple[str, int]]:
    return [(hit.entry_id, hit.start) for hit in hits]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("plan", [DEFAULTS, WITH_SEMANTIC, {}], ids=["usual", "semantic", "none"])
def test_eight_bits_find_the_same_with_the_same_scores(
    open_memory: Open, mode: Mode, plan: Plan
) -> None:
    memory = filled(open_memory)
    exact, eight = searcher(memory, 10_000), searcher(memory, 0)
    for condition in (Filter(), Filter(source="chat 1")):
        asked = [Search(query, condition, mode, plan) for query in QUERIES]
        right = exact.search_many(asked, 10, every=True)
        found = eight.search_many(asked, 10, every=True)
        for hits, expected in zip(found, right, strict=True):
            assert as_pairs(hits) == as_pairs(expected)
            for hit, other in zip(hits, expected, strict=True):
                assert hit.score == pytest.approx(other.score, abs=0.1)
                assert hit.why.cosine == pytest.approx(other.why.cosine, abs=1e-5)
                assert sum(hit.why.terms.values()) == pytest.approx(hit.score, abs=1e-4)


def test_more_hits_than_are_scored_exactly_come_best_first(open_memory: Open) -> None:
    memory = filled(open_memory)
    rng = np.random.default_rng(6)
    said = [" ".join(rng.choice(WORDS, 6)) for _ in range(2 * MOST_REFINED)]
    memory.add([{"role": "user", "content": text} for text in said], source="more")
    for query in QUERIES:
        asked = Search(query, Filter(), "hybrid", DEFAULTS)
        hits = searcher(memory, 0).search(asked, 3 * MOST_REFINED)
        scores = [hit.score for hit in hits]
        assert len(scores) > MOST_REFINED
        assert scores == sorted(scores, reverse=True)
        for hit in hits:
            assert sum(hit.why.terms.values()) == pytest.approx(hit.score, abs=1e-4)


def test_the_floats_of_few_rows_are_read(open_memory: Open) -> None:
    memory = filled(open_memory)
    asked: list[int] = []

    class Counting(Table):
        def exact(self, reader: SpaceReader, model: Any, fragments: Any) -> Any:
            asked.append(len(fragments))
            return super().exact(reader, model, fragments)

    table = Counting(memory._space, exact_rows=0)
    eight = Searcher(memory._space, table, lambda: memory._views.embedder)
    eight.search(Search(QUERIES[0], Filter(), "hybrid", DEFAULTS), 1)
    assert len(asked) <= 2  # for the best, and for those that come to be among them
    assert 0 < sum(asked) < memory.stats().fragments // 2
