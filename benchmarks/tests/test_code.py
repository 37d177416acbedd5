"""Code that is found, completed and written in rounds, on a small shop of our own."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.code.repositories import SHOP
from tests.llm.chat_server import playing, send
from treering.errors import InputError, LLMReplyError, LLMUnavailable
from treering.llm.contract import Message
from treering.llm.scripted import FakeLLM
from treering.llm.tokens import estimate_tokens
from treering.records import Why
from treering.views.code.index.code_index import ALPHA, CodeHit, CodeIndex
from treering_bench.coding import sessions
from treering_bench.coding.completion import (
    DEFAULT_BUDGET,
    WAYS,
    CompletionModel,
    completed,
    completion_prompt,
)
from treering_bench.coding.continuing import ContinuingModel
from treering_bench.coding.sessions import CodingDialogue, ProjectSources
from treering_bench.coding.sources import Projects
from treering_bench.coding.task import (
    CodeTask,
    Dependencies,
    OmittedTask,
    Words,
    definitions,
    identifiers,
    last_lines,
)
from treering_bench.options import RunOptions
from treering_bench.registry import CodeBenchmark, benchmark
from treering_bench.report import summary
from treering_bench.runner import run
from treering_bench.suites.repoeval import drawn_tasks
from worlds import BagOfWords, Bench, lines, write

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


def figures(name: str, data: Path, *policies: str, **options: Any) -> dict[str, dict[str, float]]:
    given: Any = {"out": data.with_name("r.jsonl"), "embedder": BagOfWords(), **options}
    chosen = RunOptions(data=data, policy=list(policies), **given)
    return summary(run(benchmark(name), chosen, lambda _: nullcontext(lambda *_: None)).scores)


# ---------------------------------------------------------------- tasks


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
    about = {"fpath_tuple": ["owner_shop", "shop", "cart.py"], "ground_truth": BODY}
    path = write(tmp_path / "function_2k.jsonl", lines({"prompt": "", "metadata": about}))
    [task] = load("repoeval", path, sources)
    assert isinstance(task, CodeTask)
    assert task.query.endswith("def total(self):")
    assert "vat(total)" not in task.text
    assert (task.code, task.prefix.splitlines()[-1]) == (BODY, "    def total(self):")
    assert task.target == Words(frozenset({"total", "item", "items", "price", "vat"}), identifiers)


@pytest.mark.parametrize("size", [1, 2])
def test_repoevals_own_lines_are_cut_out_where_they_were(
    tmp_path: Path, sources: Path, size: int
) -> None:
    text = SHOP["shop/cart.py"].splitlines()
    at = next(n for n, line in enumerate(text) if "total += price(item)" in line)
    code = "\n".join(text[at : at + size])
    rows = [
        {"metadata": {"fpath_tuple": ["owner_shop", "shop", "cart.py"], "line_no": n,
                      "ground_truth": code}} for n in (at, at + 1)
    ]  # fmt: skip
    path = write(tmp_path / "api_level_completion_2k.test.jsonl", lines(*rows))
    task, moved = load("repoeval-api", path, sources)
    assert isinstance(task, CodeTask)
    assert task.code.strip() == code.strip()
    assert task.text.splitlines() == [*text[:at], *text[at + size :]]
    assert isinstance(moved, OmittedTask)


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
    other = hit("shop/log.py", "def note(text):")
    assert wanted.found([vat, items]) == 1.0
    assert wanted.found([hit("shop/log.py", vat.text)]) == 0.0
    assert wanted.found([hit("shop/cart.py", items.text, "Basket.__init__")]) == 0.0
    assert wanted.named("shop/prices.py\n  def vat(amount)") == 0.5
    assert (wanted.precision([vat, other]), wanted.precision([])) == (0.5, 0.0)
    assert Words(frozenset({"vat"}), identifiers).precision([vat, other]) == 0.5


# ---------------------------------------------------------------- retrieval


def test_the_hole_is_closed_again_after_a_task(tmp_path: Path, sources: Path) -> None:
    [task] = load("codeif-bench", write(tmp_path / "l2.jsonl", lines(codeif())), sources)
    assert isinstance(task, CodeTask)
    with Projects(sources).hole(task) as hole:
        index = hole.index("blocks")
        assert not any("vat(total)" in one.text for one in index.search("total vat"))
    assert any("vat(total)" in one.text for one in index.search("total vat"))


def test_every_policy_measures_every_task_and_runs_go_on(tmp_path: Path, sources: Path) -> None:
    data = write(tmp_path / "l2.jsonl", lines(codeif(), codeif(namespace="again")))
    found = figures("codeif-bench", data, sources=sources, limit=1)
    assert found["lexical"]["recall@10"] == found["windows:lexical"]["recall@10"] == 1.0
    assert "recall@10" not in found["map@1000"]
    assert found["map@1000"]["recall@all"] == 0.5
    assert found["rounds"]["n"] == 0.0  # the rows are no dialogues
    found = figures("codeif-bench", data, "dense", sources=sources)
    assert (found["dense"]["n"], found["lexical"]["n"]) == (2.0, 1.0)


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
    data = write(tmp_path / "l2.jsonl", lines(row))
    found = figures("codeif-bench", data, "rounds", "rounds+all", sources=sources)
    kept, every = found["rounds"], found["rounds+all"]
    assert kept["context recall, round 2"] == every["context recall, round 2"] == 1.0
    assert kept["context precision, round 1"] == every["context precision, round 1"]
    assert kept["context precision, round 2"] > every["context precision, round 2"]
    assert kept["context recall"] == (
        (kept["context recall, round 1"] + kept["context recall, round 2"]) / 2
    )


# ---------------------------------------------------------------- completion

HALVES = '''\
"""A module of numbers and their halves."""
from shop.prices import rounded


def half(number):
    """Halve a number, and call nothing (but say so at some length)."""
    if number < 0 and not number:
        raise ValueError(number)
    kept = number
    return rounded(number / 2, digits=2)


def other(number, factor):
    product = number * factor * 2
    text = format(product, "x") + "."
    print(text, product, sep=";")
    return len(text) + product
'''


@pytest.fixture
def halves(sources: Path) -> Path:
    write(sources / "shop" / "shop" / "half.py", HALVES)
    return sources


def lines_drawn(sources: Path, level: str) -> dict[str, CodeTask]:
    tasks = drawn_tasks(sources, level)  # type: ignore[arg-type]
    return {task.code.strip(): task for task in tasks if task.path == "shop/half.py"}


def test_lines_are_drawn_from_statements_of_some_length_and_calls_of_the_repository(
    halves: Path,
) -> None:
    drawn = lines_drawn(halves, "line")
    assert drawn.keys() == {
        "product = number * factor * 2",
        'text = format(product, "x") + "."',
        'print(text, product, sep=";")',
        "return len(text) + product",
    }
    task = drawn['print(text, product, sep=";")']
    assert task.text == HALVES.replace(task.code, "")
    assert HALVES.startswith(task.prefix + task.code)
    assert task.query.endswith('text = format(product, "x") + "."')
    write(halves / "shop" / "shop" / "half.py", HALVES.replace("len(text)", "half(text)"))
    assert lines_drawn(halves, "api").keys() == {"return half(text) + product"}


def test_the_query_is_the_last_lines_and_later_the_prediction_too() -> None:
    prefix = "\n".join(f"line {i}" for i in range(30))
    assert last_lines(prefix).splitlines() == [f"line {i}" for i in range(10, 30)]
    second = last_lines(prefix, "new 1\nnew 2").splitlines()
    assert second == [*(f"line {i}" for i in range(12, 30)), "new 1", "new 2"]


def words(text: str) -> int:
    return len(text.split())


def test_the_prompt_has_the_papers_form_with_the_best_fragment_last() -> None:
    hits = [hit("a.py", "x = 1\ny = 2"), hit("b.py", "z = 3")]
    rule = "# " + "-" * 50
    where = "# the below code fragment can be found in:"
    assert completion_prompt(hits, "w = ", 200, words) == "\n".join(
        [
            "# Here are some relevant code fragments from other files of the repo:",
            rule,
            *(where, "# b.py", rule, "# z = 3", rule),
            *(where, "# a.py", rule, "# x = 1", "# y = 2", rule),
            "",
            "w = ",
        ]
    )


def test_the_prompt_keeps_within_its_budget_by_dropping_what_is_farthest() -> None:
    hits = [hit("a.py", "x " * 10), hit("b.py", "y " * 60)]
    prompt = completion_prompt(hits, "\n".join(f"line {i}" for i in range(100)), 120, words)
    assert words(prompt) <= 120
    assert "line 80\n" in prompt  # a window of the file stays
    assert "a.py" in prompt
    assert "b.py" not in prompt
    assert prompt.endswith("line 99")
    with pytest.raises(InputError, match="last line"):
        completion_prompt([], "one two three", 2, words)


def test_the_prompt_has_all_ten_windows() -> None:
    window = "\n".join(f"    value_{n} = compute(total, {n}) + offset" for n in range(20))
    hits = [hit(f"part_{n}.py", window) for n in range(10)]
    prompt = completion_prompt(hits, window, DEFAULT_BUDGET, estimate_tokens)
    assert [n for n in range(10) if f"# part_{n}.py" in prompt] == [*range(10)]
    assert prompt.index("part_9.py") < prompt.index("part_0.py")
    assert estimate_tokens(prompt) <= DEFAULT_BUDGET


def test_the_second_step_searches_with_the_prediction_and_the_oracle_with_the_truth(
    halves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = lines_drawn(halves, "line")['print(text, product, sep=";")']
    queries: list[tuple[str, float]] = []
    search: Callable[..., list[CodeHit]] = CodeIndex.search

    def noted(index: CodeIndex, query: str, *, k: int, alpha: float) -> Sequence[CodeHit]:
        queries.append((query.splitlines()[-1], alpha))
        return search(index, query, k=k, alpha=alpha)

    monkeypatch.setattr(CodeIndex, "search", noted)
    llm = FakeLLM(["cart = Cart()", "print(text)", task.code])
    model = CompletionModel(llm, 4096, raw=False)
    with Projects(halves).hole(task) as hole:
        second = completed(model, WAYS["bm25+second"], hole, task)
        oracle = completed(model, WAYS["relation+oracle"], hole, task)
    last = '    text = format(product, "x") + "."'
    assert queries == [(last, 0.0), ("cart = Cart()", 0.0), (task.code.rstrip(), ALPHA)]
    assert all(request.messages[1].content.endswith(f"{last}\n") for request in llm.requests)
    assert (second.metrics["EM"], oracle.metrics["EM"]) == (0.0, 1.0)


def test_the_command_completes_functions_with_and_without_fragments(
    bench: Bench, tmp_path: Path, sources: Path
) -> None:
    about = {"fpath_tuple": ["owner_shop", "shop", "cart.py"], "ground_truth": BODY}
    data = write(tmp_path / "function_2k.jsonl", lines({"prompt": "", "metadata": about}))
    run = ("run", "repoeval", "--data", data, "--sources", sources, "--json")
    found = bench.object(*run, *bench.model("total = 0\nx\nx"))
    assert {name: policy["n"] for name, policy in found["policies"].items()} == {
        "file": 1.0,
        "bm25": 1.0,
        "relation": 1.0,
    }
    assert (found["level"], found["tasks"], found["left_out"]) == ("completion", 1, 0)
    assert "no policy 'guess' here" in bench.refused(*run, *bench.model(""), "--policy", "guess")


def continuation(answer: Any, status: int = 200) -> Any:
    def act(handler: Any, _: Any) -> None:
        send(handler, status, json.dumps(answer).encode())

    return act


def test_a_base_model_goes_on_with_the_prompt_as_it_is(bench: Bench, halves: Path) -> None:
    said = {"choices": [{"text": " x = 1\n", "finish_reason": "length"}]}
    with playing(*[continuation(said)] * 2) as server:
        found = bench.object(
            "run", "repoeval-line", "--data", halves, "--llm", f"{server.url}#base", "--raw",
            "--policy", "file", "--policy", "relation", "--limit", 1, "--json",
        )  # fmt: skip
    assert found["policies"]["file"]["n"] == 1.0
    first, _ = server.requests
    assert (first.path, first.body["model"]) == ("/v1/completions", "base")
    assert first.body["prompt"].endswith("def add(self, item):\n")


def test_an_endpoint_that_continues_nothing_is_an_error() -> None:
    asked: Any = {"messages": [Message("user", "x")], "max_tokens": 5, "temperature": 0.0}
    with playing(continuation({}, 503), continuation({"choices": []})) as server, ExitStack() as at:
        model = ContinuingModel(server.url)
        at.callback(model.close)
        with pytest.raises(LLMUnavailable):
            model.complete(**asked)
        with pytest.raises(LLMReplyError):
            model.complete(**asked)
    with pytest.raises(InputError):
        ContinuingModel("model.gguf")


# ---------------------------------------------------------------- sessions

PASSES = "def test_one():\n    assert Cart().total() == 0"
FAILS = "def test_two():\n    assert Cart().total() == 1"
NEEDS = "def test_three(shop):\n    assert shop"
WRITTEN = "def total(self):\n    return 0"
WRONG = WRITTEN.replace("0", "1")
PASSING = [PASSES.replace("test_one", f"test_{n}") for n in range(sessions.PASSED)]


def published(tmp_path: Path, *tests: list[str]) -> Path:
    named = {
        f"round {n}": {"requirement": f"Requirement {n}.", "unit_test": unit_tests}
        for n, unit_tests in enumerate(tests)
    }
    return write(
        tmp_path / "l2.jsonl", lines(codeif(requirements=named, **{"multi-turn": list(named)}))
    )


def coding(tmp_path: Path, sources: Path, *tests: list[str]) -> CodingDialogue:
    [only] = sessions.dialogues(published(tmp_path, *tests), sources)
    return only


def test_tests_end_as_they_do_in_a_process_of_their_own(tmp_path: Path, sources: Path) -> None:
    place, secret = ProjectSources(sources), tmp_path / "secret"
    only = coding(tmp_path, sources, [PASSES])
    writes = f"def test_write():\n    open({str(secret)!r}, 'w')"
    starts = "def test_start():\n    import subprocess\n    subprocess.run(['true'])"
    ended = sessions.outcomes(place, only, only.source, [PASSES, FAILS, NEEDS, writes, starts])
    assert ended == ["passed", "failed", "broken", "failed", "failed"]
    assert not secret.exists()
    assert sessions.outcomes(place, only, "not python", [PASSES])[0].startswith("no import")


def test_an_instruction_that_fails_takes_no_outcome_of_the_next(
    tmp_path: Path, sources: Path
) -> None:
    only = coding(tmp_path, sources, [FAILS, FAILS.replace("two", "four")], [PASSES])
    assert sessions._passed(ProjectSources(sources), only, only.source, 2) == [False, True]


def test_a_dialogue_whose_true_code_passes_too_little_is_left_out(
    tmp_path: Path, sources: Path
) -> None:
    place = ProjectSources(sources)
    assert sessions.usable(place, coding(tmp_path, sources, [PASSES], [FAILS])) is None
    usable = sessions.usable(place, coding(tmp_path, sources, [NEEDS], PASSING))
    assert usable is not None
    assert usable.tests == (tuple(PASSING),)
    assert usable.instructions[0].endswith("Requirement 0.\nRequirement 1.")


def test_sessions_compare_the_whole_conversation_with_code_memory_by_round(
    bench: Bench, tmp_path: Path, sources: Path
) -> None:
    published(tmp_path, PASSING)
    run = ("run", "codeif-bench", "--data", tmp_path, "--sources", sources, "--rounds", 1, "--json")
    # Code memory asks for a note after the round, too.
    found = bench.object(*run, *bench.model("\n".join([WRITTEN.replace("\n    ", " ")] * 9)))
    assert found["policies"]["full"]["IA"] == found["policies"]["full"]["IA, round 1"] == 1.0
    assert {"CA, round 1", "context recall, round 1", "seconds"} < set(found["policies"]["memory"])
    assert "IFR" not in found["policies"]["memory"]  # nothing was met before the first round
    rows = Path(found["results"]).read_text("utf-8").splitlines()[1:]
    details = [json.loads(row)["details"] for row in rows]
    assert [about.get("judge") for about in details] == [None, "names"]


def test_feedback_is_given_until_the_tests_pass(tmp_path: Path, sources: Path) -> None:
    llm = FakeLLM([WRONG, WRONG, WRITTEN])
    only = sessions.with_feedback(coding(tmp_path, sources, [PASSES], [FAILS]), 5)
    played = sessions.play(ProjectSources(sources), only, llm, "full", 5, until_solved=True)
    by_round = [played.metrics[f"pass@1, round {n}"] for n in range(1, 6)]
    assert by_round == [0, 0, 1, 1, 1]
    assert {"tokens prompt, round 3", "seconds"} < set(played.metrics)
    said = [request.messages[-1].content.splitlines()[0] for request in llm.requests]
    assert said[1:] == [sessions.FEEDBACK] * 2
    assert llm.left == 0


def test_a_round_without_a_reply_fails_its_tests_and_has_no_context(
    tmp_path: Path, sources: Path
) -> None:
    llm = FakeLLM([LLMReplyError("nothing"), WRITTEN])
    only = sessions.with_feedback(coding(tmp_path, sources, [PASSES]), 2)
    played = sessions.play(ProjectSources(sources), only, llm, "full", 2).metrics
    assert (played["IA, round 1"], played["IA, round 2"]) == (0.0, 1.0)
    assert "context recall, round 1" not in played
    assert played["tokens prompt"] == played["tokens prompt, round 2"] > 0


def test_the_papers_parts_can_be_left_out_and_are_named_beside_the_figures(
    tmp_path: Path, sources: Path
) -> None:
    keep = json.dumps({"mode": "KEEP", "action": "", "target_context": []})
    llm = FakeLLM(lambda request: keep if "ADD" in request.text else WRITTEN)
    only = coding(tmp_path, sources, [PASSES])
    parts = {
        way: sessions.play(ProjectSources(sources), only, llm, way, 1).details
        for way in ("codemem", "codemem-ctxmem", "codemem-ctxast", "codemem-sessast")
    }
    assert {way: (about["detector"], about["context"]) for way, about in parts.items()} == {
        "codemem": ("printed", "selected"),
        "codemem-ctxmem": ("printed", "static"),
        "codemem-ctxast": ("printed", "added"),
        "codemem-sessast": ("none", "selected"),
    }
    assert {about["judge"] for about in parts.values()} == {"llm"}
