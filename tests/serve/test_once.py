from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starlette.testclient import TestClient

from tests.serve.conftest import MakeKey, Serve, bearer, serving
from treering.errors import LLMUnavailable
from treering.llm.scripted import Request, ScriptedLLM

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


def test_so_it_does_after_a_restart(path: Path) -> None:
    with serving(path) as client:
        first = client.post("/v1/entries", json=TEXT, headers=KEY).json()
    with serving(path) as client:
        assert client.post("/v1/entries", json=TEXT, headers=KEY).json() == first


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


def test_of_requests_at_the_same_time_one_is_done(serve: Serve) -> None:
    asked = threading.Barrier(2, timeout=10)

    def wait(_: Request) -> None:
        asked.wait()

    llm = ScriptedLLM(["Hello.", "A second reply."], before_reply=wait)
    client = serve(llm=llm)

    def chat(_: int) -> str:
        return client.post("/v1/chat", json={"message": "I am Ana."}, headers=KEY).text

    with ThreadPoolExecutor(3) as threads:
        replies = threads.map(chat, range(3))
        asked.wait()
        assert len(set(replies)) == 1
    assert len(llm.requests) == 1
    assert entries(client) == ["I am Ana.", "Hello."]


def test_a_failure_is_not_kept(serve: Serve) -> None:
    client = serve(llm=ScriptedLLM([LLMUnavailable("down"), "Hello."]))
    said = {"message": "I am Ana."}
    assert client.post("/v1/chat", json=said, headers=KEY).status_code == 503
    assert client.post("/v1/chat", json=said, headers=KEY).json()["text"] == "Hello."


def test_a_stream_takes_no_key(serve: Serve) -> None:
    client = serve(llm=ScriptedLLM(["Hello."]))
    said = {"message": "I am Ana.", "stream": True}
    assert client.post("/v1/chat", json=said, headers=KEY).status_code == 422
    assert entries(client) == []


def test_what_a_kept_reply_quotes_is_forgotten_with_it(serve: Serve, path: Path) -> None:
    client = serve(llm=ScriptedLLM(["Your cat is called Mephistopheles."]))
    said = {"message": "What is my cat called?"}
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
