"""Quotas of spaces and the log of requests, over HTTP."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.llm.chat_server import playing, says
from tests.serve.conftest import MakeKey, Serve, bearer
from treering.journal.ledger import Quota
from treering.llm.scripted import FakeLLM
from treering.serve.metrics import log


def refusal(client: TestClient, method: str, path: str, **given: Any) -> tuple[int, str]:
    answer = client.request(method, path, **given)
    return answer.status_code, answer.json().get("code", "")


REFUSED = (403, "quota_exceeded")


def test_a_full_space_takes_nothing_by_any_way_and_the_others_go_on(
    serve: Serve, make_key: MakeKey
) -> None:
    ana, bob = bearer(make_key("ana")), bearer(make_key("bob"))
    client = serve(quota=Quota(entries=2), llm=FakeLLM(["Hello."] * 3))
    for text in ("One.", "Two."):
        assert client.post("/v1/entries", json={"text": text}, headers=ana).status_code == 201
    export = client.get("/v1/export", headers=ana).text
    assert refusal(client, "POST", "/v1/entries", json={"text": "3"}, headers=ana) == REFUSED
    assert refusal(client, "POST", "/v1/chat", json={"message": "Hi."}, headers=ana) == REFUSED
    assert client.post("/v1/import", content=export, headers=ana).json()["unchanged"] == 2
    one, two, *_ = client.get("/v1/entries", headers=ana).json()["entries"]
    assert (one["text"], two["text"]) == ("One.", "Two.")

    assert client.post("/v1/entries", json={"text": "B."}, headers=bob).status_code == 201
    # An import is refused as a whole.
    assert refusal(client, "POST", "/v1/import", content=export, headers=bob) == REFUSED
    stats = client.get("/v1/stats", headers=bob).json()
    assert (stats["entries"], stats["text_bytes"], stats["quota"]) == (1, 4, {"entries": 2})


def test_an_import_beyond_the_quota_leaves_no_trace(serve: Serve, tmp_path: Path) -> None:
    client = serve(quota=Quota(entries=9))
    header = client.get("/v1/export").text
    line = '{"id": "%s", "text": "Number %d.", "source": "n", "position": %d, "kind": "text"}\n'
    lines = header + "".join(line % (f"id{n}", n, n) for n in range(10))
    assert refusal(client, "POST", "/v1/import", content=lines) == REFUSED
    assert client.get("/v1/stats").json()["entries"] == 0
    fits = "".join(lines.splitlines(keepends=True)[:-1])
    assert len(client.post("/v1/import", content=fits).json()["ids"]) == 9
    assert client.post("/v1/import", content=fits).json()["unchanged"] == 9
    metrics = client.get("/metrics").text
    assert "treering_quota_entries 9.0" in metrics
    assert "treering_largest_space_entries 9.0" in metrics


def test_a_reply_that_does_not_fit_still_reaches_the_client(serve: Serve) -> None:
    with playing(says("Hello, Ana.")) as model:
        client = serve(quota=Quota(entries=1), upstream=model.url)
        asked = {"model": "m", "messages": [{"role": "user", "content": "I am Ana."}]}
        assert "Hello, Ana." in client.post("/v1/chat/completions", json=asked).text
        assert [entry["text"] for entry in client.get("/v1/entries").json()["entries"]] == [
            "I am Ana."
        ]
        answer = client.post(
            "/v1/chat/completions",
            json={**asked, "messages": [{"role": "user", "content": "I am Bob."}]},
        )
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "quota_exceeded"


def test_requests_have_ids_and_lines_on_demand_without_texts(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, log.name)
    assert "x-request-id" not in serve().get("/v1/stats").headers
    assert not caplog.messages
    client = serve(log_requests=True)
    named = client.post("/v1/search", json={"query": "my secret"}, headers={"X-Request-ID": "a-1"})
    assert named.headers["x-request-id"] == "a-1"
    forged = client.get("/v1/entries/abc?source=x", headers={"X-Request-ID": "a\tb c"})
    made = forged.headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{16}", made)
    first, second = caplog.messages
    assert re.fullmatch(r"POST /v1/search space='default' 200 \d+ ms id=a-1", first)
    assert re.fullmatch(
        rf"GET /v1/entries/{{entry_id}} space='default' 404 \d+ ms id={made}", second
    )
