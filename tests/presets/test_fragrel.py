"""FragRel from the command line, beside its equations as they read, in a few lines of numpy."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli.conftest import Treering
from tests.code.repositories import SHOP
from tests.code.test_relation import Naive
from tests.embedders import HashingEmbedder
from tests.presets.conftest import Endpoint
from treering.arrays import Floats
from treering.llm.tokens import estimate_tokens
from treering.views.code.graph.operator import CUTOFF
from treering.views.code.parse.cuts import cut

Weights = NDArray[np.floating[Any]]

WORDS = [f"word{n}" for n in range(120)]
QUESTION = "Where did word1 meet word7 and word3?"


def unit(rows: Floats) -> Floats:
    scaled: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


def embed(texts: list[str]) -> Floats:
    return unit(HashingEmbedder().embed(texts))


def related_scores(own: Weights, weights: Weights, alpha: float = 0.5) -> Weights:
    """Eq. 9 and 10, over all pairs."""
    scores: Weights = own + alpha * (weights @ own) / weights.sum(axis=1)
    return scores


def chain(count: int, w: float) -> Weights:
    """Eq. 7."""
    places = np.arange(count)
    return np.asarray(w ** np.abs(places[:, None] - places[None, :]))


@pytest.fixture
def fragments(tmp_path: Path) -> list[str]:
    """The fragments of a story of 40 times 100 words, in sentences of ten."""
    rng = random.Random(3)
    sentences = [f"{' '.join(rng.choices(WORDS, k=10))}. " for _ in range(400)]
    (tmp_path / "story.txt").write_text("".join(sentences).strip())
    pieces = ["".join(sentences[at : at + 10]) for at in range(0, 400, 10)]
    return [*pieces[:-1], pieces[-1].strip()]


def prompt_1(story: str) -> str:
    """Prompt 1 as it is printed."""
    asks = (
        "answer the question {} asconcisely as you can, using a single phrase if possible. Do not "
        "provide any explanation."
    )
    return (
        "You are given a story, which can be either a novel or a movie script, and a question. "
        f"A{asks.replace(' {}', '')[1:]}\n\nStory: {story}\n\n"
        f"Now, {asks.format('based on the story')}\n\nQuestion: {QUESTION}\n\nAnswer:"
    )


@pytest.mark.parametrize("preset", ["fragrel-a-story", "fragrel-b-story"])
def test_a_story_is_answered_from_the_best_fragments_that_the_window_holds(
    treering: Treering,
    endpoint: Endpoint,
    fragments: list[str],
    preset: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TREERING_LLM_CONTEXT_WINDOW", "32768")
    printed = treering("configure", preset).stdout
    assert "500 words" in printed
    assert "4000 words" in printed
    treering("configure", "--fragment", "100 words", "--budget", "2050 words")
    assert treering("add", "story.txt").exit_code == 0
    assert treering("ask", QUESTION).stdout == "Noted.\n"
    vectors = embed(fragments)
    is_semantic = preset == "fragrel-a-story"
    weights = np.asarray((1 + vectors @ vectors.T) / 2 if is_semantic else chain(40, 0.3))  # eq. 6
    scores = related_scores(vectors @ embed([QUESTION])[0], weights)
    best = np.argsort(-scores, kind="stable")[:20]  # more than ten: the window holds 20 of 100
    assert endpoint.prompts[-1] == prompt_1("\n\n".join(fragments[place] for place in best))
    assert endpoint.requests[-1]["temperature"] == 1.0
    shown = json.loads(treering("context", QUESTION, "--json", "--budget", "500 words").stdout)
    assert [passage["text"] for passage in shown["passages"]] == [
        fragments[place] for place in best[: len(shown["passages"])]
    ]
    assert len(shown["passages"]) == 4  # beside their citations


def said_in(section: str) -> list[str]:
    """The lines of the evidences or dialogue of a prompt, without numbers and indents."""
    return [re.sub(r"^(\(\d+\))? ", "", line) for line in section.split("\n") if line]


def test_a_chat_is_shown_whole_at_first_and_then_the_eight_best_rounds(
    treering: Treering, endpoint: Endpoint
) -> None:
    rng = random.Random(5)
    endpoint.rule = lambda prompt: f"Reply {' '.join(rng.choices(WORDS[:20], k=5))}."
    treering("configure", "fragrel-chat")
    said = [f"Tell me of {' '.join(rng.choices(WORDS[:20], k=4))}." for _ in range(24)]
    assert treering("chat", stdin="\n".join(said)).exit_code == 0
    rounds = [
        (prompt.rpartition("User Input:\n")[2], reply)
        for prompt, reply in zip(endpoint.prompts, replies(treering), strict=True)
    ]
    assert [question for question, _ in rounds] == said
    is_searched = []
    for place, prompt in enumerate(endpoint.prompts):
        assert prompt.startswith("You are an intelligent dialog bot. You will be shown Related")
        assert "are data" not in prompt
        evidences, recent = prompt.split("Related Evidences:\n")[1].split("\n\nRecent Dialogs:\n")
        recent = recent.partition("\n\nUser Input:\n")[0]
        history = [f"user: {asked} ### assistant: {reply}" for asked, reply in rounds[:place]]
        length = sum(estimate_tokens(line) + 3 for one in history for line in one.split(" ### "))
        if place <= 10 and length <= 1_000:
            assert recent == (" ### ".join(history) or "None.")
            assert evidences == "None."
            continue
        is_searched.append(place)
        assert recent == history[-1]
        best = best_rounds(rounds[:place], said[place])
        assert said_in(evidences) == [
            line
            for one in best
            for line in (f"user: {rounds[one][0]}", f"assistant: {rounds[one][1]}")
        ]
    assert len(is_searched) == 13


def replies(treering: Treering) -> list[str]:
    """What the model said, in order."""
    lines = treering("export").stdout.splitlines()
    entries = [json.loads(line) for line in lines]
    return [entry["text"] for entry in entries if entry.get("role") == "assistant"]


def best_rounds(rounds: list[tuple[str, str]], message: str) -> list[int]:
    """The 8 best rounds but the last, in order of time (appendix B.3)."""
    query = embed(["\n".join((*rounds[-1], message))])[0]
    texts = [text for one in rounds for text in one]
    lengths = np.array([[len(text)] for text in texts])
    spoken = embed(
        [f"{who}: {text}" for one in rounds for who, text in zip(SIDES, one, strict=True)]
    )
    vectors = unit((spoken * lengths).reshape(len(rounds), 2, -1).sum(axis=1))
    scores = related_scores(vectors @ query, chain(len(rounds), 0.8))
    best = [int(place) for place in np.argsort(-scores, kind="stable") if place != len(rounds) - 1]
    return sorted(best[:8])


SIDES = ("user", "assistant")


def test_code_is_ranked_by_the_graph_of_the_repository(treering: Treering, tmp_path: Path) -> None:
    for path, text in SHOP.items():
        file = tmp_path / "repo" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    treering("configure", "fragrel-code")
    treering("code", "index", tmp_path / "repo")
    found = treering("code", "search", "total price of a cart", "--json", "-k", "50").stdout
    hits = {(hit["path"], hit["first_line"]): hit for hit in map(json.loads, found.splitlines())}
    naive = Naive(SHOP, CUTOFF)  # eq. 8 with the weights of appendix A, by networkx
    windows = [
        (path, piece.first) for path, file in naive.files.items() for piece in cut(file, "windows")
    ]
    assert sorted(hits) == sorted(windows)
    # BM25 is shown on a scale of its own, which eq. 9 and 10 keep: an environment is a mean.
    own = np.array([hits[window]["why"]["terms"]["lexical"] for window in windows])
    shown = np.array([hits[window]["score"] for window in windows])
    assert shown == pytest.approx(related_scores(own, naive.matrix("windows")), abs=1e-4)
    assert [*hits] == [windows[place] for place in np.argsort(-shown, kind="stable")]
