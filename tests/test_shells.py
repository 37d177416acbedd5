"""Each operation gives the same in Python, at the shell, over REST, in the client and over MCP."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from mcp import Client
from pydantic_core import from_json, to_json

from tests.cli.conftest import Treering, settings, treering
from tests.embedders import HashingEmbedder
from tests.memo.talk import place
from tests.serve.live import serving
from treering import Memory
from treering.serve.mcp.server import build, calls_on

__all__ = ["settings", "treering"]  # fixtures of the command line

SAID = [
    ("Ana", "I live in Porto.", "2026-05-03"),
    ("Ben", "I keep bees on the roof.", "2026-05-04"),
    ("Ana", "The river is loud at night.", "2026-06-01"),
]


class Row(NamedTuple):
    """An operation as each shell has it, and what to look at of its result."""

    call: Callable[[Memory, str], Any]
    command: list[str]
    request: tuple[str, str, Any]
    pick: Callable[[Any], Any]
    expected: Any
    tool: tuple[str, dict[str, Any]] | None = None
    is_once: bool = False
    """Whether it gives something else the second time, so that the client is left out."""


def texts(found: Any) -> list[str]:
    entries = found["entries"] if isinstance(found, dict) else found
    return [one["text"] for one in entries]


def field(name: str) -> Callable[[Any], Any]:
    return lambda found: (found[0] if isinstance(found, list) else found)[name]


BEES, PORTO, RIVER = "I keep bees on the roof.", "I live in Porto.", "The river is loud at night."

ROWS = {
    "search": Row(
        lambda memory, _: memory.search("bees roof", k=1),
        ["search", "bees roof", "-k", "1"],
        ("POST", "search", {"query": "bees roof", "k": 1}),
        texts,
        [BEES],
        ("recall", {"query": "bees roof"}),
    ),
    "search, filtered": Row(
        lambda memory, _: memory.search("river", since="2026-05-04", metadata={"mood": "proud"}),
        ["search", "river", "--since", "2026-05-04", "--meta", "mood=proud"],
        (
            "POST",
            "search",
            {"query": "river", "since": "2026-05-04", "metadata": {"mood": "proud"}},
        ),
        texts,
        [BEES],
        ("recall", {"query": "river", "speaker": "Ben", "since": "2026-05-04"}),
    ),
    "context": Row(
        lambda memory, _: memory.context("bees roof", budget=60),
        ["context", "bees roof", "--budget", "60"],
        ("POST", "context", {"query": "bees roof", "budget": 60}),
        lambda found: "bees" in field("text")(found),
        True,
    ),
    "brief": Row(
        lambda memory, _: memory.brief(budget=100),
        ["brief", "--budget", "100"],
        ("GET", "brief?budget=100", None),
        lambda found: len(field("lines")(found)) > 0,
        True,
    ),
    "list": Row(
        lambda memory, _: memory.page(speaker="Ana").entries,
        ["list", "--speaker", "Ana"],
        ("GET", "entries?speaker=Ana", None),
        texts,
        [PORTO, RIVER],
        ("list", {"speaker": "Ana"}),
    ),
    "show": Row(
        lambda memory, entry: memory.get(entry),
        ["show", "{id}"],
        ("GET", "entries/{id}", None),
        field("text"),
        BEES,
        ("list", {"id": "{id}"}),
    ),
    "replace": Row(
        lambda memory, entry: memory.replace(entry, "I keep ducks."),
        ["replace", "{id}", "I keep ducks."],
        ("PATCH", "entries/{id}", {"text": "I keep ducks."}),
        field("text"),
        "I keep ducks.",
    ),
    "pin": Row(
        lambda memory, entry: memory.pin(entry),
        ["pin", "{id}"],
        ("POST", "pin", {"entry_id": "{id}"}),
        field("pinned"),
        True,
    ),
    "retract": Row(
        lambda memory, entry: memory.retract(entry, "sold"),
        ["retract", "{id}", "--reason", "sold"],
        ("POST", "retract", {"entry_id": "{id}", "reason": "sold"}),
        field("reason"),
        "sold",
        is_once=True,
    ),
    "history": Row(
        lambda memory, entry: memory.history(entry),
        ["show", "{id}", "--history"],
        ("GET", "entries/{id}/history", None),
        len,
        0,
    ),
    "withheld": Row(
        lambda memory, _: memory.withheld(),
        ["list", "--withheld"],
        ("GET", "withheld", None),
        len,
        0,
    ),
    "forget": Row(
        lambda memory, _: memory.forget(speaker="Ana"),
        ["forget", "--speaker", "Ana", "--yes"],
        ("POST", "forget", {"speaker": "Ana"}),
        lambda found: len(field("entries")(found)),
        2,
        is_once=True,
    ),
    "facts": Row(
        lambda memory, _: memory.facts.current("Ana"),
        ["facts", "--subject", "Ana"],
        ("GET", "facts/current?subject=Ana", None),
        field("text"),
        PORTO,
    ),
    "memos": Row(
        lambda memory, _: memory.memos.list(),
        ["memo"],
        ("GET", "memos", None),
        field("topic"),
        "Bees",
    ),
    "memos, searched": Row(
        lambda memory, _: memory.memos.search("bees", k=1),
        ["memo", "--about", "bees", "-k", "1"],
        ("POST", "memos/search", {"query": "bees", "k": 1}),
        lambda found: found[0]["memo"]["topic"],
        "Bees",
    ),
    "memo, edited": Row(
        lambda memory, _: memory.memos.edit("memo-bees", topic="Ducks", pinned=True),
        ["memo", "edit", "memo-bees", "--topic", "Ducks", "--pin"],
        ("PATCH", "memos/memo-bees", {"topic": "Ducks", "pinned": True}),
        lambda found: (field("topic")(found), field("pinned")(found)),
        ("Ducks", True),
    ),
    "tree, figures": Row(
        lambda memory, _: memory.tree.stats(),
        ["tree", "--stats"],
        ("GET", "tree/stats", None),
        field("leaves"),
        3,
    ),
    "stats": Row(
        lambda memory, _: memory.stats(),
        ["stats"],
        ("GET", "stats", None),
        lambda found: (field("entries")(found), field("embedded")(found)),
        (3, 3),
    ),
    "spaces": Row(
        lambda memory, _: memory.spaces(),
        ["spaces"],
        ("GET", "spaces", None),
        lambda found: [one["space"] if isinstance(one, dict) else one for one in found],
        ["default"],
    ),
    "configure": Row(
        lambda memory, _: memory.configure(k=3),
        ["configure", "--k", "3"],
        ("POST", "configure", {"k": 3}),
        field("k"),
        3,
    ),
    "rebuild": Row(
        lambda memory, _: memory.rebuild("fragments"),
        ["rebuild", "fragments"],
        ("POST", "rebuild", {"views": ["fragments"]}),
        field("fragments"),
        3,
    ),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A memory of three messages with a memo and a tree, and the id of the second message."""
    path = tmp_path_factory.mktemp("shells") / "memory.db"
    with Memory.open(path, embedder=HashingEmbedder(), llm="none") as memory:
        memory.add(
            [
                {"role": "user", "name": name, "content": text, "at": at}
                | ({"mood": "proud"} if name == "Ben" else {})
                for name, text, at in SAID
            ]
        )
        place(memory, "Bees", "Ben keeps bees.", 1, 2)
        memory.tree.settle()
        [ben] = memory.entries(speaker="Ben")
    return path, ben.id


@pytest.mark.parametrize("name", ROWS)
def test_an_operation_in_each_shell(
    name: str,
    filled: tuple[Path, str],
    treering: Treering,
    settings: dict[str, str],
    tmp_path: Path,
) -> None:
    row = ROWS[name]
    path, entry_id = filled

    def copy(shell: str) -> Path:
        return Path(shutil.copyfile(path, tmp_path / f"{shell}.db"))

    def with_id(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("{id}", entry_id))

    def called(memory: Memory) -> Any:
        return from_json(to_json(row.call(memory, entry_id)))

    with Memory.open(copy("python"), embedder=HashingEmbedder(), llm="none") as memory:
        assert row.pick(called(memory)) == row.expected
        if row.tool is not None:
            shown = anyio.run(_told, memory, row.tool[0], with_id(row.tool[1]))
            expected = row.expected if isinstance(row.expected, list) else [row.expected]
            assert all(text in shown for text in expected)

    done = treering("-m", copy("shell"), "--llm", "none", *with_id(row.command), "--json")
    assert done.exit_code == 0, done.stderr
    assert row.pick([json.loads(line) for line in done.stdout.splitlines()]) == row.expected

    verb, route, body = with_id(row.request)
    with serving(url=copy("rest"), llm="none") as url:
        answer = httpx2.request(verb, f"{url}/v1/{route}", json=body)
        assert answer.status_code == 200, answer.text
        assert row.pick(answer.json()) == row.expected
        if not row.is_once:
            with Memory.open(url) as remote:
                assert row.pick(called(remote)) == row.expected


async def _told(memory: Memory, tool: str, arguments: dict[str, Any]) -> str:
    async with (
        anyio.create_task_group() as tasks,
        Client(build(calls_on(memory), Path, tasks.start_soon)) as client,
    ):
        result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return result.content[0].text  # type: ignore[union-attr]
