"""What compression keeps of evidence and answers, beside contexts that were shorter anyway."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from treering.errors import InputError
from treering.llm.contract import TokenSurprisal
from treering.llm.scripted import ScriptedLLM
from treering_bench.compression import (
    FEWER,
    CompressionOptions,
    kept_figures,
    kept_table,
    kept_words,
)
from treering_bench.task import Task
from worlds import BagOfWords, Bench, chat_task

OPTIONS = CompressionOptions(budget=200, rates=(0.3, 0.6), sample=10, seed=0)


class Reader(ScriptedLLM):
    """A model that counts which texts it reads, and finds long words surprising."""

    def __init__(self) -> None:
        super().__init__([], model="small")
        self.read: list[str] = []

    def surprisals(self, text: str) -> list[TokenSurprisal]:
        self.read.append(text)
        return [
            TokenSurprisal(*match.span(), bits=len(match[0])) for match in re.finditer(r"\S+", text)
        ]


def no_progress(done: int, total: int, doing: str) -> None:
    """Show nothing."""


def test_every_way_is_measured_at_every_rate_on_the_same_questions() -> None:
    model = Reader()
    shares = kept_words(lambda: [chat_task()], OPTIONS, BagOfWords(), model, no_progress)
    figures = {(row["way"], row["rate"]): row for row in kept_figures(shares)}
    assert set(figures) == {("whole", 1.0)} | {
        (way, rate) for way in (FEWER, "sentences", "small") for rate in OPTIONS.rates
    }
    assert {row["questions"] for row in figures.values()} == {2}  # the third has no evidence
    assert figures["whole", 1.0]["evidence"] == 1.0
    assert figures["sentences", 0.3]["tokens"] <= 60
    assert len(model.read) == len(set(model.read))
    table = kept_table(shares)
    assert "| rate | evidence: fewer passages | evidence: sentences | evidence: small |" in table
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| 1", "| 0.6", "| 0.3"]


def test_data_without_such_a_question_are_refused() -> None:
    task = chat_task()
    without = Task(task.space, task.documents, task.questions[2:])
    with pytest.raises(InputError, match="both evidence and an answer"):
        kept_words(lambda: [without], OPTIONS, BagOfWords(), None, no_progress)


def test_the_command_prints_what_is_kept_and_refuses_what_it_cannot_measure(
    bench: Bench, tmp_path: Path
) -> None:
    sections = [{"section": "1", "text": "The red fox sleeps in its den all day."}]
    asked = {
        "story": "fox",
        "question_id": "1",
        "question": "Where does the fox sleep?",
        "answers": ["in its den"],
        "gold_sections": ["1"],
        "local_or_sum": "local",
    }
    (tmp_path / "stories.jsonl").write_text(json.dumps({"story": "fox", "sections": sections}))
    (tmp_path / "questions.jsonl").write_text(json.dumps(asked))
    command = "compress", "fairytaleqa", "--data", tmp_path
    printed = bench.object(*command, "--rate", 0.5, "--embedder", "hashing", "--json")
    assert [row["way"] for row in printed["kept"]] == ["whole", FEWER, "sentences"]
    assert bench(*command, "--rate", 2).exit_code == 2
    assert bench("compress", "repoeval", "--data", tmp_path).exit_code == 2
    scripted = bench(*command, *bench.model("x")[:2])
    assert scripted.exit_code == 2
    assert "returns no probabilities" in scripted.stderr
