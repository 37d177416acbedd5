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
from treering.testing import FakeLLM

ANA, BEN = {"X-User": "ana"}, {"X-User": "ben"}


def test_users_share_an_application_and_no_memory(tmp_path: Path) -> None:
    llm = FakeLLM(["You keep bees."])
    with TestClient(create_app(tmp_path / "web.db", HashingEmbedder(), llm)) as client:
        [entry] = client.post("/notes", params={"note": "I keep bees."}, headers=ANA).json()
        assert client.get("/notes", params={"query": "bees"}, headers=ANA).json() == [
            "I keep bees."
        ]
        assert client.get("/notes", params={"query": "bees"}, headers=BEN).json() == []
        reply = client.post("/chat", params={"message": "What do I keep?"}, headers=ANA)
        assert reply.text == "You keep bees."
        assert "I keep bees." in llm.requests[0].text
        assert client.delete(f"/notes/{entry}", headers=BEN).status_code == 404
        assert client.delete(f"/notes/{entry}", headers=ANA).json() is True
        refused = client.get("/notes", params={"query": " "}, headers=ANA)
        assert (refused.status_code, refused.json()["code"]) == (422, "empty_text")
        client.post("/notes", params={"note": "I keep goats."}, headers=ANA)
        client.post("/notes", params={"note": "I keep hens."}, headers=BEN)
        assert client.delete("/me", headers=ANA).json() is True
        assert client.get("/notes", params={"query": "goats"}, headers=ANA).json() == []
        assert len(client.get("/notes", params={"query": "hens"}, headers=BEN).json()) == 1


def test_a_missing_model_is_a_status(tmp_path: Path) -> None:
    with TestClient(create_app(tmp_path / "web.db", HashingEmbedder(), "none")) as client:
        assert client.post("/chat", params={"message": "Hello?"}, headers=ANA).status_code == 501


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
        "query_string": b"message=Hello%3F",
        "headers": [(b"x-user", b"ana")],
        "asgi": {"spec_version": version},
    }

    said: list[bytes] = []

    async def leave() -> None:
        left = anyio.Event()

        async def receive() -> dict[str, Any]:
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message.get("body"):
                left.set()
                if version == "2.4":
                    raise OSError("the client has left")
                await anyio.sleep(60)

        async def stay() -> dict[str, Any]:
            return {"type": "http.request"}

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
