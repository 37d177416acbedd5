"""Code benchmarks: what of a small repository is found for a function to be written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from test_results import RUN
from test_suites import lines, write
from tests.code.repositories import SHOP
from treering.records import Why
from treering.views.code.index.code_index import CodeHit
from treering_bench.coding.policy import code_policies
from treering_bench.coding.run import run_code
from treering_bench.coding.sources import Projects
from treering_bench.coding.task import (
    CodeTask,
    Dependencies,
    OmittedTask,
    Words,
    definitions,
    identifiers,
)
from treering_bench.registry import CodeBenchmark, benchmark
from treering_bench.report import Scores, summary
from treering_bench.results import Results
from worlds import BagOfWords

TOTAL = """\
    def total(self):
        total = 0
        for item in self.items:
            total += price(item)
        return vat(total)
"""
BODY = "".join(line + "\n" for line in TOTAL.splitlines()[1:])


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for path, text in SHOP.items():
        write(tmp_path / "sources" / "shop" / path, text)
    return tmp_path / "sources"


def load(name: str, path: Path, sources: Path) -> list[CodeTask | OmittedTask]:
    found = benchmark(name)
    assert isinstance(found, CodeBenchmark)
    return list(found.load(path, sources))


def codeif(**changes: Any) -> dict[str, Any]:
    row = {
        "namespace": "shop.cart.Cart.total",
        "project_path": "Sales/shop",
        "completion_path": "Sales/shop/shop/cart.py",
        "dependency": {"intra_class": ["shop.cart.Cart.items"], "cross_file": ["shop.prices.vat"]},
        "code": TOTAL,
        "indent": 4,
        "prompt": "Write a function called 'total': the price of all items with the tax.",
    }
    return row | changes


def hit(path: str, text: str, definition: str = "") -> CodeHit:
    return CodeHit(1.0, path, 1, 1, definition, text, Why({}))


def test_codeif_cuts_the_body_out_and_asks_for_its_dependencies(
    tmp_path: Path, sources: Path
) -> None:
    [task] = load("codeif-bench", write(tmp_path / "l2.jsonl", lines(codeif())), sources)
    assert isinstance(task, CodeTask)
    assert "    def total(self):\n        ...\n" in task.text
    assert "vat(total)" not in task.text
    assert task.text.splitlines()[task.line - 1] == "    def total(self):"
    assert task.target == Dependencies(("shop.cart.Cart.items", "shop.prices.vat"))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"project_path": "Sales/absent"}, "the function is not in"),
        ({"completion_path": "Sales/shop/../../../secret.py"}, "the function is not in"),
        ({"code": "def gone(): pass"}, "the function is not in"),
        ({"dependency": {}}, "depends on nothing"),
    ],
)
def test_a_task_without_its_source_is_left_out_and_says_why(
    tmp_path: Path, sources: Path, changes: dict[str, Any], reason: str
) -> None:
    write(tmp_path.parent / "secret.py", TOTAL)
    [task] = load("codeif-bench", write(tmp_path / "l2.jsonl", lines(codeif(**changes))), sources)
    assert isinstance(task, OmittedTask)
    assert reason in task.reason


def test_repoeval_searches_for_the_lines_before_and_wants_the_identifiers(
    tmp_path: Path, sources: Path
) -> None:
    meta = {"fpath_tuple": ["owner_shop", "shop", "cart.py"], "ground_truth": BODY}
    path = write(tmp_path / "function_2k.jsonl", lines({"prompt": "", "metadata": meta}))
    [task] = load("repoeval", path, sources)
    assert isinstance(task, CodeTask)
    assert task.query.endswith("def total(self):")
    assert "vat(total)" not in task.text
    assert task.target == Words(frozenset({"total", "item", "items", "price", "vat"}), identifiers)


def test_coder_eval_wants_what_the_project_defines_of_the_oracle_context(
    tmp_path: Path, sources: Path
) -> None:
    row = {
        "_id": "1",
        "project": "owner/shop",
        "file_path": "shop/cart.py",
        "code": TOTAL,
        "oracle_context": json.dumps({"apis": "['vat', 'sum']", "vars": "['RATES']"}),
        "human_label": "The price of all items.",
        "level": "project_runnable",
    }
    path = write(tmp_path / "CoderEval4Python.json", {"RECORDS": [row]})
    [task] = load("coder-eval", path, sources)
    assert isinstance(task, CodeTask)
    assert task.query == "    def total(self):\nThe price of all items."
    assert task.target == Words(frozenset({"vat", "RATES"}), definitions)
    assert task.category == "project_runnable"


def test_a_dependency_is_found_in_its_own_module_and_class_only() -> None:
    wanted = Dependencies(("shop.prices.vat", "shop.cart.Cart.items"))
    vat = hit("shop/prices.py", "def vat(amount):")
    items = hit("shop/cart.py", "        self.items = []", "Cart.__init__")
    assert wanted.found([vat, items]) == 1.0
    assert wanted.found([hit("shop/log.py", vat.text)]) == 0.0
    assert wanted.found([hit("shop/cart.py", items.text, "Basket.__init__")]) == 0.0
    assert wanted.named("shop/prices.py\n  def vat(amount)") == 0.5


def test_the_hole_is_closed_again_after_a_task(tmp_path: Path, sources: Path) -> None:
    [task] = load("codeif-bench", write(tmp_path / "l2.jsonl", lines(codeif())), sources)
    assert isinstance(task, CodeTask)
    projects = Projects(sources, "blocks", None)
    with projects.with_hole(task) as index:
        assert not any("vat(total)" in one.text for one in index.search("total vat"))
    assert any("vat(total)" in one.text for one in index.search("total vat"))


def test_every_policy_measures_every_task_and_runs_go_on(tmp_path: Path, sources: Path) -> None:
    rows = [codeif(), codeif(namespace="again")]
    tasks = load("codeif-bench", write(tmp_path / "l2.jsonl", lines(*rows)), sources)
    wanted = [task for task in tasks if isinstance(task, CodeTask)]
    embedder = BagOfWords()
    with Results(tmp_path / "r.jsonl", RUN) as results:
        run_code(wanted, sources, code_policies(["all"]), results, embedder, limit=1)
        found = summary(Scores.of(results.run, results.measured.values()))
        embedder.calls.clear()
        run_code(wanted, sources, code_policies(["dense"]), results, embedder)
    assert {policy["n"] for policy in found.values()} == {1.0}
    assert "rounds" not in found  # the rows are no dialogues
    assert found["lexical"]["recall@10"] == found["windows:lexical"]["recall@10"] == 1.0
    assert "recall@10" not in found["map@1000"]
    assert found["map@1000"]["recall@all"] == 0.5
    assert len(results.measured) == len(found) + 1
    assert [texts for texts, query in embedder.calls if query] == [(rows[1]["prompt"],)]


def test_the_context_of_every_round_is_measured_against_the_dependencies(
    tmp_path: Path, sources: Path
) -> None:
    asked = {"first": "Add the price of the items.", "then": "Add the tax with `vat`."}
    row = codeif(
        **{
            "dependency": {"cross_file": ["shop.prices.price", "shop.prices.vat"]},
            "multi-turn": list(asked),
            "requirements": {name: {"requirement": text} for name, text in asked.items()},
        }
    )
    tasks = load("codeif-bench", write(tmp_path / "l2.jsonl", lines(row)), sources)
    wanted = [task for task in tasks if isinstance(task, CodeTask)]
    assert wanted[0].instructions == (f"{row['prompt']}\n{asked['first']}", asked["then"])
    policies = code_policies(["rounds", "rounds+all"])
    with Results(tmp_path / "r.jsonl", RUN) as results:
        run_code(wanted, sources, policies, results, BagOfWords())
        found = summary(Scores.of(results.run, results.measured.values()))
    kept, every = found["rounds"], found["rounds+all"]
    assert kept["context recall, round 2"] == every["context recall, round 2"] == 1.0
    assert kept["context precision, round 1"] == every["context precision, round 1"]
    assert kept["context precision, round 2"] > every["context precision, round 2"]
    assert kept["context recall"] == (
        (kept["context recall, round 1"] + kept["context recall, round 2"]) / 2
    )


def test_precision_is_the_share_of_fragments_that_were_wanted() -> None:
    wanted = Dependencies(("shop.prices.vat",))
    vat, other = hit("shop/prices.py", "def vat(amount):"), hit("shop/log.py", "def note(text):")
    assert wanted.precision([vat, other]) == 0.5
    assert wanted.precision([]) == 0.0
    assert Words(frozenset({"vat"}), identifiers).precision([vat, other]) == 0.5
    assert Words(frozenset({"vat"}), definitions).precision([other]) == 0.0
