"""Two tenants of one server: one asks for anything at random, by REST, MCP and the proxy, and gets
nothing of the other. What is forgotten is in no file, no log, no metric and no answer.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from tests.faults.conftest import Note
from tests.llm.chat_server import playing, says
from tests.serve.conftest import bearer, serving
from tests.serve.test_access import BODIES, filled, operations
from treering.journal.open import open_database
from treering.llm.scripted import FakeLLM
from treering.serve import keys
from treering.serve.mcp import tools
from treering.serve.proxy.route import CONVERSATION_HEADER

FUZZED: dict[str, dict[str, Any]] = BODIES | {"/v1/share": {"ids": ["a"], "to": "ana"}}
SECRET = "zebrafinch"
PHRASE = f"{SECRET} sings"
TALK = "ana-and-the-bird"
ODD: list[Any] = ["", "ana", "../ana", "*", "%", "\0", -1, 10**30, None, True, [], {}, "é" * 99]


class TenantPair(NamedTuple):
    """A client of a server, the ids of what Ana has there, and the headers of both tenants."""

    client: TestClient
    ids: list[str]
    ana: dict[str, str]
    ben: dict[str, str]


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


def odd_arguments(schema: dict[str, Any], ids: list[str], rng: random.Random) -> dict[str, Any]:
    """Arguments for a tool: mostly of the kinds it asks for, with names of another in them."""
    arguments: dict[str, Any] = {}
    for name, field in schema["properties"].items():
        if name not in schema.get("required", []) and rng.random() < 0.6:
            continue
        texts = [SECRET, "sings", "ana", "*", *ids]
        by_kind: dict[str, list[Any]] = {
            "string": texts,
            "integer": [1, 50],
            "boolean": [True, False],
            "array": [[text] for text in texts],
        }
        arguments[name] = rng.choice(by_kind.get(field.get("type"), texts))
        if rng.random() < 0.15:
            arguments[name] = rng.choice([*ODD, ids])
    return arguments


def odd_call(ids: list[str], rng: random.Random) -> dict[str, Any]:
    """A call of a tool, or a request for a prompt or the brief."""
    method = rng.choice(["tools/call"] * 4 + ["prompts/get", "resources/read"])
    if method == "tools/call":
        tool = rng.choice(tools.list_tools())
        params = {"name": tool.name, "arguments": odd_arguments(tool.input_schema, ids, rng)}
    elif method == "prompts/get":
        query = rng.choice([SECRET, *ids])
        params = {"name": rng.choice(["recall", "brief"]), "arguments": {"query": query}}
    else:
        params = {"uri": rng.choice(["treering://brief", f"treering://{rng.choice(ids)}"])}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def odd_chat(ids: list[str], rng: random.Random) -> dict[str, Any]:
    """A chat request, with odd fields at times, that asks for what is another's."""
    texts = [f"What does the {SECRET} do?", f"{SECRET} {ids[0]}", "What do you know of ana?"]
    messages: list[Any] = [
        {"role": rng.choice(["user", "assistant", "system"]), "content": rng.choice(texts)}
        for _ in range(rng.randrange(3))
    ]
    messages.append({"role": "user", "name": rng.choice(["ana", "ben"]), "content": texts[0]})
    body = {"model": "m", "messages": messages, "user": rng.choice(["ana", "ben"])}
    if rng.random() < 0.3:
        body[rng.choice(["model", "messages", "user", "stream", "space"])] = rng.choice(
            [*ODD, *ids, [rng.choice(ODD)]]
        )
    return body


def odd_claim(rng: random.Random, *names: str) -> dict[str, str]:
    """Headers that claim what is not one's own."""
    claims = {name: rng.choice(["ana", "ben", "", TALK]) for name in names}
    return {name: value for name, value in claims.items() if rng.random() < 0.3}


@contextmanager
def two_tenants(path: Path, *, grows: bool = False, **options: Any) -> Iterator[TenantPair]:
    """A server where Ana has an entry in every place; all she has is as it was in the end, or is
    there beside more.
    """
    ana, ben = key_for(path, "ana"), key_for(path, "ben")
    llm = FakeLLM(lambda _: "I do not know.")
    with serving(path, llm=llm, requests_per_s=1e6, burst=10**6, **options) as client:
        text = {"text": f"Ana's {PHRASE}.", "source": SECRET, "session": SECRET}
        ids = client.post("/v1/entries", json=text, headers=ana).json()["ids"]
        client.post("/v1/chat", json={"message": f"My {PHRASE}."}, headers=ana)
        client.post("/v1/settle", headers=ana)
        before = kept(client.get("/v1/export", headers=ana).text)
        yield TenantPair(client, ids, ana, ben)
        after = kept(client.get("/v1/export", headers=ana).text)
        assert ([line for line in after if line in before] if grows else after) == before


def kept(export: str) -> list[str]:
    """The lines of an export, but for the digests of what its owner forgot."""
    return [line for line in export.splitlines() if not line.startswith('{"forgotten"')]


def assert_nothing_of_ana(answer: Response, asked: object) -> None:
    """What Ben sent himself may be in what he gets; Ana's text may not."""
    assert answer.status_code != 500, (asked, answer.text)
    assert PHRASE not in answer.text, asked


@pytest.mark.timeout(1_200)
def test_a_tenant_that_asks_anything_gets_nothing_of_another(
    path: Path, rng: random.Random, rounds: Callable[[int], int], note: Note
) -> None:
    count, answered = rounds(60), 0
    with two_tenants(path) as pair:
        routes = list(operations(pair.client))
        for _ in range(count):
            method, route = rng.choice(routes)
            body = odd_body(FUZZED.get(route, {}), pair.ids, rng)
            where = filled(route, rng.choice([*pair.ids, SECRET, "%00"]))
            headers = pair.ben | odd_claim(rng, "X-Treering-Space")
            answer = pair.client.request(method, where, json=body, headers=headers)
            assert_nothing_of_ana(answer, (method, route, body))
            answered += answer.is_success
    assert answered
    note("two tenants by REST", requests=count, answered=answered, leaked=0)


@pytest.mark.timeout(1_200)
def test_so_it_is_by_mcp(
    path: Path, rng: random.Random, rounds: Callable[[int], int], note: Note
) -> None:
    count, answered = rounds(60), 0
    accept = {"accept": "application/json, text/event-stream"}
    with two_tenants(path) as pair:
        recall = {"name": "recall", "arguments": {"query": SECRET}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": recall}
        own = pair.client.post("/mcp", json=call, headers=pair.ana | accept)
        assert PHRASE in own.text, own.text
        for _ in range(count):
            call = odd_call(pair.ids, rng)
            headers = pair.ben | accept | odd_claim(rng, "X-Treering-Space", "Mcp-Session-Id")
            answer = pair.client.post("/mcp", json=call, headers=headers)
            assert_nothing_of_ana(answer, call)
            answered += answer.is_success and "result" in answer.json()
    assert answered
    note("two tenants by MCP", requests=count, answered=answered, leaked=0)


@pytest.mark.timeout(1_200)
def test_and_through_the_proxy_to_a_model_that_repeats_all_it_is_shown(
    path: Path, rng: random.Random, rounds: Callable[[int], int], note: Note
) -> None:
    count, answered = rounds(60), 0

    def repeats(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        says(str(model.requests[-1].body.get("messages")))(handler, over)

    with (
        playing(*[repeats] * (count + 1)) as model,
        two_tenants(path, upstream=model.url) as pair,
    ):
        asked = {"model": "m", "messages": [{"role": "user", "content": f"What of {SECRET}?"}]}
        chat = "/v1/chat/completions"
        own = pair.client.post(chat, json=asked, headers=pair.ana | {CONVERSATION_HEADER: TALK})
        assert PHRASE in own.text, own.text
        pair.client.post("/v1/forget", json={"source": f"chat/{TALK}"}, headers=pair.ana)
        for _ in range(count):
            body = odd_chat(pair.ids, rng)
            headers = pair.ben | odd_claim(rng, "X-Treering-Space", CONVERSATION_HEADER)
            answer = pair.client.post(chat, json=body, headers=headers)
            assert_nothing_of_ana(answer, body)
            answered += answer.is_success
    assert answered
    note("two tenants through the proxy", requests=count, answered=answered, leaked=0)


@pytest.mark.timeout(1_200)
def test_a_key_does_nothing_beyond_its_roles_and_spaces(
    path: Path, rng: random.Random, rounds: Callable[[int], int], note: Note
) -> None:
    """A reader changes nothing; who only adds reads and erases nothing; a pattern ends at its
    spaces, and so does a key that opens two.
    """
    count, answered = rounds(210), 0
    with two_tenants(path, grows=True) as pair:
        with closing(open_database(path)) as database:
            reader = bearer(keys.add(database, "ana", roles=["read"])[0])
            adder, adder_key = keys.add(database, "ana", roles=["add"])
            fleet = bearer(keys.add(database, "ben*")[0])
            keys.extend(database, adder_key.id, "bob", ["full"])
        pair.client.app.state.access.read_keys()  # type: ignore[attr-defined]
        routes = list(operations(pair.client))
        for _ in range(count):
            key = rng.choice([reader, bearer(adder), fleet])
            before = export_of_ana(pair) if key is reader else []
            method, route = rng.choice(routes)
            body: Any = odd_body(FUZZED.get(route, {}), pair.ids, rng)
            headers = key | odd_claim(rng, "X-Treering-Space")
            where = filled(route, rng.choice([*pair.ids, SECRET, "%00"]))
            if rng.random() < 0.3:
                method, where, route = "POST", "/mcp", "mcp"
                body = odd_call(pair.ids, rng)
                headers |= {"accept": "application/json, text/event-stream"}
            answer = pair.client.request(method, where, json=body, headers=headers)
            assert answer.status_code != 500, (method, route, body)
            if key is reader:
                assert export_of_ana(pair) == before, (method, route, body)
            else:
                assert PHRASE not in answer.text, (method, route, body)
            answered += answer.is_success
    assert answered
    note("roles and patterns", requests=count, answered=answered, leaked=0)


@pytest.mark.timeout(1_200)
def test_a_key_shares_and_erases_copies_only_where_its_roles_say_so(
    path: Path, rng: random.Random, rounds: Callable[[int], int], note: Note
) -> None:
    """Bob may add to the team, where additions wait, and to the hall, where they do not."""
    count, shared, refused = rounds(60), 0, 0
    with two_tenants(path) as pair:
        with closing(open_database(path)) as database:
            owner = bearer(keys.add(database, "*")[0])
            text, bobs = keys.add(database, "bob")
            for space in ("team", "hall"):
                keys.extend(database, bobs.id, space, ["add"])
        spaces = {name: {"X-Treering-Space": name} for name in ("ana", "bob", "team", "hall")}
        for name in ("team", "hall"):
            agents = {"agents": "propose" if name == "team" else "write"}
            pair.client.put(f"/v1/spaces/{name}", headers=owner | spaces[name])
            pair.client.post("/v1/configure", json=agents, headers=owner | spaces[name])
            share = {"ids": pair.ids, "to": name}
            pair.client.post("/v1/share", json=share, headers=owner | spaces["ana"])

        def ids(space: str) -> list[str]:
            listed = pair.client.get("/v1/entries?limit=1000", headers=owner | spaces[space])
            return [entry["id"] for entry in listed.json()["entries"]]

        team = ids("team")
        for number in range(count):
            body: dict[str, Any] = {"text": f"Bob's note {number}."}
            pair.client.post("/v1/entries", json=body, headers=bearer(text) | spaces["bob"])
            named = rng.choice([*["bob"] * 5, *spaces, "nowhere"])
            own, hall = ids("bob"), ids("hall")
            some = rng.sample([*own, *pair.ids, *team, *hall], 2)
            headers = bearer(text) | {"X-Treering-Space": named}
            if rng.random() < 0.5:
                body = {"ids": rng.choice([some, own[:1]]), "to": rng.choice([*spaces, "*"])}
                answer = pair.client.post("/v1/share", json=body, headers=headers)
                shared += answer.is_success
            else:
                body = {"ids": some, "copies": rng.random() < 0.7, "replies": rng.random() < 0.5}
                answer = pair.client.post("/v1/forget", json=body, headers=headers)
                assert answer.json().get("copies", 0) == 0, body
            refused += answer.is_client_error
            assert_nothing_of_ana(answer, body)
            assert ids("team") == team, body
            assert set(hall) <= set(ids("hall")), body
    assert shared
    assert refused
    note("shares and copies", requests=count, shared=shared, refused=refused, leaked=0)


def export_of_ana(pair: TenantPair) -> list[str]:
    return pair.client.get("/v1/export", headers=pair.ana).text.splitlines()


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
    llm = FakeLLM(lambda request: f"You said {token}k.")
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
