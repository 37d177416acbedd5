from __future__ import annotations

import time

from starlette.testclient import TestClient

from tests.embedders import HashingEmbedder, down
from tests.serve.conftest import Serve


def samples(client: TestClient) -> dict[str, float]:
    lines = client.get("/metrics").text.splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def test_requests_are_counted_by_route_and_status(client: TestClient) -> None:
    client.post("/v1/entries", json={"messages": [{"content": "one"}, {"content": "two"}]})
    client.get("/v1/entries/nothing")
    client.get("/v1/entries/nobody")
    client.get("/no/such/page")
    client.request("BREW", "/v1/entries")
    found = samples(client)
    requests = "treering_http_requests_total"
    for labels, count in {
        'method="POST",route="/v1/entries",status="201"': 1,
        'method="GET",route="/v1/entries/{entry_id}",status="404"': 2,
        'method="GET",route="other",status="404"': 1,
        'method="other",route="/v1/entries",status="405"': 1,
    }.items():
        assert found[f"{requests}{{{labels}}}"] == count, labels
    assert found["treering_entries_added_total"] == 2
    assert found["treering_http_requests_under_way"] == 1
    assert found["process_resident_memory_bytes"] > 0


def test_metrics_have_the_figures_of_the_memory(serve: Serve) -> None:
    embedder = HashingEmbedder()
    client = serve(embedder=embedder)
    client.post("/v1/entries", json={"text": "Ana keeps bees."})
    embedder.tamper = down
    client.post("/v1/entries", json={"text": "Ben moved to Porto."})
    found = samples(client)
    assert (found["treering_entries"], found["treering_spaces"]) == (2, 1)
    assert found["treering_bytes"] > 10_000
    assert found["treering_pending"] == 1
    assert abs(found["treering_last_added_seconds"] - time.time()) < 3_600


def test_metrics_name_no_space_and_quote_nothing(client: TestClient) -> None:
    headers = {"X-Treering-Space": "ana"}
    client.post("/v1/entries", json={"text": "A secret."}, headers=headers)
    client.post("/v1/search", json={"query": "secret"}, headers=headers)
    text = client.get("/metrics").text
    assert "ana" not in text
    assert "secret" not in text
