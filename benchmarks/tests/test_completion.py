"""Line and API tasks, RepoCoder's second step, the oracle, and raw continuation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

import pytest

from test_suites import write
from tests.code.repositories import SHOP
from tests.llm.chat_server import Act, playing, send
from treering.errors import InputError, LLMReplyError, LLMUnavailable
from treering.llm.contract import Message
from treering.llm.scripted import ScriptedLLM
from treering.views.code.index.code_index import ALPHA, CodeHit, CodeIndex
from treering_bench.coding.completion_trial import CompletionSetup, measure
from treering_bench.coding.continuing import ContinuingModel
from treering_bench.coding.line_tasks import drawn_tasks
from treering_bench.coding.sources import Projects
from treering_bench.coding.task import CodeTask
from worlds import Bench

FILE = '''\
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
def sources(tmp_path: Path) -> Path:
    for path, text in (SHOP | {"shop/half.py": FILE}).items():
        write(tmp_path / "sources" / "shop" / path, text)
    return tmp_path / "sources"


def lines_of(sources: Path, level: str) -> set[str]:
    tasks = drawn_tasks(sources, level, 100, seed=0)  # type: ignore[arg-type]
    return {line.strip() for task, _, line in tasks if task.path == "shop/half.py"}


def test_tasks_of_lines_are_statements_of_some_length(sources: Path) -> None:
    assert lines_of(sources, "line") == {
        "product = number * factor * 2",
        'text = format(product, "x") + "."',
        'print(text, product, sep=";")',
        "return len(text) + product",
    }


def test_tasks_of_api_calls_call_what_the_repository_defines(sources: Path) -> None:
    write(sources / "shop" / "shop" / "half.py", FILE.replace("len(text)", "half(text)"))
    assert lines_of(sources, "api") == {"return half(text) + product"}


def test_the_line_is_cut_out_of_the_file(sources: Path) -> None:
    [(task, prefix, line)] = [
        drawn for drawn in drawn_tasks(sources, "line", 100, 0) if "print(text" in drawn[2]
    ]
    assert line not in task.text
    assert task.text == FILE.replace(line, "")
    assert FILE.startswith(prefix + line)
    assert task.query.endswith('text = format(product, "x") + "."')


class Asked(Projects):
    """Projects that note what is searched for in them."""

    def __init__(self, sources: Path) -> None:
        super().__init__(sources, "windows", None)
        self.queries: list[tuple[str, float]] = []

    @contextmanager
    def with_hole(self, task: CodeTask) -> Iterator[CodeIndex]:
        with super().with_hole(task) as index:
            search = index.search

            def noted(query: str, *, k: int, alpha: float) -> list[CodeHit]:
                self.queries.append((query.splitlines()[-1], alpha))
                return search(query, k=k, alpha=alpha)

            index.search = noted  # type: ignore[assignment, method-assign]
            yield index


def test_the_second_step_searches_with_the_prediction_and_the_oracle_with_the_truth(
    sources: Path,
) -> None:
    [drawn] = [t for t in drawn_tasks(sources, "line", 100, 0) if "print(text" in t[2]]
    llm = ScriptedLLM(["cart = Cart()", "print(text)", drawn[2]])
    how = CompletionSetup(llm, 4096, ("bm25+second", "relation+oracle"), "line")
    projects = Asked(sources)
    scores = measure([drawn], projects, how, lambda *_: None)
    last_line = '    text = format(product, "x") + "."'
    assert projects.queries == [
        (last_line, 0.0),
        ("cart = Cart()", 0.0),
        (drawn[2].rstrip(), ALPHA),
    ]
    assert all(request.messages[1].content.endswith(f"{last_line}\n") for request in llm.requests)
    assert [scored.exact for scored in scores["bm25+second"]] == [0.0]
    assert [scored.exact for scored in scores["relation+oracle"]] == [1.0]


def continuation(text: str) -> Act:
    def act(handler: BaseHTTPRequestHandler, _: Event) -> None:
        send(handler, 200, json.dumps({"content": text, "stop_type": "limit"}).encode())

    return act


def test_a_base_model_goes_on_with_the_prompt_as_it_stands() -> None:
    with playing(continuation(" = 1")) as server:
        model = ContinuingModel(f"{server.url}#base-7b")
        reply = model.complete([Message("user", "x")], max_tokens=5, temperature=0.0, stop=["\n"])
        model.close()
    assert (reply.text, reply.model, reply.finish_reason) == (" = 1", "base-7b", "length")
    [request] = server.requests
    assert request.path == "/completion"
    assert request.body["prompt"] == "x"
    assert (request.body["n_predict"], request.body["stop"]) == (5, ["\n"])


def test_an_endpoint_that_continues_nothing_is_told() -> None:
    def refuses(handler: BaseHTTPRequestHandler, _: Event) -> None:
        send(handler, 503, b"{}")

    def answers(handler: BaseHTTPRequestHandler, _: Event) -> None:
        send(handler, 200, b'{"choices": []}')

    with playing(refuses, answers) as server:
        model = ContinuingModel(server.url)
        with pytest.raises(LLMUnavailable, match="answered 503"):
            model.complete([Message("user", "x")], max_tokens=5, temperature=0.0)
        with pytest.raises(LLMReplyError, match=r"is it llama\.cpp's /completion"):
            model.complete([Message("user", "x")], max_tokens=5, temperature=0.0)
        model.close()
    with pytest.raises(InputError, match="needs the address"):
        ContinuingModel("model.gguf")


def test_the_command_draws_lines_and_continues_raw(bench: Bench, sources: Path) -> None:
    arguments = ("--sources", sources, "--level", "line", "--tasks", 1, "--json")
    with playing(*[continuation(" x = 1\n")] * 2) as server:
        told = bench.object(
            "code", "completion", "--llm", server.url, "--raw", "--way", "file",
            "--way", "relation", *arguments,
        )  # fmt: skip
    assert {told[way]["tasks"] for way in ("file", "relation")} == {1}
    assert [request.path for request in server.requests] == ["/completion"] * 2
    refused = bench("code", "completion", "--llm", "x.gguf", *arguments, "--way", "guess")
    assert refused.exit_code == 2
    assert "no 'guess' to measure" in refused.stderr
    refused = bench("code", "completion", "--llm", "x.gguf", "--sources", sources)
    assert "--data goes with --level body" in refused.stderr
