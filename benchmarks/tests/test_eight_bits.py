"""What vectors of eight bits change is measured over questions, in a space that has them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering.errors import InputError
from treering.views.fragments.table import EXACT_ROWS
from treering_bench.cli import app, eight_bits
from treering_bench.eight_bits import ComparedHits, compared, in_one, report_of
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion


def task_of(turns: int, asked: int = 3) -> Task:
    """A chat of so many turns, each with a word of its own, which its question has, too."""
    pieces = tuple(DocumentPiece(unit=f"t{n}", text=f"word{n} and nothing") for n in range(turns))
    questions = tuple(
        TaskQuestion(id=str(n), text=f"what of word{n}?", evidence=frozenset({f"t{n}"}))
        for n in range(asked)
    )
    return Task("chat", (Document("said", pieces, chat=True),), questions)


def told(*_: object) -> None:
    """Progress that nobody reads."""


def test_the_best_with_eight_bits_are_compared_with_the_exact_ones() -> None:
    report = compared(task_of(EXACT_ROWS + 1), HashingEmbedder(), sample=2, seed=0, step=told)
    assert (report.fragments, report.questions) == (EXACT_ROWS + 1, 2)
    assert report.recall == report.recall_exact == 1.0
    assert 0.1 <= report.places <= report.texts <= 1.0
    assert report.why < 1e-3


def test_a_space_of_which_all_vectors_are_floats_is_refused() -> None:
    with pytest.raises(InputError, match="40 fragments are searched exactly in any case"):
        compared(task_of(40), HashingEmbedder(), sample=None, seed=0, step=told)
    with pytest.raises(InputError, match="no question is asked of these data"):
        compared(task_of(40, asked=0), HashingEmbedder(), sample=None, seed=0, step=told)


def test_places_texts_and_evidence_are_counted_of_each_question(open_memory: Open) -> None:
    memory = open_memory()
    for unit in "abc":
        memory.add(f"A boat, {unit}", source="s", metadata={"unit": unit})
    a, b, c = sorted(memory.search("boat", k=3), key=lambda hit: hit.text)
    of_both = TaskQuestion("1", "boat", evidence=frozenset("ab"))
    pairs = [
        ComparedHits(of_both, [a, b], [b, a]),
        ComparedHits(replace(of_both, evidence=frozenset()), [a, c], [a, b]),
    ]
    report = report_of(3, pairs)
    assert report.places == 1 / 4
    assert report.texts == 3 / 4
    assert (report.recall, report.recall_exact) == (1.0, 1.0)
    [lost] = [ComparedHits(of_both, [a, c], [a, b])]
    assert (report_of(3, [lost]).recall, report_of(3, [lost]).recall_exact) == (0.5, 1.0)
    assert (report_of(3, pairs[1:]).recall, report_of(3, pairs[1:]).recall_exact) == (None, None)


def test_several_benchmarks_are_one_space() -> None:
    task = in_one([("one", [task_of(1, asked=1)]), ("other", [task_of(1, asked=1)])])
    assert [document.source for document in task.documents] == ["one/chat/said", "other/chat/said"]
    assert [question.evidence for question in task.questions] == [
        {"one/chat/t0"},
        {"other/chat/t0"},
    ]


def test_the_command_names_each_benchmark_and_its_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(eight_bits, "open_embedder", lambda _: HashingEmbedder())
    chat = {
        "sample_id": "conv-1",
        "conversation": {
            "session_1": [{"speaker": "Ben", "dia_id": "D1:1", "text": "I bought a kite."}],
            "session_1_date_time": "12:05 am on 1 May, 2023",
        },
        "qa": [{"question": "Who?", "answer": "Ben", "evidence": ["D1:1"], "category": 4}],
    }
    data = tmp_path / "locomo1.json"
    data.write_text(json.dumps([chat]), "utf-8")
    for given, told in (
        (f"locomo={data}", "1 fragments are searched exactly in any case"),
        (f"locomo={data} locomo={data}", "locomo is named twice"),
        (str(data), "is not of the form BENCHMARK=PATH"),
        (f"repoeval={data}", "asks no questions of a memory"),
    ):
        refused = CliRunner().invoke(app, ["eight-bits", *given.split()])
        assert (refused.exit_code, told in " ".join(refused.stderr.split())) == (2, True)
