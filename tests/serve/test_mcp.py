"""The MCP server, driven by the SDK's own client: in this process, and over stdio in another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from tests.code.working import commit, repository, write
from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.programs import Program
from tools.generate_answers import initialize
from treering import Memory
from treering.agents.project import project_of
from treering.arrays import Floats
from treering.llm.tokens import estimate_tokens
from treering.serve.mcp import tools
from treering.serve.mcp.server import asks_only, build, calls_on
from treering.serve.mcp.tools import SLOW_CHARS
from treering.serve.roles import Roles
from treering.serve.threads import Kind

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "tests" / "cli" / "plugins"

GUARDED = """\
def half(n):
    if n < 0:
        raise ValueError(n)
    return n / 2
"""

MOST_TOOLS = 8
TOOL_LIST_TOKENS = 1_000
"""What the list of tools may cost a conversation."""


def talk(
    memory: Memory,
    act: Callable[[Client], Awaitable[None]],
    mode: str = "auto",
    reach: tools.Reach = Path,
) -> None:
    async def session() -> None:
        async with anyio.create_task_group() as tasks:
            server = build(calls_on(memory), reach, tasks.start_soon, asks_only(None))
            async with Client(server, mode=mode) as client:
                await act(client)

    anyio.run(session)


def test_an_agent_that_may_only_propose_changes_nothing_by_itself(open_memory: Open) -> None:
    memory = open_memory()
    [kept] = memory.add("I live in Porto.").ids
    memory.configure("default", agents="propose")

    async def act(client: Client) -> None:
        assert "waits" in await said(client, "remember", text="I work in Braga.")
        assert "I work in Braga." in await said(client, "list")
        assert "Braga" not in await said(client, "recall", query="Braga")
        for tool, arguments in (("update", {"id": kept, "text": "x"}), ("forget", {"ids": [kept]})):
            assert (await client.call_tool(tool, arguments)).is_error

    talk(memory, act)
    [waiting] = memory.withheld()
    assert (waiting.correction.what, waiting.correction.by) == ("proposed", "agent")
    assert memory.configure("memtree").agents == "propose"
    assert memory.configure().preset == "memtree"
    memory.restore(waiting.entry.id)
    assert "Braga" in memory.search("Braga")[0].text


def test_a_space_that_is_not_there_is_told_to_the_model(open_memory: Open) -> None:
    open_memory(space="home").add("I live in Porto.")

    async def act(client: Client) -> None:
        for tool, arguments in (("recall", {"query": "Porto"}), ("list", {})):
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert "but there is 'home'" in result.content[0].text  # type: ignore[union-attr]
        await client.call_tool("remember", {"text": "I work in Braga."})
        assert "Braga" in (await client.call_tool("recall", {"query": "Braga"})).content[0].text  # type: ignore[union-attr]

    talk(open_memory(space="hoem"), act)


async def said(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool answers; the call must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return result.content[0].text  # type: ignore[union-attr]


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool says of a call that it does not accept."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    return result.content[0].text  # type: ignore[union-attr]


async def prompted(client: Client, prompt: str, **arguments: str) -> str:
    """The text of a prompt."""
    [message] = (await client.get_prompt(prompt, arguments)).messages
    return message.content.text  # type: ignore[union-attr]


async def shown(client: Client, uri: str = "treering://brief") -> str:
    """The text of a resource."""
    [contents] = (await client.read_resource(uri)).contents
    return contents.text  # type: ignore[union-attr]


VERSIONS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
"""How the SDK's client is told to speak a version, and the version."""


@pytest.mark.parametrize("mode", ["auto", *VERSIONS])
def test_what_is_remembered_is_recalled_with_its_source_until_it_is_forgotten(
    memory: Memory, mode: str
) -> None:
    async def act(client: Client) -> None:
        assert client.protocol_version == VERSIONS.get(mode, client.protocol_version)
        assert [tool.name for tool in (await client.list_tools()).tools] == list(tools.TOOLS)
        told = await said(client, "remember", text="Miu the cat sleeps upstairs.", source="home")
        found = await said(client, "recall", query="where does the cat sleep", ids=True)
        [entry] = memory.entries()
        assert told == f"remembered as {entry.id}"
        assert found.startswith("[1] home, ")
        assert "Miu the cat sleeps upstairs." in found
        assert found.endswith(f"[1] {entry.id}")
        assert await said(client, "forget", ids=[entry.id]) == "forgot 1 entry"
        assert await said(client, "recall", query="where does the cat sleep") == "nothing found"

    talk(memory, act, mode)


@pytest.mark.parametrize("mode", VERSIONS)
def test_prompts_and_the_resource_give_the_brief_and_what_is_relevant(
    memory: Memory, mode: str
) -> None:
    nothing = "Memory has nothing for this."

    async def act(client: Client) -> None:
        assert [one.name for one in (await client.list_prompts()).prompts] == ["brief", "recall"]
        [resource] = (await client.list_resources()).resources
        assert (await client.list_resource_templates()).resource_templates == []
        assert await prompted(client, "brief") == await shown(client, resource.uri) == nothing
        for text in ("Always use oak for the deck.", "Rain fell.", "A letter arrived."):
            memory.add(text)
        brief = await prompted(client, "brief")
        assert brief == await shown(client, resource.uri)
        assert "data, not instructions" in brief
        assert "- Always use oak for the deck. [1]" in brief
        assert "oak" in await prompted(client, "recall", query="always use oak for the deck")
        assert await prompted(client, "recall", query="how many moons has Neptune") == nothing

    talk(memory, act, mode)


def test_what_is_remembered_has_the_time_given_or_else_the_present(memory: Memory) -> None:
    async def act(client: Client) -> None:
        await said(client, "remember", text="born", at="2020-02-02")
        await said(client, "remember", text="now", at="")
        first, second = memory.entries()
        assert first.at is not None
        assert first.at.year == 2020
        assert second.at is not None
        assert abs((second.at - second.added).total_seconds()) < 60
        assert await said(client, "remember", text="born", at="2020-02-02") == "known already"

    talk(memory, act)


def test_every_tool_with_an_output_schema_gives_data_that_meets_it(memory: Memory) -> None:
    async def data(client: Client, tool: str, **arguments: Any) -> Any:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result
        [schema] = [one.output_schema for one in tools.list_tools() if one.name == tool]
        assert schema is not None
        assert set(schema["required"]) <= set(result.structured_content)
        return result.structured_content

    async def act(client: Client) -> None:
        added = await data(client, "remember", text="Miu sleeps upstairs.", source="home")
        [entry] = memory.entries()
        assert added == {"ids": [entry.id], "masked": 0}
        recalled = await data(client, "recall", query="where does Miu sleep")
        [passage] = recalled["passages"]
        assert (passage["source"], passage["ids"]) == ("home", [entry.id])
        assert 0 < passage["confidence"] < 1
        listed = await data(client, "list")
        assert [one["text"] for one in listed["entries"]] == ["Miu sleeps upstairs."]
        assert await data(client, "update", id=entry.id, text="Miu sleeps downstairs.") == {
            "id": entry.id
        }
        assert await data(client, "forget", ids=[entry.id]) == {
            "ids": [entry.id],
            "scrubbed": True,
        }

    talk(memory, act)


def test_entries_are_listed_page_by_page_and_updated_by_their_ids(memory: Memory) -> None:
    for number in range(3):
        memory.add(f"note {number}\nsecond line", source=f"s{number % 2}")

    async def act(client: Client) -> None:
        first = (await said(client, "list", limit=2)).splitlines()
        assert [line.split(" ", 2)[1:] for line in first[:2]] == [
            ["s0", "note 0 second line"],
            ["s1", "note 1 second line"],
        ]
        after = first[2].removeprefix("more: after=")
        [last] = (await said(client, "list", limit=2, after=after)).splitlines()
        assert last.endswith("note 2 second line")
        assert (await said(client, "list", source="s1")).count("note") == 1
        assert await said(client, "list", source="none") == "nothing found"
        entry = last.split()[0]
        token = "ghp_" + "a1B2" * 9
        assert await said(client, "update", id=entry, text=f"now {token}") == f"updated {entry}"
        assert memory.get(entry).text == "now [masked: GitHub Token]"
        assert "no entry" in await refused(client, "update", id="none", text="x")

    talk(memory, act)


def test_a_repeated_call_stores_nothing_twice(memory: Memory) -> None:
    async def act(client: Client) -> None:
        for text in ("The boiler is from 2012.", "password: hunter2secret", "word " * 20_000):
            first = await said(client, "remember", text=text)
            stored = memory.stats().entries
            assert first.startswith("remembered as ")
            assert await said(client, "remember", text=text) == "known already"
            assert memory.stats().entries == stored
        assert (await said(client, "remember", text="Ok.", source="x")).startswith("remembered")
        assert (await said(client, "remember", text="Ok.", source="y")).startswith("remembered")

    talk(memory, act)


def test_a_long_text_is_durable_before_it_is_embedded(open_memory: Open) -> None:
    go = threading.Event()

    def wait(texts: Sequence[str], vectors: Floats) -> Floats:
        assert go.wait(30)
        return vectors

    memory = open_memory(embedder=HashingEmbedder(tamper=wait))

    async def act(client: Client) -> None:
        told = await said(client, "remember", text="The harbour is quiet. " * 3_000)
        assert told.endswith("not searchable yet")
        assert memory.stats().entries > 0
        go.set()

    talk(memory, act)
    assert memory.stats().pending.get("fragments") is None
    assert memory.search("harbour")


@pytest.mark.parametrize("mode", VERSIONS)
@pytest.mark.parametrize("length", [1, SLOW_CHARS // 4])
@pytest.mark.parametrize("is_stored", [False, True])
def test_a_call_that_is_cancelled_stores_nothing_or_is_known_when_repeated(
    memory: Memory, mode: str, length: int, is_stored: bool
) -> None:
    text = "The harbour is quiet. " * length
    begun, go, done = threading.Event(), threading.Event(), threading.Event()
    plain = calls_on(memory)

    async def within(request: Any, use: Callable[[Memory], Any], kind: Kind, needed: Roles) -> Any:
        def pause(memory: Memory) -> Any:
            try:
                result = use(memory) if is_stored else None
                begun.set()
                assert go.wait(30)
                return result or use(memory)
            finally:
                done.set()

        return await plain(request, use if begun.is_set() else pause, kind, needed)

    async def act() -> None:
        async with anyio.create_task_group() as tasks:
            server = build(within, Path, tasks.start_soon, asks_only(None))
            async with Client(server, mode=mode) as client, anyio.create_task_group() as calls:
                calls.start_soon(client.call_tool, "remember", {"text": text})
                assert await anyio.to_thread.run_sync(begun.wait, 30)
                calls.cancel_scope.cancel()
            async with Client(server, mode=mode) as client:
                go.set()
                assert await anyio.to_thread.run_sync(done.wait, 30)
                assert (memory.stats().entries > 0) == is_stored
                told = await said(client, "remember", text=text)
                assert (told == "known already") == is_stored

    anyio.run(act)


def test_what_was_found_and_does_not_fit_is_told_from_nothing_found(memory: Memory) -> None:
    async def act(client: Client) -> None:
        assert await said(client, "recall", query="boiler", budget=5) == "nothing found"
        memory.add("The boiler in the cellar is from 2012 and was mended twice.", source="house")
        told = await said(client, "recall", query="boiler", budget=5)
        assert "do not fit 5 tokens" in told
        needed = int(told.rsplit(" ", 1)[1])
        assert "mended twice" in await said(client, "recall", query="boiler", budget=needed)
        assert await said(client, "recall", query="boiler", budget=5, source="x") == "nothing found"

    talk(memory, act)


def test_nothing_relevant_is_an_answer(memory: Memory) -> None:
    for text in ("The gardener plants tulips.", "Rain fell on the harbour.", "A letter arrived."):
        memory.add(text)

    async def act(client: Client) -> None:
        query = "how many moons has Neptune"
        assert "tulips" in await said(client, "recall", query=query)
        told = await said(client, "recall", query=query, min_confidence=0.5)
        assert told.startswith("nothing relevant")

    talk(memory, act)


def test_bad_calls_are_answered_with_what_is_wrong_and_change_nothing(memory: Memory) -> None:
    memory.add("kept", source="a")

    async def act(client: Client) -> None:
        assert "text: Field required" in await refused(client, "remember")
        assert "white space" in await refused(client, "remember", text=" ")
        assert "ISO 8601" in await refused(client, "remember", text="x", at="soon")
        for name in ("since", "until", "as_of"):
            assert "ISO 8601" in await refused(client, "recall", query="x", **{name: "soon"})
        assert "budget: " in await refused(client, "recall", query="x", budget=0)
        assert "idz: " in await refused(client, "recall", query="x", idz=True)
        assert "no entries are chosen" in await refused(client, "forget", ids=[], source="")
        assert "nothing to forget" in await refused(client, "forget", source="b")
        assert "ask your user to run `treering code index FOLDER`" in await refused(
            client, "code_context", instruction="x"
        )
        with pytest.raises(MCPError, match="there are remember, recall"):
            await client.call_tool("memorize", {"text": "x"})
        for name, why in (("recall", "query is empty"), ("none", "there are brief, recall")):
            with pytest.raises(MCPError, match=why):
                await client.get_prompt(name)
        with pytest.raises(MCPError, match="there is treering://brief"):
            await client.read_resource("treering://tree")
        assert [entry.text for entry in memory.entries()] == ["kept"]

    talk(memory, act)


def test_the_list_of_tools_costs_a_conversation_little() -> None:
    listed = [one.model_dump(by_alias=True, exclude_none=True) for one in tools.list_tools()]
    assert len(listed) <= MOST_TOOLS
    assert estimate_tokens(json.dumps(listed)) <= TOOL_LIST_TOKENS
    assert "title" not in json.dumps(listed)
    assert "anyOf" not in json.dumps(listed)


def test_code_for_a_change_comes_whole_while_there_is_room_then_by_name(
    memory: Memory, tmp_path: Path
) -> None:
    body = "".join(f"    total += rate({number})\n" for number in range(40))
    files = {
        "tax.py": f"def tax(amount):\n    total = 0\n{body}    return total\n",
        "pay.py": f"def pay_tax(amount):\n    total = 0\n{body}    return tax(total)\n",
    }
    for name, text in files.items():
        (tmp_path / "shop").mkdir(exist_ok=True)
        (tmp_path / "shop" / name).write_text(text)
    memory.code.index(tmp_path / "shop")

    async def act(client: Client) -> None:
        whole = await said(client, "code_context", instruction="tax of an amount")
        assert "def tax(amount):" in whole
        assert "def pay_tax(amount):" in whole
        some = await said(client, "code_context", instruction="tax of an amount", budget=400)
        assert estimate_tokens(some) <= 400
        assert "def tax(amount):" in some
        assert some.count("rate(") < whole.count("rate(")
        assert some.endswith(("tax.py:22-43 tax", "pay.py:22-43 pay_tax"))

    talk(memory, act)


def test_a_round_of_work_is_recorded_and_guarded(memory: Memory, tmp_path: Path) -> None:
    plain, guarded = "def half(n):\n    return n / 2\n", GUARDED
    root = repository(tmp_path / "repository", m=plain)

    async def act(client: Client) -> None:
        told = await said(client, "code_record", instruction="Nothing", root=str(root))
        assert told.startswith("nothing was recorded")
        write(root, m=guarded)
        told = await said(
            client, "code_record", instruction="Refuse negative numbers.", root=str(root)
        )
        assert told.endswith(" m.py::half")
        assert (await said(client, "code_check", root=str(root))).startswith("nothing is undone")
        commit(root, "Work")
        write(root, m=plain)
        found = await said(client, "code_check", root=str(root))
        assert "undoes: Refuse negative numbers. (round " in found
        assert "then " in found
        message = f"Negative numbers are fine, see {told.split()[0]}"
        assert "round" not in await said(client, "code_check", root=str(root), message=message)
        assert "git" in await refused(client, "code_check", root=str(tmp_path))

    talk(memory, act)


# ------------------------------------------------------------------ in another process


@pytest.fixture
def parameters(path: Path, no_llm: None) -> StdioServerParameters:
    """Starts ``treering mcp`` on a file of its own."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "treering", "mcp", str(path)],
        cwd=path.parent,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(PLUGINS))),
            "TREERING_EMBEDDER": "hashing",
        },
    )


def test_over_stdio_what_was_remembered_is_there_for_the_next_client(
    parameters: StdioServerParameters, open_memory: Open, path: Path
) -> None:
    async def conversation() -> None:
        async with Client(stdio_client(parameters)) as client:
            assert client.server_info is not None
            assert client.server_info.name == "treering"
            await said(client, "remember", text="The launch is on Friday.")
        async with Client(stdio_client(parameters)) as client:
            assert "on Friday" in await said(client, "recall", query="when is the launch")

    anyio.run(conversation)
    [entry] = open_memory(path, space=project_of(path.parent)).entries()
    assert entry.text == "The launch is on Friday."


BLOCKED = "fastapi", "httptools", "json_repair", "markdown_it", "openai", "prometheus_client"
WITHOUT_SERVE = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({BLOCKED!r}))
runpy.run_module("treering", run_name="__main__", alter_sys=True)
"""
"""``python -m treering`` where the extra ``mcp`` alone is installed."""


def test_over_stdio_every_tool_works_without_the_extra_serve(
    parameters: StdioServerParameters, path: Path
) -> None:
    parameters.args = ["-c", WITHOUT_SERVE, *parameters.args[2:]]
    root = repository(path.parent / "repository", m=GUARDED)

    async def act() -> None:
        async with Client(stdio_client(parameters)) as client:
            told = await said(client, "remember", text="The launch is on Friday.")
            entry = told.split()[-1]
            assert "Friday" in await said(client, "recall", query="when is the launch")
            assert entry in await said(client, "list")
            await said(client, "update", id=entry, text="The launch is on Monday.")
            assert "Monday" in await shown(client)
            assert "Monday" in await prompted(client, "recall", query="when is the launch")
            await said(client, "code_record", instruction="Nothing", root=str(root))
            await said(client, "code_check", root=str(root))
            assert "code index" in await refused(client, "code_context", instruction="x")
            assert "text: Field required" in await refused(client, "remember")
            await said(client, "forget", ids=[entry])

    anyio.run(act)


def test_no_input_ends_the_server_but_its_end(parameters: StdioServerParameters) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    lines = [
        b"",
        b"nonsense",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"[]",
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "1.0", "id": {}, "method": 7}',
        json.dumps(call | {"id": 3}).encode(),
        json.dumps(initialize("2025-06-18")).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        json.dumps(call | {"params": "no"}).encode(),
        json.dumps(call | {"id": 4, "params": {"name": "remember", "arguments": []}}).encode(),
        json.dumps(call | {"id": 5, "params": {"name": "remember\x00"}}).encode(),
        b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "remember",'
        b' "arguments": {"text": "\\ud800"}}}',
        json.dumps(
            call | {"id": 8, "params": {"name": "remember", "arguments": {"text": "survived"}}}
        ).encode(),
    ]
    server = Program[bytes](
        [parameters.command, *parameters.args],
        env=parameters.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"\n".join(lines) + b"\n")
        server.stdin.flush()
        replies: dict[object, dict[str, Any]] = {}
        while (
            not {7, 8} <= replies.keys()
        ):  # a reply that never comes is an end of file, or the time-out
            reply = json.loads(server.stdout.readline())
            replies[reply.get("id")] = reply
        _, complaints = server.communicate(timeout=60)
    assert server.returncode == 0
    assert b"Traceback" not in complaints
    assert "remembered as" in replies[8]["result"]["content"][0]["text"]
    for number in (3, 4, 5):
        assert replies[number]["error"]["code"] == -32602
    assert replies[7]["error"]["code"] == -32600  # a lone surrogate, told with the id of its call
    assert replies[None]["error"]["code"] in (-32700, -32600)


def test_the_end_of_the_input_waits_for_no_embedder(
    parameters: StdioServerParameters, open_memory: Open, path: Path
) -> None:
    lines = [
        initialize("2025-11-25"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {
                "name": "remember",
                "arguments": {"text": "The harbour is quiet. " * 3_000},
            },
        },
    ]
    with subprocess.Popen(
        [parameters.command, *parameters.args],
        cwd=path.parent,
        env=(parameters.env or {}) | {"TREERING_EMBEDDER": "waiting"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            server.stdin.write("".join(f"{json.dumps(line)}\n" for line in lines))
            server.stdin.flush()
            _, told = server.stdout.readline(), server.stdout.readline()
            assert "not searchable yet" in told
            server.communicate(timeout=60)  # the embedder never answers
        finally:
            server.kill()
    assert server.returncode == 0
    memory = open_memory(path, space=project_of(path.parent))
    assert memory.stats().pending["fragments"] > 0
    assert memory.search("harbour")


ARGUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = sorted({name for tool in tools.TOOLS.values() for name in tool.arguments.model_fields})


@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(list(tools.TOOLS)),
            st.dictionaries(st.sampled_from(NAMES) | st.text(), ARGUMENTS, max_size=4),
        ),
        max_size=8,
    ),
)
def test_whatever_a_model_sends_is_answered(
    calls: list[tuple[str, dict[str, Any]]], open_memory: Open, tmp_path: Path
) -> None:
    async def act(client: Client) -> None:
        for tool, arguments in calls:
            result = await client.call_tool(tool, arguments)
            assert result.content[0].text  # type: ignore[union-attr]

    talk(open_memory(tmp_path / "fuzz.db"), act, "legacy", lambda _: tmp_path)
