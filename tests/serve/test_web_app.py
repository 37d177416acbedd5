"""The example of a web application: one space for each user, streams, errors as statuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.requests import ClientDisconnect
from starlette.testclient import TestClient

from examples.web_app import create_app
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.errors import LLMUnavailable
from treering.testing import FakeLLM, Request

ANA, BEN = {"X-User": "ana"}, {"X-User": "ben"}


def test_users_share_an_application_and_no_memory(tmp_path: Path) -> None:
    llm = FakeLLM(["You keep bees."])
    with TestClient(create_app(tmp_path / "web.db", HashingEmbedder(), llm)) as client:
        [entry] = client.post("/notes", json={"note": "I keep bees."}, headers=ANA).json()
        assert client.post("/notes/search", json={"query": "bees"}, headers=ANA).json() == [
            {"id": entry, "text": "I keep bees."}
        ]
        assert client.post("/notes/search", json={"query": "bees"}, headers=BEN).json() == []
        reply = client.post("/chat", json={"message": "What do I keep?"}, headers=ANA)
        assert reply.text == "You keep bees."
        assert "I keep bees." in llm.requests[0].text
        assert client.delete(f"/notes/{entry}", headers=BEN).status_code == 404
        assert client.delete(f"/notes/{entry}", headers=ANA).json() is True
        refused = client.post("/notes/search", json={"query": " "}, headers=ANA)
        assert (refused.status_code, refused.json()["code"]) == (422, "empty_text")
        client.post("/notes", json={"note": "I keep goats."}, headers=ANA)
        client.post("/notes", json={"note": "I keep hens."}, headers=BEN)
        for _ in range(2):  # a user who has not written, too
            assert client.delete("/me", headers=ANA).status_code == 204
        assert client.post("/notes/search", json={"query": "goats"}, headers=ANA).json() == []
        assert len(client.post("/notes/search", json={"query": "hens"}, headers=BEN).json()) == 1


def refuse(_: Request) -> str:
    raise LLMUnavailable("http://10.0.0.7/v1 cannot be reached")


@pytest.mark.parametrize(
    ("llm", "status", "secret"),
    [("none", 501, "TREERING"), (FakeLLM(refuse), 503, "10.0.0.7")],
    ids=["none", "unavailable"],
)
def test_an_error_of_the_model_is_a_status_without_its_message(
    tmp_path: Path, llm: str | FakeLLM, status: int, secret: str
) -> None:
    with TestClient(create_app(tmp_path / "web.db", HashingEmbedder(), llm)) as client:
        failed = client.post("/chat", json={"message": "Hello?"}, headers=ANA)
    assert failed.status_code == status
    assert secret not in failed.text


@pytest.mark.parametrize("version", ["2.3", "2.4"])
def test_a_client_that_leaves_a_reply_may_say_its_message_again(
    tmp_path: Path, version: str
) -> None:
    app = create_app(tmp_path / "web.db", HashingEmbedder(), FakeLLM(["Too late for you.", "Hi."]))
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": "/chat",
        "root_path": "",
        "state": {},
        "query_string": b"",
        "headers": [(b"x-user", b"ana"), (b"content-type", b"application/json")],
        "asgi": {"spec_version": version},
    }

    said: list[bytes] = []

    async def leave() -> None:
        left = anyio.Event()
        bodies = [b'{"message": "Hello?"}'] * 2

        async def receive() -> dict[str, Any]:
            if len(bodies) == 2:
                return {"type": "http.request", "body": bodies.pop()}
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message.get("body"):
                left.set()
                if version == "2.4":
                    raise OSError("the client has left")
                await anyio.sleep(60)

        async def stay() -> dict[str, Any]:
            return {"type": "http.request", "body": bodies.pop()}

        async def read(message: Any) -> None:
            said.append(message.get("body", b""))

        async with app.router.lifespan_context(app):
            with anyio.fail_after(30):
                try:
                    await app(scope, receive, send)
                except ClientDisconnect:
                    assert version == "2.4"
                scope["asgi"] = {"spec_version": "2.4"}  # no listening beside the reply
                await app(scope, stay, read)

    anyio.run(leave)
    assert b"".join(said) == b"Hi."
    with Memory.open(tmp_path / "web.db", space="ana", embedder=HashingEmbedder()) as memory:
        assert [entry.text for entry in memory.entries()] == ["Hello?", "Hi."]
