"""What the tree is measured by: breadth, words, shape, scale, and one more text."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from test_suites import lines, write
from treering.errors import InputError
from treering.llm.tokens import estimate_tokens
from treering_bench.task import TaskQuestion
from treering_bench.trees.breadth import breadth
from treering_bench.trees.scale import measure_inserts, sizes
from treering_bench.trees.shape import tree_shapes
from treering_bench.trees.update import UpdateOptions, update_figures
from treering_bench.trees.words import fill, shares_of, word_recall
from worlds import BagOfWords, Bench

PLACES = ("Porto", "Lima", "Oslo", "Bern", "Riga")
SENTENCES = [f"{who} saw {place}." for who in ("Ana", "Ben", "Eva", "Tom") for place in PLACES]


def story_data(tmp_path: Path) -> Path:
    sections = [
        {"section": "1", "text": "A fox lived under the old oak."},
        {"section": "2", "text": "In winter the river froze."},
    ]
    write(tmp_path / "fairy" / "stories.jsonl", lines({"story": "fox", "sections": sections}))
    asked = [
        {
            "story": "fox",
            "question_id": str(number),
            "question": text,
            "answers": [answer],
            "gold_sections": gold,
            "local_or_sum": group,
        }
        for number, (text, answer, gold, group) in enumerate(
            (
                ("Who lived under the oak?", "a fox", ["1"], "local"),
                ("What happened?", "the river froze", ["1", "2"], "summary"),
            )
        )
    ]
    write(tmp_path / "fairy" / "questions.jsonl", lines(*asked))
    return tmp_path / "fairy"


def test_a_question_is_broad_by_its_evidence_and_else_by_its_words() -> None:
    assert breadth(TaskQuestion("1", "Who?", evidence=frozenset("ab"))) == "broad"
    assert breadth(TaskQuestion("1", "Why?", evidence=frozenset("a"))) == "narrow"
    assert breadth(TaskQuestion("1", "Why did she go?")) == "broad"
    assert breadth(TaskQuestion("1", "How many were there?")) == "narrow"


def test_results_are_told_apart_by_breadth(bench: Bench, tmp_path: Path) -> None:
    data, out = story_data(tmp_path), tmp_path / "r.jsonl"
    policies = ("--policy", "context", "--policy", "dense")
    run = bench(
        "run", "fairytaleqa", "--data", data, "--out", out, "--embedder", "hashing", *policies
    )
    assert run.exit_code == 0, run.output
    told = bench("tree", "breadth", out, "--data", data, "--metric", "recall@500tokens")
    assert told.exit_code == 0, told.output
    head, _, context, dense = told.stdout.strip().splitlines()
    assert "| narrow (n=1) | against context | broad (n=1) |" in head
    assert context == "| context | 100.0 | – | 100.0 | – |"
    assert dense.startswith("| dense | 100.0 | +0.0 [+0.0, +0.0] |")
    missing = bench("tree", "breadth", out, "--data", data)
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert "no policy has the metric 'token_f1'; there are recall@" in missing.stderr


def test_a_context_is_filled_to_its_budget_and_cut_after_a_word() -> None:
    texts = ["one two three", "four five six seven eight", "nine"]
    budget = estimate_tokens(texts[0]) + 3
    filled = fill(texts, budget)
    assert filled.startswith("one two three\nfour")
    assert not filled.endswith("eight")
    assert estimate_tokens(filled) <= budget + 1  # the line break


def test_the_best_answer_counts_and_one_without_words_does_not() -> None:
    assert word_recall("the river froze", ["a fox", "river"]) == 1.0
    assert word_recall("the river froze", ["a river of ice", "fox"]) == 0.5
    assert math.isnan(word_recall("the river froze", ["the"]))


def test_words_compares_ways_to_retrieve(bench: Bench, tmp_path: Path) -> None:
    data = story_data(tmp_path)
    arguments = ("--data", data, "--way", "flat_dense", "--way", "mixed", "--budget", 100)
    told = bench.object(
        "tree", "words", "fairytaleqa", *arguments, "--embedder", "hashing", "--json"
    )
    assert told["fairytaleqa narrow"]["flat_dense"]["100"] == 1.0
    assert told["fairytaleqa broad"]["mixed"]["100"] == 1.0
    nothing = bench("tree", "words", "fairytaleqa", "--data", data, "--only", "quality/1")
    assert nothing.exit_code == 2
    assert "holds no question of quality/1" in nothing.stderr


def test_words_sets_how_texts_are_cut_and_tells_differences_and_what_summaries_cost(
    bench: Bench, tmp_path: Path
) -> None:
    data = story_data(tmp_path)
    out = tmp_path / "figures.json"
    arguments = ("--data", data, "--way", "flat_dense", "--way", "everything", "--budget", 5)
    planted = ("--fragment", "3 words", "--route", "content", "--summary-tokens", 0, "--base", -1)
    told = bench(
        *("tree", "words", "fairytaleqa", *arguments, *planted),
        *("--reference", "flat_dense", "--embedder", "hashing", "--out", out),
    )
    assert told.exit_code == 0, told.output
    assert "| 100.0, +0.0 [+0.0, +0.0] | 100.0, +100.0 [+100.0, +100.0] |" in told.stdout
    figures = json.loads(out.read_text("utf-8"))
    assert figures["summaries"]["made_by"] == {"extractive": 4}
    assert figures["summaries"]["calls"] == 0
    assert shares_of(figures)["fairytaleqa narrow", "everything", 5] == [1.0]
    strange = bench("tree", "words", "fairytaleqa", *arguments, "--reference", "mixed")
    assert "no 'mixed' to measure; there are flat_dense, everything" in strange.stderr


def test_words_reads_chats_and_books(bench: Bench, tmp_path: Path) -> None:
    turns = [{"speaker": "Ana", "text": text} for text in SENTENCES]
    asked = [{"question": "What did Ana see?", "answer": "Porto", "category": 4}]
    chat = [{"conversation": {"session_1": turns, "session_1_date_time": "May"}, "qa": asked}]
    write(tmp_path / "locomo1.json", json.dumps(chat))
    books = tmp_path / "books"
    write(books / "articles.jsonl", lines({"doc": 1, "text": "<p>The river froze.</p>"}))
    options = {"A": "river", "B": "oak"}
    question = {"doc": 1, "question": "What froze?", "options": options, "answer": "A"}
    write(books / "questions.jsonl", lines(question))
    for name, data, group in (
        ("locomo", tmp_path / "locomo1.json", "locomo narrow"),
        ("quality", books, "quality all"),
    ):
        arguments = ("--data", data, "--budget", 400, "--embedder", "hashing", "--json")
        told = bench.object("tree", "words", name, *arguments)
        assert told[group]["collapsed"]["400"] == 1.0
        assert told[group]["traversal"]["400"] == 1.0


def test_sizes_are_doublings_and_what_is_asked_for() -> None:
    assert sizes(5_000) == [1_000, 2_000, 4_000, 5_000]
    assert 100_000 in sizes(200_000)


def test_inserts_are_timed_at_every_size() -> None:
    figures = list(measure_inserts(2_000, 16))
    assert [figure.nodes // 1000 for figure in figures] == [1, 2]  # an insert makes up to two
    assert all(0 < figure.p50_ms <= figure.p99_ms for figure in figures)


def test_scale_draws_the_curve(bench: Bench, tmp_path: Path) -> None:
    arguments = ("--to", 1000, "--dimension", 16, "--plot", tmp_path)
    told = bench.object("tree", "scale", *arguments, "--json")
    assert told["figures"][0]["nodes"] == 1000
    assert (tmp_path / "tree-scale.svg").exists()


def test_a_deep_threshold_gives_one_topic_a_text(tmp_path: Path) -> None:
    write(tmp_path / "facts.jsonl", lines(*({"fact": text} for text in SENTENCES)))
    shapes = list(tree_shapes("multihop-rag", tmp_path, 20, BagOfWords(), ("leaves", "content"), 5))
    assert [(s.base, s.route) for s in shapes][:2] == [(0.1, "leaves"), (0.1, "content")]
    assert shapes[0].topics <= shapes[-1].topics
    assert all(shape.merged <= shape.path for shape in shapes)


def test_a_shape_needs_two_texts(bench: Bench, tmp_path: Path) -> None:
    write(tmp_path / "docs.jsonl", lines({"text": "a day\nHi!"}))
    result = bench("tree", "shape", "lihua-world", "--data", tmp_path)
    assert result.exit_code == 2
    assert "holds 1 texts" in result.stderr


def test_one_more_text_costs_fewer_calls_than_building_anew(bench: Bench, tmp_path: Path) -> None:
    log = "\n".join(["2026-01-01", *SENTENCES])
    write(tmp_path / "docs.jsonl", lines({"text": log}))
    sizes_ = ("--texts", 14, "--meanwhile", 4, "--more", 1, "--seconds", 0, "--embedder", "hashing")
    told = bench.object("tree", "update", "--data", tmp_path, *sizes_, "--json")
    assert told["one more, rebuilt"]["calls"] > 0
    assert told["settle"]["calls"] > 0
    assert told["insert, idle"]["n"] == 1


def test_too_few_texts_are_an_error() -> None:
    with pytest.raises(InputError, match="there are 2 texts, and 1420 are needed"):
        update_figures(["a", "b"], UpdateOptions(), BagOfWords())
