"""The proxy between the real openai client and a real server that plays the model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from itertools import product
from pathlib import Path
from typing import Any, Unpack

import httpx2
import openai
import pytest
from starlette.testclient import TestClient

from tests.conftest import Open
from tests.embedders import HashingEmbedder, down
from tests.llm.chat_server import (
    USAGE_CHUNK,
    Act,
    ChatServer,
    body,
    chunk,
    error,
    hangs_up,
    playing,
    says,
    send,
    streams,
)
from tests.serve.conftest import MakeKey, Serve, bearer
from tests.serve.live import serving
from treering import Memory
from treering.errors import UnknownName
from treering.ingest.where import Where
from treering.records import Entry, Spent
from treering.serve.proxy.conversation import (
    CLOSING,
    OPENING,
    PROTOCOLS,
    CompletionRequest,
    UpstreamReply,
)
from treering.serve.proxy.route import Proxy, ProxyTurn
from treering.serve.settings import ServerSettings
from treering.serve.spaces import Tenant
from treering.serve.threads import Threads


@contextmanager
def between(path: Path, *acts: Act, **options: Any) -> Iterator[tuple[openai.OpenAI, ChatServer]]:
    """A client whose base URL is treering, and the model behind it."""
    with playing(*acts) as model:
        given = {"url": path, "upstream": model.url, "upstream_key": "sk-upstream"} | options
        with (
            serving(**given) as url,
            openai.OpenAI(base_url=f"{url}/v1", api_key="sk-client", max_retries=0) as client,
        ):
            yield client, model


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": text}


def held(open_memory: Open, **where: Any) -> list[tuple[str | None, str]]:
    return [(one.role, one.text) for one in entries(open_memory, **where)]


def entries(open_memory: Open, **where: Any) -> list[Entry]:
    memory: Memory = open_memory()
    return list(memory.entries(**where))


def last_content(model: ChatServer, request: int = -1) -> str:
    content: str = model.requests[request].body["messages"][-1]["content"]
    return content


def test_a_conversation_is_remembered_once_and_enriches_the_next(
    path: Path, open_memory: Open
) -> None:
    acts = (says("Hello, Miu."), says("You are welcome."), says("Miu."))
    with between(path, *acts) as (client, model):
        history = [user("My cat is called Miu.")]
        first = client.chat.completions.with_raw_response.create(model="m", messages=history)
        history += [assistant("Hello, Miu."), user("Thanks.")]
        client.chat.completions.create(model="m", messages=history)
        other = client.chat.completions.with_raw_response.create(
            model="m", messages=[user("What is my cat called?")]
        )
    assert first.parse().choices[0].message.content == "Hello, Miu."
    assert first.headers["x-treering-memories"] == ""
    # Its own words are before the model already.
    assert last_content(model, 1) == "Thanks."
    assert OPENING in last_content(model, 2)
    assert "My cat is called Miu." in last_content(model, 2)
    assert last_content(model, 2).endswith(f"{CLOSING}\n\nWhat is my cat called?")
    assert held(open_memory) == [
        ("user", "My cat is called Miu."),
        ("assistant", "Hello, Miu."),
        ("user", "Thanks."),
        ("assistant", "You are welcome."),
        ("user", "What is my cat called?"),
        ("assistant", "Miu."),
    ]
    used = other.headers["x-treering-memories"].split(",")
    assert entries(open_memory)[0].id in used
    assert entries(open_memory)[4].id not in used


def test_the_model_server_gets_its_own_key_and_the_request_as_it_was(path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    with between(path, says("ok")) as (client, model):
        client.chat.completions.create(
            model="m", messages=[user("Hi")], temperature=0.3, seed=7, tools=tools  # type: ignore[arg-type]
        )  # fmt: skip
    [seen] = model.requests
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == "Bearer sk-upstream"
    assert "sk-client" not in json.dumps(seen.headers)
    assert seen.body == {
        "model": "m", "messages": [user("Hi")], "temperature": 0.3, "seed": 7, "tools": tools,
    }  # fmt: skip


def test_a_streamed_reply_passes_piece_by_piece_and_is_remembered(
    path: Path, open_memory: Open
) -> None:
    act = streams(chunk("Hel"), chunk("lo."), chunk(finish="stop"), USAGE_CHUNK)
    with between(path, act) as (client, _):
        events = list(client.chat.completions.create(model="m", messages=[user("Hi")], stream=True))
    pieces = [one.choices[0].delta.content for one in events if one.choices]
    assert pieces == ["Hel", "lo.", None]
    assert events[-1].usage is not None
    assert held(open_memory) == [("user", "Hi"), ("assistant", "Hello.")]
    assert entries(open_memory)[1].metadata["model"] == "served-model"


@pytest.mark.parametrize("gone", ["diary", "chat/"])
def test_a_reply_from_what_was_forgotten_meanwhile_is_not_remembered(
    path: Path, open_memory: Open, gone: str, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory()
    memory.add("The cat is called Mephistopheles.", source="diary")

    def act(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        memory.forget(source=gone)
        says("It is Mephistopheles.")(handler, over)

    question = [user("What is the cat's name?")]
    with between(path, act) as (client, _):
        reply = client.chat.completions.create(model="m", messages=question)
    assert reply.choices[0].message.content == "It is Mephistopheles."
    left: list[tuple[str | None, str]] = [("user", "What is the cat's name?")]
    if gone == "chat/":
        left = [(None, "The cat is called Mephistopheles.")]
    assert held(open_memory) == left
    assert "a reply was not kept" in caplog.text


class ForgettingMemory(Memory):
    """A memory in which something is forgotten by somebody else whenever entries are listed."""

    gone = "diary"

    def entries(self, **where: Unpack[Where]) -> Iterator[Entry]:
        with suppress(UnknownName):
            self.forget(source=self.gone)
        return super().entries(**where)


def test_a_reply_from_what_is_forgotten_while_it_is_stored_does_not_stay(
    path: Path, open_memory: Open
) -> None:
    open_memory().add("The cat is called Mephistopheles.", source="diary")
    with ForgettingMemory.open(path, embedder=HashingEmbedder()) as memory:
        asked = CompletionRequest(PROTOCOLS[0], {"messages": [user("What is the cat's name?")]})
        shown = memory._conversations.digests([entries(open_memory)[0].id])
        database = memory._database
        tenant = Tenant("default", memory, database, Threads(), lambda _: None)
        turn = ProxyTurn(tenant, asked, "talk", tuple(asked.history()), shown)
        proxy = Proxy(ServerSettings(path))
        reply = UpstreamReply(PROTOCOLS[0], streams=False, max_bytes=1_000)
        choice = {"message": {"content": "It is Mephistopheles."}}
        reply.feed(json.dumps({"choices": [choice]}).encode())
        proxy._remember_reply(turn, reply)
    assert "Mephistopheles" not in str(held(open_memory))
    assert all(b"Mephisto" not in file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


def test_what_was_said_before_the_client_hung_up_is_remembered(
    path: Path, open_memory: Open
) -> None:
    client_left = threading.Event()

    def act(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(f"data: {json.dumps(chunk('Half a'))}\n\n".encode())
        handler.wfile.flush()
        client_left.wait(timeout=30)
        over.wait(timeout=30)
        handler.close_connection = True

    with between(path, act) as (client, _):
        events = client.chat.completions.create(model="m", messages=[user("Hi")], stream=True)
        assert next(iter(events)).choices[0].delta.content == "Half a"
        events.close()
        client_left.set()
    assert held(open_memory) == [("user", "Hi"), ("assistant", "Half a")]


def test_a_stream_that_breaks_off_breaks_off_for_the_client_too(
    path: Path, open_memory: Open
) -> None:
    act = streams(chunk("Half a"), done=False, promised=100)
    with between(path, act) as (client, _), pytest.raises(openai.APIConnectionError):
        for _ in client.chat.completions.create(model="m", messages=[user("Hi")], stream=True):
            pass
    assert held(open_memory) == [("user", "Hi"), ("assistant", "Half a")]


@pytest.mark.parametrize("stream", [False, True])
def test_errors_of_the_model_server_pass_unchanged(path: Path, stream: bool) -> None:
    told = {"message": "Slow down!", "type": "tokens", "code": "rate_limit_exceeded"}
    act = error(429, told, retry_after="7", x_request_id="r1")
    with between(path, act) as (client, _), pytest.raises(openai.RateLimitError) as failure:
        client.chat.completions.create(model="m", messages=[user("Hi")], stream=stream)
    assert failure.value.response.json() == {"error": told}
    assert failure.value.response.headers["retry-after"] == "7"
    assert failure.value.response.headers["x-request-id"] == "r1"


HOSTILE_HEADERS = {
    "content-type": "text/html",
    "set_cookie": "session=theirs; Path=/",
    "content_security_policy": "script-src *",
    "clear_site_data": '"*"',
    "location": "https://evil.example/",
    "access_control_allow_origin": "*",
    "service_worker_allowed": "/",
    "x_treering_memories": "theirs",
    "link": "</x>; rel=preload",
}


def test_no_header_of_the_model_server_acts_on_the_origin_of_this_one(path: Path) -> None:
    page = b"<script>fetch('/v1/entries')</script>"

    def fails(status: int) -> Act:
        return lambda handler, _: send(handler, status, page, **HOSTILE_HEADERS, x_request_id="r1")

    cases = [*product(("models", "chat/completions"), (200, 302, 500), (False, True))]
    with between(path, *(fails(status) for _, status, _ in cases)) as (client, _):
        for route, status, stream in cases:
            sent = {"model": "m", "messages": [user("Hi")], "stream": stream}
            method, body_ = ("GET", None) if route == "models" else ("POST", sent)
            reply = httpx2.request(method, f"{client.base_url}{route}", json=body_)
            assert (reply.status_code, reply.content) == (status, page)
            assert reply.headers["content-type"] == "text/plain; charset=utf-8"
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert reply.headers["x-request-id"] == "r1"
            passed = {name.replace("-", "_") for name in reply.headers} & HOSTILE_HEADERS.keys()
            assert passed <= {"x_treering_memories"}  # its own
            assert reply.headers.get("x-treering-memories") in (None, "")


def test_a_model_server_that_is_not_there_is_told_as_openai_would(
    path: Path, open_memory: Open
) -> None:
    with between(path, hangs_up) as (client, _):
        with pytest.raises(openai.InternalServerError, match="does not answer") as failure:
            client.chat.completions.create(model="m", messages=[user("Hi")])
        assert failure.value.status_code == 502
    assert held(open_memory) == [("user", "Hi")]


def test_without_a_model_server_the_client_is_told_what_to_do(client: TestClient) -> None:
    answer = client.post("/v1/chat/completions", json={"messages": [user("Hi")]})
    assert answer.status_code == 501
    assert "--upstream" in answer.json()["error"]["message"]
    assert client.get("/v1/entries").json()["entries"] == []


def test_what_is_no_chat_request_is_for_the_model_server_to_refuse(path: Path) -> None:
    told = {"message": "messages is required", "type": "invalid_request_error"}
    with between(path, error(400, told)) as (client, model):
        answer = httpx2.post(f"{client.base_url}chat/completions", json={"model": "m"})
        assert answer.status_code == 400
        assert answer.json() == {"error": told}
        assert model.requests[0].body == {"model": "m"}


def test_no_name_of_a_model_leads_to_what_else_the_model_server_has(path: Path) -> None:
    with between(path, says("never")) as (client, model):
        for name in ("%2e%2e/files", "..%2ffiles", "m%2f..%2f..%2f..%2fadmin", "%2e", "m/%2e%2e"):
            answer = httpx2.get(f"{client.base_url}models/{name}")
            assert answer.status_code == 404
            assert answer.json()["error"]["message"].startswith("there is no ")
        assert model.requests == []


def test_the_name_of_a_model_arrives_as_it_was_sent(path: Path) -> None:
    acts = [body(b"{}")] * 2
    with between(path, *acts) as (client, model):
        for name in ("a%3Fb%23c%2561", "%00%E2%82%AC"):
            assert httpx2.get(f"{client.base_url}models/{name}").status_code == 200
        assert [one.path for one in model.requests] == [
            "/v1/models/a%3Fb%23c%2561",
            "/v1/models/%00%E2%82%AC",
        ]


def test_credentials_in_the_model_server_s_address_are_shown_to_nobody(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve(upstream="http://operator:s3cret@127.0.0.1:9/v1")
    answer = client.get("/v1/models")
    assert answer.status_code == 502
    assert "the model server http://127.0.0.1:9/v1" in answer.json()["error"]["message"]
    assert "s3cret" not in answer.text + caplog.text


def test_each_key_has_its_own_memories(path: Path, make_key: MakeKey, open_memory: Open) -> None:
    ann, bob = make_key("ann"), make_key("bob")
    acts = (says("Noted."), says("I do not know."), says("Miu."))
    with between(path, *acts) as (client, model):
        as_ann, as_bob = client.with_options(api_key=ann), client.with_options(api_key=bob)
        as_ann.chat.completions.create(model="m", messages=[user("My cat is called Miu.")])
        as_bob.chat.completions.create(model="m", messages=[user("What is my cat called?")])
        as_ann.chat.completions.create(model="m", messages=[user("What is my cat called?")])
        with pytest.raises(openai.AuthenticationError):
            client.chat.completions.create(model="m", messages=[user("Hi")])
        with pytest.raises(openai.PermissionDeniedError):
            as_bob.chat.completions.create(
                model="m", messages=[user("Hi")], extra_headers={"x-treering-space": "ann"}
            )
    assert "Miu" not in last_content(model, 1)
    assert "Miu" in last_content(model, 2)
    assert ann not in json.dumps([one.headers for one in model.requests])


def test_a_model_that_cannot_embed_delays_memories_not_the_answer(
    path: Path, open_memory: Open
) -> None:
    with between(path, says("Hello."), embedder=HashingEmbedder(tamper=down)) as (client, _):
        answer = client.chat.completions.create(model="m", messages=[user("Hi")])
        assert answer.choices[0].message.content == "Hello."
    assert held(open_memory) == [("user", "Hi"), ("assistant", "Hello.")]


def test_one_history_sent_by_many_at_once_is_remembered_once(path: Path, open_memory: Open) -> None:
    history = [user("My cat is called Miu."), assistant("Hello, Miu."), user("Where is she?")]
    with (
        between(path, *[says("Upstairs.")] * 8, recall_budget=0) as (client, _),
        ThreadPoolExecutor(8) as threads,
    ):
        replies = threads.map(
            lambda _: client.chat.completions.create(model="m", messages=history), range(8)
        )
        assert {one.choices[0].message.content for one in replies} == {"Upstairs."}
    said = [*((one["role"], one["content"]) for one in history), ("assistant", "Upstairs.")]
    assert held(open_memory) == said


def test_what_chats_cost_is_in_the_ledger(path: Path, open_memory: Open) -> None:
    acts = (says("one"), streams(chunk("two"), USAGE_CHUNK), streams(chunk("three")))
    with between(path, *acts) as (client, _):
        client.chat.completions.create(model="m", messages=[user("a")])
        for said in ("b", "c"):
            list(client.chat.completions.create(model="m", messages=[user(said)], stream=True))
    assert open_memory().stats().spent == (Spent("proxy", "served-model", 2, 22, 5),)


def test_a_message_longer_than_an_entry_is_remembered_once(path: Path, open_memory: Open) -> None:
    long = "the tide turns. " * 4000
    with between(path, says("I see."), says("Yes."), recall_budget=0) as (client, _):
        client.chat.completions.create(model="m", messages=[user(long)])
        client.chat.completions.create(
            model="m", messages=[user(long), assistant("I see."), user("Really?")]
        )
    texts = [one.text for one in entries(open_memory)]
    assert "".join(texts) == f"{long}I see.Really?Yes."


def test_a_reply_through_the_proxy_that_repeats_what_is_forgotten_is_named(
    open_memory: Open, path: Path
) -> None:
    memory: Memory = open_memory()
    [secret] = memory.add("The spare key lies under the third flowerpot.").ids
    with between(path, says("Under the flowerpots."), says("Hello!")) as (client, _):
        for question in ("Where is the spare key?", "Hello?"):
            client.chat.completions.create(model="m", messages=[user(question)])
    receipt = memory.forget(secret)
    assert [memory.get(reply).text for reply in receipt.replies] == ["Under the flowerpots."]


def test_a_reply_that_is_too_long_is_refused_or_passed_on_but_not_kept(
    open_memory: Open, path: Path
) -> None:
    long = "word " * 5_000
    with between(path, says(long), streams(chunk(long), chunk(long, "stop")), max_bytes=10_000) as (
        client,
        _,
    ):
        with pytest.raises(openai.InternalServerError, match="--max-bytes"):
            client.chat.completions.create(model="m", messages=[user("First?")])
        pieces = client.chat.completions.create(model="m", messages=[user("Second?")], stream=True)
        text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert text == 2 * long
    assert held(open_memory) == [("user", "First?"), ("user", "Second?")]


def reply_in(path: str, text: str) -> bytes:
    """A whole reply in the protocol of a path."""
    part = {"type": "output_text" if path == "responses" else "text", "text": text}
    output = {"output": [{"type": "message", "role": "assistant", "content": [part]}]}
    usage = {"input_tokens": 7, "output_tokens": 2}
    rest = output if path == "responses" else {"content": [part]}
    return json.dumps({"model": "m", "usage": usage, **rest}).encode()


@pytest.mark.parametrize(("path_", "key"), [("responses", "input"), ("messages", "messages")])
def test_other_protocols_of_chats_are_enriched_and_remembered(
    path: Path, open_memory: Open, path_: str, key: str
) -> None:
    open_memory().add("My cat is called Miu.", source="diary")
    with between(path, body(reply_in(path_, "Miu."))) as (client, model):
        answer = httpx2.post(
            f"{client.base_url}{path_}",
            json={key: [user("What is my cat called?")], "max_tokens": 9},
            headers={"anthropic-version": "2023-06-01", "x-api-key": "sk-client"},
        )
    assert answer.content == reply_in(path_, "Miu.")
    [seen] = model.requests
    assert seen.path == f"/v1/{path_}"
    assert "My cat is called Miu." in seen.body[key][-1]["content"]
    header = "x-api-key" if path_ == "messages" else "authorization"
    assert seen.headers[header].removeprefix("Bearer ") == "sk-upstream"
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert "sk-client" not in json.dumps(seen.headers)
    assert held(open_memory)[1:] == [("user", "What is my cat called?"), ("assistant", "Miu.")]
    assert open_memory().stats().spent == (Spent("proxy", "m", 1, 7, 2),)


def test_requests_that_are_no_chats_pass_as_they_are(path: Path, open_memory: Open) -> None:
    found = json.dumps({"object": "list", "data": [], "model": "m", "usage": {}}).encode()
    with between(path, body(found), body(found), upstream_key=None) as (client, model):
        client.embeddings.create(model="m", input="Hello", encoding_format="float")
        client.completions.create(model="m", prompt="Hello")
    assert [one.path for one in model.requests] == ["/v1/embeddings", "/v1/completions"]
    assert model.requests[0].body["input"] == "Hello"
    assert "sk-client" not in str([one.headers for one in model.requests])
    assert held(open_memory) == []


def test_a_key_of_anthropic_s_clients_opens_its_space(serve: Serve, make_key: MakeKey) -> None:
    key = make_key("ana")
    assert serve().get("/v1/stats", headers={"x-api-key": key}).status_code == 200
    assert serve().get("/v1/stats", headers={"x-api-key": "tr_no"}).status_code == 401


@pytest.mark.parametrize("keyed", [False, True])
def test_nothing_stored_at_the_model_server_is_reached(
    path: Path, make_key: MakeKey, keyed: bool
) -> None:
    stored = [
        ("GET", "responses/resp_1"),
        ("GET", "responses/resp_1/input_items"),
        ("POST", "responses/resp_1/cancel"),
        ("DELETE", "responses/resp_1"),
        ("GET", "messages/batches"),
        ("POST", "messages/batches"),
        ("GET", "messages/batches/b1/results"),
        ("GET", "chat/completions"),
        ("GET", "chat/completions/c1/messages"),
        ("GET", "audio/voice_consents"),
        ("POST", "audio/voices"),
        ("GET", "embeddings"),
        ("POST", "models/m"),
        ("DELETE", "models/m"),
    ]
    headers = bearer(make_key("ann")) if keyed else {}
    with between(path, *[body(b"{}")] * 2) as (client, model):
        for method, path_ in stored:
            address = f"{client.base_url}{path_}"
            answer = httpx2.request(method, address, headers=headers, content=b"{}")
            assert answer.status_code == 404
            assert answer.json()["error"]["type"] == "treering"
        counted = httpx2.post(f"{client.base_url}messages/count_tokens", headers=headers, json={})
        shown = httpx2.get(f"{client.base_url}models/org/m", headers=headers)
        assert counted.is_success
        assert shown.is_success
    assert [one.path for one in model.requests] == ["/v1/messages/count_tokens", "/v1/models/org/m"]


STORED_PARTS: list[tuple[str, dict[str, Any]]] = [
    ("responses", {"previous_response_id": "resp_1"}),
    ("responses", {"Previous_Response_ID": "resp_1"}),
    ("responses", {"conversation": {"id": "conv_1"}}),
    ("responses", {"input": [{"type": "item_reference", "id": "msg_1"}, user("Hi")]}),
    ("responses", {"input": [{"id": "msg_1"}, user("Hi")]}),
    ("responses", {"tools": [{"type": "code_interpreter", "container": "cntr_1"}]}),
    ("messages", {"container": "container_1"}),
    ("messages", {"container": {"id": "container_1", "skills": []}}),
]


def test_a_key_reaches_nothing_that_another_has_stored_at_the_model_server(
    path: Path, make_key: MakeKey
) -> None:
    greeting: dict[str, Any] = {"input": "Hi", "messages": [user("Hi")]}
    harmless: dict[str, Any] = {"previous_response_id": None, "container": {"skills": []}}
    replies = [reply_in(path_, "Hello.") for path_, _ in STORED_PARTS]
    cases = [*zip(STORED_PARTS, replies, strict=True)]
    with between(path, *map(body, replies)) as (client, _):
        for (path_, part), reply in cases:
            sent = greeting | {"max_tokens": 9} | part
            assert httpx2.post(f"{client.base_url}{path_}", json=sent).content == reply
    headers = bearer(make_key("ann"))
    with between(path, *map(body, replies)) as (client, model):
        for (path_, part), reply in cases:
            sent = greeting | {"max_tokens": 9} | part
            refused = httpx2.post(f"{client.base_url}{path_}", json=sent, headers=headers)
            assert refused.status_code == 400
            assert refused.json()["error"]["type"] == "treering"
            sent = greeting | harmless
            passed = httpx2.post(f"{client.base_url}{path_}", json=sent, headers=headers)
            assert passed.content == reply
    assert len(model.requests) == len(STORED_PARTS)


def test_calls_of_tools_are_no_references_to_what_is_stored(path: Path, make_key: MakeKey) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    sent = [user("Hi"), {"role": "assistant", "id": "m1", "tool_calls": [call]}, user("Well?")]
    with between(path, says("ok")) as (client, model):
        keyed = client.with_options(api_key=make_key("ann"))
        keyed.chat.completions.create(model="m", messages=sent)
    assert model.requests[0].body["messages"] == sent


def test_with_keys_only_what_was_checked_is_passed_on(path: Path, make_key: MakeKey) -> None:
    twice = b'{"input": "Hi", "previous_response_id": "resp_1", "previous_response_id": null}'
    headers = bearer(make_key("ann")) | {"content-type": "application/json"}
    with between(path, body(reply_in("responses", "Hello.")), recall_budget=0) as (client, model):
        address = f"{client.base_url}responses"
        for unknown in (b"", b"[]", b'{"previous_response_id": "resp_1"}', b"[" * 100_000):
            answer = httpx2.post(address, content=unknown, headers=headers)
            assert answer.status_code == 400
            assert answer.json()["error"]["type"] == "treering"
        assert httpx2.post(address, content=twice, headers=headers).is_success
    [seen] = model.requests
    assert int(seen.headers["content-length"]) < len(twice) - len('"resp_1"')
