"""One table for the four methods: every combination is asked the same, and writing has its cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from test_compression import no_progress
from treering.errors import InputError
from treering.llm.scripted import ScriptedLLM
from treering_bench.cli import app
from treering_bench.method_table import (
    MethodTable,
    TableOptions,
    measure_code,
    measure_texts,
    methods_of,
    methods_table,
)
from treering_bench.registry import Benchmark, DataSource
from treering_bench.task import Document, Task
from worlds import BagOfWords, chat_task

OPTIONS = TableOptions(budgets=(40, 200), limit=10)


def of_chats(path: Path) -> Iterator[Task]:
    yield chat_task()


def of_documents(path: Path) -> Iterator[Task]:
    task = chat_task()
    documents = tuple(Document(d.source, d.pieces) for d in task.documents)
    yield Task(task.space, documents, task.questions)


def benchmark(load: object) -> Benchmark:
    return Benchmark("own", "Own", load, DataSource("", "", ""))  # type: ignore[arg-type]


def table(load: object, llm: ScriptedLLM | None = None) -> MethodTable:
    cells = MethodTable()
    measure_texts(cells, benchmark(load), Path(), BagOfWords(), llm, OPTIONS, no_progress)
    return cells


def test_without_a_model_a_chat_has_relations_and_the_tree_off_and_on() -> None:
    rows = table(of_chats).rows()
    assert len(rows) == 2 * 2 * len(OPTIONS.budgets)
    assert {row["questions"] for row in rows} == {2}  # the third has no evidence
    assert all(0 <= row["recall"] <= row["reach"] <= 1 for row in rows)
    assert all(row["cost"]["calls"] == 0 for row in rows)
    wide = [row for row in rows if row["budget"] == 200]
    assert all(row["recall"] == 1 for row in wide)


def test_what_memos_cost_to_write_stands_in_their_rows_alone() -> None:
    memo = json.dumps([{"topic": "talk", "summary": "They talk.", "start": 1, "end": 6}])
    llm = ScriptedLLM(lambda _: memo)
    with_memos = table(of_chats, llm)
    rows = [row for row in with_memos.rows() if row["budget"] == 40]
    assert len(rows) == 2 * 2 * 2
    for row in rows:
        paid = row["cost"]["calls"] > 0
        assert not paid or row["methods"]["memos"] or row["methods"]["tree"]
    assert "| dialogue | 2 | on | – | – |" in methods_table(with_memos.rows())


def test_documents_have_no_memos_even_with_a_model() -> None:
    rows = table(of_documents, ScriptedLLM(lambda _: "A summary.")).rows()
    assert {tuple(row["methods"]) for row in rows} == {("relations", "tree")}
    assert {row["content"] for row in rows} == {"documents"}


def test_calls_cut_out_of_code_are_looked_for_with_relations_and_code_memory(
    tmp_path: Path,
) -> None:
    project = tmp_path / "boats"
    project.mkdir()
    (project / "sail.py").write_text(
        "def hoist(sail, height):\n    return sail * height\n", encoding="utf-8"
    )
    filler = "\n".join(f"value_{n} = {n}" for n in range(12))
    (project / "trip.py").write_text(
        f"from sail import hoist\n{filler}\n\ndef leave(sail):\n    return hoist(sail, value_3)\n",
        encoding="utf-8",
    )
    cells = MethodTable()
    measure_code(cells, tmp_path, OPTIONS, no_progress)
    rows = cells.rows()
    assert len(rows) == 4 * len(OPTIONS.budgets)
    assert {tuple(row["methods"]) for row in rows} == {("relations", "code memory")}
    assert {row["content"] for row in rows} == {"code"}
    out = tmp_path / "cells.jsonl"
    arguments = ("--code", tmp_path, "--out", out, "--budget", 40, "--limit", 10)
    told = CliRunner().invoke(app, ["methods", *map(str, arguments)])
    assert told.exit_code == 0, told.output
    run, *cells_saved = map(json.loads, out.read_text("utf-8").splitlines())
    assert (run["benchmark"], run["code"]) == ("methods", ["boats"])
    assert {row["budget"] for row in cells_saved} == {40}
    assert methods_table(cells_saved).count("| code |") == 4


def test_every_kind_of_content_has_its_methods() -> None:
    assert methods_of("chat") == ("relations", "tree", "memos")
    assert methods_of("chat", writes_memos=False) == methods_of("text") == ("relations", "tree")
    assert methods_of("code") == ("relations", "code memory")


def test_data_without_evidence_or_without_a_name_are_refused(tmp_path: Path) -> None:
    def nothing(path: Path) -> Iterator[Task]:
        task = chat_task()
        yield Task(task.space, task.documents, task.questions[2:])

    with pytest.raises(InputError, match="no question of own whose evidence is marked"):
        table(nothing)
    for arguments, told in (
        ([], "nothing to measure"),
        (["--data", "locomo"], "not of the form BENCHMARK=PATH"),
        (["--data", "codeif-bench=x"], "asks no questions"),
    ):
        result = CliRunner().invoke(app, ["methods", *arguments])
        assert result.exit_code == 2
        assert told in result.output
