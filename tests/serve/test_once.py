from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.serve.conftest import MakeKey, Serve, bearer
from treering.errors import LLMUnavailable
from treering.llm.scripted import FakeLLM, Request

KEY = {"Idempotency-Key": "b7d1-0001"}
TEXT = {"text": "Ana moved to Porto."}


def entries(client: TestClient) -> list[str]:
    return [one["text"] for one in client.get("/v1/entries").json()["entries"]]


def test_a_request_that_is_sent_again_gets_the_same_reply(client: TestClient) -> None:
    first = client.post("/v1/entries", json=TEXT, headers=KEY)
    again = client.post("/v1/entries", json=TEXT, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert first.json()["ids"]
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"


def test_a_key_that_comes_with_another_request_is_refused(client: TestClient) -> None:
    client.post("/v1/entries", json=TEXT, headers=KEY)
    found = client.post("/v1/entries", json={"text": "Ben keeps bees."}, headers=KEY)
    assert found.status_code == 422
    assert "use a new key" in found.json()["detail"]
    assert entries(client) == ["Ana moved to Porto."]


def test_spaces_do_not_share_keys(serve: Serve, make_key: MakeKey) -> None:
    ana, ben = bearer(make_key("ana")), bearer(make_key("ben"))
    client = serve()
    client.post("/v1/entries", json=TEXT, headers=ana | KEY)
    found = client.post("/v1/entries", json={"text": "Other."}, headers=ben | KEY)
    assert found.status_code == 201


def test_a_stream_that_is_sent_again_gets_the_same_answer(serve: Serve) -> None:
    llm = FakeLLM(["Hello, dear Ana."])
    client = serve(llm=llm)
    said = {"message": "I am Ana.", "stream": True}
    first = client.post("/v1/chat", json=said, headers=KEY)
    again = client.post("/v1/chat", json=said, headers=KEY)
    assert again.headers["content-type"] == first.headers["content-type"]
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    done = first.text.partition("event: done")[2]
    assert again.text == f'data: {{"text":"Hello, dear Ana."}}\n\nevent: done{done}'
    assert len(llm.requests) == 1
    assert entries(client) == ["I am Ana.", "Hello, dear Ana."]


def test_a_request_that_is_still_being_done_is_waited_for_and_then_refused(serve: Serve) -> None:
    asked, go = threading.Event(), threading.Event()

    def wait(_: Request) -> None:
        asked.set()
        assert go.wait(10)

    client = serve(llm=FakeLLM(["Hello."], before_reply=wait), patience_s=0.05)
    said = {"message": "I am Ana."}
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(client.post, "/v1/chat", json=said, headers=KEY)
        assert asked.wait(10)
        for again in (said, said | {"stream": True}):
            refused = client.post("/v1/chat", json=again, headers=KEY)
            assert refused.status_code == (409 if again is said else 422)
        go.set()
        assert first.result().json()["text"] == "Hello."
    refused = client.post("/v1/chat", json=said, headers=KEY)
    assert refused.json()["text"] == "Hello."


def test_two_servers_of_one_file_do_a_request_once(serve: Serve, path: Path) -> None:
    asked = threading.Barrier(2, timeout=10)

    def wait(_: Request) -> None:
        asked.wait()

    llm = FakeLLM(["Hello.", "A second reply."], before_reply=wait)
    servers = [serve(llm=llm), serve(llm=llm)]
    for server in servers:  # a route's first request changes warning filters, which threads share
        assert server.post("/v1/chat", json={}).status_code == 422

    def chat(number: int) -> str:
        said = {"message": "I am Ana."}
        return servers[number % 2].post("/v1/chat", json=said, headers=KEY).text

    with ThreadPoolExecutor(8) as threads:
        replies = threads.map(chat, range(8))
        asked.wait()
        assert len(set(replies)) == 1
    assert len(llm.requests) == 1
    assert entries(servers[0]) == ["I am Ana.", "Hello."]


def test_a_message_without_a_reply_is_answered_after_others_have_spoken(serve: Serve) -> None:
    """With a key it is known which message is meant, also when it is not the last one."""
    llm = FakeLLM([LLMUnavailable("down"), "To Ben.", "To Ana."])
    client = serve(llm=llm)
    said = {"message": "I am Ana."}
    assert client.post("/v1/chat", json=said, headers=KEY).status_code == 503
    client.post("/v1/chat", json={"message": "I am Ben."})
    assert client.post("/v1/chat", json=said, headers=KEY).json()["text"] == "To Ana."
    assert entries(client) == ["I am Ana.", "I am Ben.", "To Ben.", "To Ana."]


def test_a_message_that_failed_and_was_forgotten_is_said_anew(serve: Serve) -> None:
    client = serve(llm=FakeLLM([LLMUnavailable("down"), "Hello."]))
    said = {"message": "I am Ana."}
    assert client.post("/v1/chat", json=said, headers=KEY).status_code == 503
    client.post("/v1/forget", json={"source": "chat"})
    assert client.post("/v1/chat", json=said, headers=KEY).json()["text"] == "Hello."
    assert entries(client) == ["I am Ana.", "Hello."]


def test_said_again_with_another_key_a_message_is_that_requests(serve: Serve) -> None:
    client = serve(llm=FakeLLM([LLMUnavailable("down"), "First.", "Second."]))
    said, other = {"message": "I am Ana."}, {"Idempotency-Key": "b7d1-0002"}
    assert client.post("/v1/chat", json=said, headers=KEY).status_code == 503
    assert client.post("/v1/chat", json=said, headers=other).json()["text"] == "First."
    assert client.post("/v1/chat", json=said, headers=KEY).json()["text"] == "Second."
    assert entries(client) == ["I am Ana.", "First.", "I am Ana.", "Second."]


@pytest.mark.parametrize("stream", [False, True])
def test_what_a_kept_reply_quotes_is_forgotten_with_it(
    serve: Serve, path: Path, stream: bool
) -> None:
    client = serve(llm=FakeLLM(["Your cat is called Mephistopheles."]))
    said = {"message": "What is my cat called?", "stream": stream}
    client.post("/v1/chat", json=said, headers=KEY)
    assert client.post("/v1/forget", json={"source": "chat"}).json()["scrubbed"]
    assert b"Mephistopheles" not in path.read_bytes()
    again = client.post("/v1/chat", json=said, headers=KEY)
    assert again.status_code == 410
    assert entries(client) == []


def test_neither_the_key_nor_the_request_is_in_the_file(client: TestClient, path: Path) -> None:
    client.post("/v1/entries", json=TEXT, headers=KEY)
    client.post("/v1/forget", json={"source": "notes"})
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"b7d1-0001" not in stored
    assert b"Ana moved to Porto." not in stored
