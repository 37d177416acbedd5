"""The example of a web application: one space for each user, streams, errors as statuses."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from examples.web_app import create_app
from tests.embedders import HashingEmbedder
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
        assert client.get("/notes", params={"query": " "}, headers=ANA).status_code == 422


def test_a_missing_model_is_a_status(tmp_path: Path) -> None:
    with TestClient(create_app(tmp_path / "web.db", HashingEmbedder(), "none")) as client:
        assert client.post("/chat", params={"message": "Hello?"}, headers=ANA).status_code == 501
