"""Embeddings from an OpenAI-compatible endpoint, played by a real HTTP server."""

from __future__ import annotations

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
        with server.playing(sends_on) as played, pytest.raises(EmbeddingError, match="gave no"):
            OpenAIEmbedder(f"model@{played.url}").embed(["a secret"])
        assert elsewhere.requests == []
