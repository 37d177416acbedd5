"""The first answers of ``treering mcp``: those of the SDK's server, before it is loaded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from tools.generate_answers import ask_sdk, generate, initialize, request
from treering.serve.mcp.front import ANSWERS, METHODS, Answers

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60

LISTING = request("tools/list")
OTHERS = [*map(request, ("ping", "prompts/list", "resources/list", "resources/templates/list"))]
REMEMBER = request("tools/call") | {
    "params": {"name": "remember", "arguments": {"text": "The launch is on Friday."}}
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def content(call: Any) -> bytes:
    return json.dumps(call, ensure_ascii=False).encode() + b"\n"


def test_the_shipped_answers_are_those_of_the_sdk() -> None:
    assert ANSWERS.read_text("utf-8") == generate(), "run: python -m tools.generate_answers"


def test_a_client_of_any_version_gets_the_answers_of_the_sdk() -> None:
    for version in (*KNOWN_PROTOCOL_VERSIONS, "1999-01-01", "", "zzz"):
        calls = [initialize(version), LISTING, *OTHERS, LISTING | {"params": {}}]
        front = Answers()
        assert [front.answer(content(call)) for call in calls] == ask_sdk(*calls)


TOKEN = {"_meta": {"progressToken": 3}}
CODEX = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"elicitation": {"form": {}, "url": {}}},
    "clientInfo": {"name": "codex-mcp-client", "title": "Codex", "version": "0.171.0"},
}
CLAUDE_CODE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {"listChanged": True}, "elicitation": {}},
    "clientInfo": {
        "name": "claude-code",
        "title": "Claude Code",
        "version": "2.1.0",
        "websiteUrl": "https://claude.com/claude-code",
        "description": "A coding agent — in a terminal",
    },
}


@pytest.mark.parametrize("params", [CODEX, CLAUDE_CODE, CODEX | TOKEN])
def test_real_clients_are_answered(params: dict[str, Any]) -> None:
    calls = [initialize("") | {"params": params}, LISTING | {"params": TOKEN}]
    front = Answers()
    assert [front.answer(content(call)) for call in calls] == ask_sdk(*calls)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["roots", "listChanged", "form", "name"]), inner)
    ),
    max_leaves=4,
)


@given(
    capabilities=VALUES,
    info=VALUES | st.fixed_dictionaries({"name": st.text(), "version": st.text(), "title": VALUES}),
)
def test_a_greeting_is_answered_as_the_sdk_does_or_left_to_it(capabilities: Any, info: Any) -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": info}
    call = initialize("") | {"params": params}
    if (answer := Answers().answer(content(call))) is not None:
        assert [answer] == ask_sdk(call)


@given(number=VALUES, meta=VALUES, method=st.sampled_from(["initialize", *METHODS]))
def test_whatever_a_client_sends_is_answered_by_its_id_or_left_to_the_sdk(
    number: Any, meta: Any, method: str
) -> None:
    front = Answers()
    answer = front.answer(content(initialize("2025-06-18") | {"id": number}))
    assert (answer is not None) <= (type(number) in (int, str))
    later = front.answer(content(request(method) | {"id": number, "params": {"_meta": meta}}))
    for reply in filter(None, (answer, later)):
        assert reply["id"] == number


def test_any_other_beginning_is_left_to_the_sdk() -> None:
    cases = [
        b"",
        b"\n",
        b"no JSON",
        b"[" * 100_000,
        b"[]",
        b"7",
        b"\xff" + content(initialize("")),
        content(initialize("") | {"id": True}),
        content(initialize("") | {"id": 1.5}),
        content(initialize("") | {"jsonrpc": "1.0"}),
        content(initialize("") | {"params": []}),
        content(initialize("")).replace(b'"a client"', b"7"),
        content(initialize("")).replace(b'"name"', b'"nom"'),
        content(initialize("")).replace(b"a client", b"\\ud800"),
        content(LISTING),
        content(request("ping")),
        content(request("server/discover")),
    ]
    for line in cases:
        assert Answers().answer(line) is None


def test_later_lines_of_other_methods_are_left_to_the_sdk() -> None:
    front = Answers()
    assert front.answer(content(initialize("")))
    brief = request("prompts/get") | {"params": {"name": "brief"}}
    for call in (initialize(""), READY, REMEMBER, brief, LISTING | {"params": {"cursor": "x"}}):
        assert front.answer(content(call)) is None


GATED = """
import sys

class Gate:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            open(gate).close()  # waits for the test to open its end

gate, *sys.argv = sys.argv[1:]
sys.meta_path.insert(0, Gate())
from treering.__main__ import main
main()
"""


@pytest.fixture
def gated(tmp_path: Path, no_llm: None) -> Iterator[subprocess.Popen[bytes]]:
    """``treering mcp`` that waits before it imports its parser, the SDK and the memory."""
    os.mkfifo(tmp_path / "gate")
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests" / "cli" / "plugins")))
    with subprocess.Popen(
        [sys.executable, "-c", GATED, "gate", "treering", "mcp", str(tmp_path / "life.db")],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "TREERING_EMBEDDER": "hashing"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        try:
            yield server
        finally:
            server.kill()


def ask(server: subprocess.Popen[bytes], *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to calls that have ids, in the order of their arrival."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(b"".join(map(content, calls)))
    server.stdin.flush()
    return [json.loads(server.stdout.readline()) for call in calls if "id" in call]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_tools_are_listed_before_anything_is_loaded_and_each_call_is_answered_once(
    gated: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    calls = [initialize("2025-06-18"), READY, LISTING, *OTHERS]
    early = ask(gated, *calls)
    assert early == ask_sdk(*(call for call in calls if "id" in call))
    with ThreadPoolExecutor(1) as opening:
        opening.submit((tmp_path / "gate").write_bytes, b"")
        [late] = ask(gated, REMEMBER)
    assert "remembered as" in late["result"]["content"][0]["text"]
    assert ask(gated, LISTING) == [early[1]]
    assert gated.communicate(timeout=TIMEOUT_S)[0] == b""
    assert gated.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_ends_it_while_it_loads(
    gated: subprocess.Popen[bytes], how: signal.Signals, code: int
) -> None:
    ask(gated, initialize("2025-06-18"))
    gated.send_signal(how)
    assert gated.wait(TIMEOUT_S) == code
    assert b"Traceback" not in gated.communicate()[1]
