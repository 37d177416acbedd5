"""Rerankers: what orders the best hits anew, given by a program or brought by a package."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.embedders import HashingEmbedder
from tests.llm import chat_server as server
from tests.plugins import install
from tests.raised import raises
from treering import Memory
from treering.errors import EmbeddingError, InputError, UnknownName
from treering.llm.scripted import FakeLLM
from treering.search.rerank import LOOKED_AT

TEXTS = ["Ana moved to Porto.", "Porto lies in the north.", "Ben likes Porto, and long letters."]


class Shortest:
    """Thinks that the shortest text answers best; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.asked.append((query, [*texts]))
        return [-len(text) for text in texts]


class Scripted:
    def __init__(self, *scores: float) -> None:
        self._scores = scores

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return self._scores


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "memory.db", embedder=HashingEmbedder()) as memory:
        for number, text in enumerate(TEXTS):
            memory.add(text, source=f"text {number}")
        yield memory


def test_a_reranker_orders_the_best_anew_and_its_scores_are_the_hits(memory: Memory) -> None:
    hits = memory.search("who likes Porto", k=2, rerank=Shortest())
    assert [hit.text for hit in hits] == sorted(TEXTS, key=len)[:2]
    assert hits[0].why.terms == {"rerank": hits[0].score}
    assert hits[0].why.bm25 is not None


def test_a_reranker_reads_more_than_are_asked_for_and_who_said_it(memory: Memory) -> None:
    turns = [{"role": "user", "name": "Ana", "content": f"Porto, number {n}"} for n in range(60)]
    memory.add(turns, source="chat")
    reranker = Shortest()
    memory.search_many(["Porto", "number 7"], k=1, rerank=reranker)
    assert [query for query, _ in reranker.asked] == ["Porto", "number 7"]
    assert all(len(texts) == LOOKED_AT for _, texts in reranker.asked)
    assert any(text.startswith("Ana: Porto") for text in reranker.asked[0][1])


@pytest.mark.parametrize("scores", [(1.0,), (1.0, 2.0, float("nan"))])
def test_a_reranker_that_does_not_score_every_text_is_refused(
    memory: Memory, scores: tuple[float, ...]
) -> None:
    with pytest.raises(InputError, match="finite number for each"):
        memory.search("Porto", rerank=Scripted(*scores))


@pytest.mark.parametrize(("reranker", "error"), [("large", UnknownName), (object(), InputError)])
def test_an_unknown_name_or_an_object_without_scores_is_an_error(
    memory: Memory, reranker: Any, error: type[InputError]
) -> None:
    with raises(error, param="rerank"):
        memory.search("Porto", rerank=reranker)


def test_a_package_brings_a_reranker_by_an_entry_point(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        monkeypatch,
        tmp_path / "site",
        "short",
        "from tests.recall.test_rerank import Shortest",
        "[treering.rerankers]\nshortest = short:Shortest\n",
    )
    hits = memory.search("who likes Porto", rerank="shortest")
    assert [hit.text for hit in hits] == sorted(TEXTS, key=len)


@pytest.mark.parametrize("scores", ["relevance_score", "score"])
def test_a_server_of_the_rerank_protocol_orders_the_best(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, scores: str
) -> None:
    monkeypatch.setenv("TREERING_RERANK_API_KEY", "a-key")
    rows = [{"index": place, scores: score} for place, score in ((1, 0.9), (2, -2.5), (0, 0.5))]
    reply = json.dumps({"results": rows} if scores == "relevance_score" else rows).encode()
    with server.playing(server.body(reply)) as played:
        hits = memory.search("Porto", rerank=f"{played.url}/rerank#a-model")
    [asked] = played.requests
    assert [hit.score for hit in hits] == [0.9, 0.5, -2.5]
    assert hits[0].text == asked.body["documents"][1]
    assert (asked.body["query"], asked.body["model"]) == ("Porto", "a-model")
    assert asked.headers["authorization"] == "Bearer a-key"


@pytest.mark.parametrize(
    "act",
    [
        server.fails(500),
        server.fails(307, location="http://127.0.0.1:9/rerank"),
        server.body(b"no JSON"),
        server.body(b'{"results": [{"index": 0, "relevance_score": 1}]}'),
        server.body(b'{"results": null}'),
    ],
)
def test_a_rerank_server_that_fails_is_an_error(memory: Memory, act: server.Act) -> None:
    with server.playing(act) as played, pytest.raises(EmbeddingError):
        memory.search("Porto", rerank=f"{played.url}/rerank")


def test_the_language_model_grades_the_best(tmp_path: Path) -> None:
    llm = FakeLLM(['[{"text": 2, "grade": 11}]', '[{"text": 2, "grade": 9}]'])
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(), llm=llm) as memory:
        for text in TEXTS:
            memory.add(text)
        plain = memory.search("Porto")
        first, *others = memory.search("Porto", rerank="llm")
        assert (first.text, first.score) == (plain[1].text, 9.0)
        assert [hit.score for hit in others] == [0.0, 0.0]
        assert [spent.calls for spent in memory.stats().spent if spent.operation == "rerank"] == [2]
