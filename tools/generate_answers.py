"""Write the answers that ``treering mcp`` gives before the official SDK is loaded.

Run as ``python -m tools.generate_answers``. A test compares the result with the committed file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from treering.serve.mcp.front import ANSWERS, METHODS
from treering.serve.mcp.server import asks_only, build


def initialize(version: str) -> dict[str, Any]:
    """Return the call with which a client of a version begins."""
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "a client", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def request(method: str) -> dict[str, Any]:
    """Return a call without parameters."""
    return {"jsonrpc": "2.0", "id": method, "method": method}


def ask_sdk(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the SDK's server answers to calls, one after the other."""

    async def no_memory(*_: Any) -> Any:
        raise NotImplementedError

    async def ask() -> list[dict[str, Any]]:
        lines, requests = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        replies, sent = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks, sent:
            server = build(no_memory, Path, tasks.start_soon, asks_only(None))
            options = server.create_initialization_options()
            tasks.start_soon(server.run, requests, replies, options)
            answers = []
            async with lines:
                for call in calls:
                    await lines.send(SessionMessage(_message(call)))
                    answers.append((await sent.receive()).message)
        return [
            json.loads(answer.model_dump_json(by_alias=True, exclude_unset=True))
            for answer in answers
        ]

    return anyio.run(ask)


def _message(call: dict[str, Any]) -> JSONRPCMessage:
    return jsonrpc_message_adapter.validate_json(json.dumps(call), by_name=False)


def generate() -> str:
    """Return the file: the versions, and results without what differs by client or release."""
    *_, latest = HANDSHAKE_PROTOCOL_VERSIONS
    calls = [initialize(latest), *map(request, METHODS)]
    [greeting, *results] = [answer["result"] for answer in ask_sdk(*calls)]
    del greeting["protocolVersion"], greeting["serverInfo"]["version"]
    content = {
        "versions": HANDSHAKE_PROTOCOL_VERSIONS,
        "initialize": greeting,
        **dict(zip(METHODS, results, strict=True)),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    ANSWERS.write_text(generate(), "utf-8")
