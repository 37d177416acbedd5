"""Each error in Python, at the shell, over REST and MCP: a table of classes, and one of calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from string import Formatter
from typing import Any, get_args

import anyio
import pytest
import typer
from mcp import Client
from starlette.testclient import TestClient

from tests.cli.conftest import Treering, settings, treering
from tests.embedders import HashingEmbedder
from tests.ingest.clients import MAIL
from tests.messages import SNAPSHOT, messages
from tests.serve.conftest import serving
from treering import Memory
from treering.cli.failures import exit_code, report_errors
from treering.client.connection import error_of
from treering.errors import BY_CODE, ModelMismatch, TreeringError
from treering.hints import WORDS, Hint, Interface
from treering.journal.space import NOWHERE, EmbeddingModel, SpaceState
from treering.serve.mcp.server import build, calls_on
from treering.serve.problems import error_response
from treering.views.fragments.build import ensure_same_model

__all__ = ["settings", "treering"]  # fixtures of the command line

CLASSES = [
    # code, hint, exit code of the shell, status of REST
    ("access_denied", None, 1, 403),
    ("copy_mismatch", None, 6, 500),
    ("dimension_mismatch", None, 4, 502),
    ("embedding_error", None, 4, 502),
    ("empty_text", None, 2, 422),
    ("entry_corrupt", None, 3, 500),
    ("filter_error", None, 2, 422),
    ("input_error", None, 2, 422),
    ("journal_busy", None, 3, 503),
    ("journal_conflict", None, 3, 503),
    ("journal_corrupt", None, 3, 500),
    ("journal_error", None, 3, 500),
    ("journal_full", None, 3, 507),
    ("journal_version_error", None, 3, 500),
    ("key_unknown", Hint.SEND_KEY, 1, 401),
    ("llm_error", None, 5, 502),
    ("llm_not_configured", None, 5, 501),
    ("llm_reply_error", None, 5, 502),
    ("llm_unavailable", None, 5, 503),
    ("missing_extra", None, 1, 501),
    ("model_mismatch", None, 4, 409),
    ("quota_exceeded", None, 1, 403),
    ("reply_discarded", None, 5, 409),
    ("request_under_way", None, 1, 409),
    ("server_error", None, 1, 500),
    ("server_unavailable", None, 1, 503),
    ("text_encoding_error", None, 2, 422),
    ("treering_error", None, 1, 500),
    ("tuning_stopped", None, 5, 502),
    ("unknown_entry", Hint.LIST_ENTRIES, 2, 404),
    ("unknown_memo", Hint.LIST_MEMOS, 2, 404),
    ("unknown_memory", Hint.MAKE_MEMORY, 2, 404),
    ("unknown_name", None, 2, 404),
    ("unknown_node", Hint.LIST_TREE, 2, 404),
    ("unknown_repository", Hint.INDEX_CODE, 2, 404),
    ("unknown_space", Hint.LIST_SPACES, 2, 404),
    ("view_error", None, 1, 500),
    ("workers_lost", None, 1, 500),
]

VALUES = {"built": "minilm", "opened": "other"}
"""A value for each name that the words of a hint have."""


def test_every_class_is_in_the_table() -> None:
    assert [code for code, *_ in CLASSES] == sorted(BY_CODE)


def test_a_class_in_each_shell(capsys: pytest.CaptureFixture[str]) -> None:
    for code, hint, exits, status in CLASSES:
        error = BY_CODE[code]("it failed", param="k")
        steps = WORDS[hint] if hint else None
        assert (error.hint, error.param) == (hint, "k")
        assert str(error) == ("it failed" if steps is None else f"it failed; {steps.python}")

        with pytest.raises(typer.Exit) as left, report_errors():
            raise error
        assert left.value.exit_code == exits == exit_code(error)
        assert capsys.readouterr().err.strip() == f"treering: {error.worded('cli')}"

        answer = error_response(error)
        problem = json.loads(bytes(answer.body))
        assert (answer.status_code, problem["status"], problem["code"]) == (status, status, code)
        assert problem["title"] == HTTPStatus(status).phrase
        assert problem["param"] == "k"
        assert ("retry-after" in answer.headers) == (status == 503)
        assert problem.get("hint") == hint
        assert problem["detail"] == problem["message"] + (f"; {steps.rest}" if steps else "")

        again = error_of(status, bytes(answer.body))
        assert (type(again), again.hint, again.param) == (type(error), hint, "k")


def test_a_hint_has_words_for_each_interface() -> None:
    for hint in Hint:
        for interface in get_args(Interface):
            template = getattr(WORDS[hint], interface)
            named = {name for _, name, _, _ in Formatter().parse(template) if name}
            assert named <= VALUES.keys()
            told = hinted(hint).worded(interface)
            assert "()" not in told or interface == "python"
            assert "memory." not in told or interface == "python"


def hinted(hint: Hint) -> TreeringError:
    return BY_CODE["input_error"]("it failed", hint=hint, values=VALUES)


def test_a_problem_that_a_newer_server_words_keeps_its_words() -> None:
    told = {"code": "unknown_entry", "message": "no", "detail": "no; do it", "hint": "do_it"}
    assert error_of(404, json.dumps(told).encode()).message == "no; do it"


def test_a_hint_names_the_models() -> None:
    state = SpaceState(NOWHERE, model=EmbeddingModel(1, "minilm", 2))
    with pytest.raises(ModelMismatch) as refused:
        ensure_same_model(state, HashingEmbedder("other"), "default")
    assert refused.value.values == VALUES
    assert "`treering reembed other`" in refused.value.worded("rest")


Call = Callable[[Memory], object]
Request = tuple[str, str, Any]
Tool = tuple[str, dict[str, Any]]

CALLS: list[tuple[str, Hint | None, Call, list[str], Request, Tool | None]] = [
    (
        "unknown_entry",
        Hint.LIST_ENTRIES,
        lambda memory: memory.forget("nope"),
        ["forget", "nope", "--yes"],
        ("POST", "/v1/forget", {"ids": ["nope"]}),
        ("forget", {"ids": ["nope"]}),
    ),
    (
        "input_error",
        Hint.CHOOSE_ENTRIES,
        lambda memory: memory.forget(),
        ["forget"],
        ("POST", "/v1/forget", {}),
        ("forget", {}),
    ),
    (
        "empty_text",
        None,
        lambda memory: memory.search(" "),
        ["search", " "],
        ("POST", "/v1/search", {"query": " "}),
        ("recall", {"query": " "}),
    ),
    (
        "unknown_memo",
        Hint.LIST_MEMOS,
        lambda memory: memory.memos.get("nope"),
        ["memo", "show", "nope"],
        ("GET", "/v1/memos/nope", None),
        None,
    ),
    (
        "unknown_node",
        Hint.LIST_TREE,
        lambda memory: memory.tree.node(99),
        ["tree", "--root", "99"],
        ("GET", "/v1/tree/nodes/99", None),
        None,
    ),
    (
        "unknown_repository",
        Hint.INDEX_CODE,
        lambda memory: memory.code.search("parse a date"),
        ["code", "search", "parse a date"],
        ("POST", "/v1/code/search", {"query": "parse a date"}),
        ("code_context", {"instruction": "parse a date"}),
    ),
    (
        "llm_not_configured",
        Hint.CHOOSE_LLM,
        lambda memory: memory.ask("Where does Ana live?"),
        ["--llm", "none", "ask", "Where does Ana live?"],
        ("POST", "/v1/ask", {"question": "Where does Ana live?"}),
        None,
    ),
]


@pytest.mark.parametrize(("code", "hint", "call", "arguments", "request_", "tool"), CALLS)
def test_a_call_that_fails_in_each_shell(
    code: str,
    hint: Hint | None,
    call: Call,
    arguments: list[str],
    request_: Request,
    tool: Tool | None,
    treering: Treering,
    settings: dict[str, str],
) -> None:
    assert treering("add", "Ana lives in Porto.").exit_code == 0
    path = Path(settings["TREERING_MEMORY"])
    with Memory.open(path, llm="none") as memory:
        with pytest.raises(BY_CODE[code]) as raised:
            call(memory)
        error = raised.value
        assert (error.code, error.hint) == (code, hint)
        if tool is not None:
            told = anyio.run(_refusal, memory, *tool)
            assert told.endswith(error.next_step("mcp"))

    result = treering(*arguments)
    assert result.exit_code == exit_code(error)
    assert result.stderr.strip().endswith(error.next_step("cli"))

    with serving(path, llm="none") as client:
        problem = _problem(client, *request_)
    assert (problem["code"], problem.get("hint")) == (code, hint)
    assert problem["detail"].endswith(error.next_step("rest"))


def test_an_export_that_is_added_names_the_option_of_the_shell(
    treering: Treering, tmp_path: Path
) -> None:
    mail = tmp_path / "notes" / "lease.eml"
    mail.parent.mkdir()
    mail.write_bytes(MAIL)
    refused = treering("add", str(mail))
    assert refused.exit_code == 2
    assert refused.stderr.strip().endswith(hinted(Hint.ADD_AS_TEXT).next_step("cli"))
    skipped = treering("add", str(mail.parent))
    assert "treering import" in skipped.stderr
    assert "kind=" not in refused.stderr + skipped.stderr
    assert treering("add", str(mail), "--kind", "text").exit_code == 0


async def _refusal(memory: Memory, name: str, arguments: dict[str, Any]) -> str:
    async with (
        anyio.create_task_group() as tasks,
        Client(build(calls_on(memory), Path, tasks.start_soon)) as client,
    ):
        result = await client.call_tool(name, arguments)
    assert result.is_error
    return result.content[0].text  # type: ignore[union-attr]


def _problem(client: TestClient, method: str, route: str, body: Any) -> dict[str, Any]:
    response = client.request(method, route, json=body)
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    return problem


def test_the_messages_are_those_of_the_snapshot() -> None:
    written = SNAPSHOT.read_text("utf-8").splitlines()
    assert written == [*messages()], "run: python -m tests.messages"
