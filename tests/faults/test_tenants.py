"""Two tenants of one server: one asks for anything at random, by REST, MCP and the proxy, and gets
nothing of the other. What is forgotten is in no file, no log, no metric and no answer.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.faults.conftest import Note
from tests.serve.conftest import bearer, serving
from tests.serve.test_access import BODIES, filled, operations
from treering.journal.open import open_database
from treering.llm.scripted import ScriptedLLM
from treering.serve import keys

SECRET = "zebrafinch"
ODD: list[Any] = ["", "ana", "../ana", "*", "%", "\0", -1, 10**30, None, True, [], {}, "é" * 99]


def key_for(path: Path, space: str) -> dict[str, str]:
    database = open_database(path)
    try:
        return bearer(keys.add(database, space)[0])
    finally:
        database.close()


def odd_body(body: dict[str, Any], ids: list[str], rng: random.Random) -> Any:
    """A body with some fields of a random kind, or another tenant's ids in them."""
    values = [*ODD, *ids, SECRET]
    changed = {name: rng.choice([value, *values]) for name, value in body.items()}
    if rng.random() < 0.3:
        changed[rng.choice(["ids", "source", "space", "entry_id", "k", "replies"])] = rng.choice(
            [*values, ids]
        )
    return rng.choice([changed, changed, changed, rng.choice(values)])


def tool_call(ids: list[str], rng: random.Random) -> dict[str, Any]:
    name = rng.choice(["recall", "remember", "forget", "list", "update", "code_context"])
    arguments = {
        field: rng.choice([*ODD, *ids, SECRET])
        for field in rng.sample(["query", "text", "ids", "source", "id", "space"], 2)
    }
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


@pytest.mark.timeout(1_200)
def test_a_tenant_that_asks_anything_gets_nothing_of_another(
    path: Path, rng: random.Random, rounds: Callable[[int], int], note: Note
) -> None:
    ana, ben, count = key_for(path, "ana"), key_for(path, "ben"), rounds(60)
    accept = {"accept": "application/json, text/event-stream"}
    llm = ScriptedLLM(lambda _: "I do not know.")
    with serving(path, llm=llm, requests_per_s=1e6, burst=10**6) as client:
        ids = client.post(
            "/v1/entries",
            json={"text": f"Ana's {SECRET} sings.", "source": SECRET, "session": SECRET},
            headers=ana,
        ).json()["ids"]
        client.post("/v1/chat", json={"message": f"My {SECRET} sings."}, headers=ana)
        before = client.get("/v1/export", headers=ana).text
        routes = list(operations(client))
        for _ in range(count):
            method, route = rng.choice(routes)
            claim = (
                {"X-Treering-Space": rng.choice(["ana", "ben", ""])} if rng.random() < 0.3 else {}
            )
            if route == "/mcp":
                call = tool_call(ids, rng)
                answer = client.post("/mcp", json=call, headers=ben | claim | accept)
            else:
                body = odd_body(BODIES.get(route, {}), ids, rng)
                where = filled(route, rng.choice([*ids, SECRET, "%00"]))
                answer = client.request(method, where, json=body, headers=ben | claim)
            assert answer.status_code != 500, (method, route, answer.text)
            # What it sent itself may be in what it gets; Ana's text may not.
            assert "sings" not in answer.text, (method, route)
        assert client.get("/v1/export", headers=ana).text == before
    note("two tenants, REST and MCP", requests=count, leaked=0)


def everything(client: TestClient, key: dict[str, str], token: str) -> list[str]:
    """Store a token in every place that takes a text; the ids of the entries."""
    text = {
        "text": f"The {token}a sings.",
        "source": f"{token}b",
        "speaker": f"{token}c",
        "session": f"{token}d",
        "metadata": {f"{token}e": f"{token}f"},
    }
    ids: list[str] = client.post("/v1/entries", json=text, headers=key).json()["ids"]
    messages = [{"role": "user", "name": f"{token}g", "content": f"I live in {token}h."}]
    sent = {"messages": messages, "source": f"{token}i"}
    ids += client.post("/v1/entries", json=sent, headers=key).json()["ids"]
    once = key | {"Idempotency-Key": f"{token}j"}
    client.post("/v1/chat", json={"message": f"Is {token}k here?"}, headers=once)
    client.post("/v1/settle", headers=key)
    client.post("/v1/search", json={"query": f"{token}l"}, headers=key)
    client.post("/v1/context", json={"query": f"{token}m"}, headers=key)
    return ids


def test_what_is_forgotten_is_in_no_file_log_metric_or_answer(
    path: Path, rng: random.Random, note: Note, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key, token = key_for(path, "ana"), f"quagga{rng.getrandbits(60):x}"
    llm = ScriptedLLM(lambda request: f"You said {token}k.")
    with serving(path, llm=llm) as client:
        everything(client, key, token)
        ids = [entry["id"] for entry in client.get("/v1/entries", headers=key).json()["entries"]]
        done = client.post("/v1/forget", json={"ids": ids, "replies": True}, headers=key).json()
        assert done["scrubbed"], done
        answers = [
            client.get(where, headers=key).text
            for where in ("/metrics", "/v1/export", "/v1/entries", "/v1/stats", "/v1/memos")
        ]
        assert [text for text in answers if token in text] == []
    files = [file for file in path.parent.rglob("*") if file.is_file()]
    assert [file.name for file in files if token.encode() in file.read_bytes()] == []
    assert token not in caplog.text
    note("erasure tokens", places=13, left=0)
