"""Embeddings from an OpenAI-compatible endpoint, played by a real HTTP server."""

from __future__ import annotations

import json

import pytest

from tests.llm import chat_server as server
from treering.embed.openai_compatible import OpenAIEmbedder
from treering.errors import EmbeddingError


def test_a_redirect_is_not_followed_and_the_texts_go_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TREERING_EMBEDDER_API_KEY", raising=False)
    with server.playing(server.says("Sent on.")) as elsewhere:
        sends_on = server.fails(307, location=f"{elsewhere.url}/embeddings")
        with server.playing(sends_on) as played, pytest.raises(EmbeddingError):
            OpenAIEmbedder(f"model@{played.url}").embed(["a secret"])
        assert elsewhere.requests == []


def test_openai_settings_of_the_environment_do_not_reach_another_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "not-for-you")
    with server.playing(server.fails(400)) as played, pytest.raises(EmbeddingError):
        OpenAIEmbedder(f"model@{played.url}").embed(["a text"])
    assert "not-for-you" not in json.dumps(played.requests[0].headers)
