"""Over REST nobody chooses which address or download a server asks for a reranker."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient


@pytest.mark.parametrize("name", ["http://127.0.0.1:9/rerank", "fastembed:a/model", ""])
def test_a_reranker_is_a_name(client: TestClient, name: str) -> None:
    client.post("/v1/entries", json={"text": "Ana lives in Porto."})
    reply = client.post("/v1/search", json={"query": "Porto", "rerank": name})
    assert reply.status_code == 422
