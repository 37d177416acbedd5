from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.serve.conftest import MakeKey, Serve, bearer
from treering.llm.scripted import FakeLLM, Request
from treering.serve.limits import Bucket

JSON = {"content-type": "application/json"}


def test_a_body_that_is_too_long_is_refused_before_it_is_read(serve: Serve) -> None:
    client = serve(max_bytes=1_000)
    assert client.post("/v1/entries", json={"text": "x" * 900}).status_code == 201
    found = client.post("/v1/entries", json={"text": "x" * 1_000})
    assert found.status_code == 413
    assert "more than 1000 bytes" in found.json()["detail"]


def pieces() -> Iterator[bytes]:
    yield from (b'{"text": "', *[b"x" * 100] * 20, b'"}')


@pytest.mark.parametrize(
    ("content", "headers"),
    [(pieces(), JSON), (b"x" * 1_001, JSON | {"content-length": "many"})],
)
def test_so_is_one_that_does_not_say_how_long_it_is(
    serve: Serve, content: Any, headers: dict[str, str]
) -> None:
    client = serve(max_bytes=1_000)
    found = client.post("/v1/entries", content=content, headers=headers)
    assert (found.status_code, found.headers["content-type"]) == (413, "application/problem+json")
    assert client.get("/v1/entries").json()["entries"] == []


def test_an_import_may_be_longer_than_other_bodies(serve: Serve) -> None:
    client = serve(max_bytes=400, max_import_bytes=10_000)
    for number in range(20):
        client.post("/v1/entries", json={"text": f"Number {number}."})
    lines = client.get("/v1/export").text
    assert len(lines) > 400
    assert client.post("/v1/import", content=lines).json()["unchanged"] == 20
    assert client.post("/v1/import", content=lines * 10).status_code == 413


@pytest.mark.parametrize("has_keys", [False, True])
def test_a_crowd_is_told_to_come_back_and_leaves_half_of_the_places_to_other_keys(
    serve: Serve, make_key: MakeKey, has_keys: bool
) -> None:
    inside, leave = threading.Event(), threading.Event()

    def wait(_: Request) -> None:
        inside.set()
        assert leave.wait(10)

    ana, ben = (bearer(make_key(name)) if has_keys else {} for name in ("ana", "ben"))
    most = 2 if has_keys else 1
    client = serve(max_requests=most, llm=FakeLLM(["Hello."], before_reply=wait))
    with ThreadPoolExecutor(1) as threads:
        chat = threads.submit(client.post, "/v1/chat", json={"message": "I am Ana."}, headers=ana)
        assert inside.wait(10)
        refused = client.get("/v1/stats", headers=ana)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["type"] == "urn:treering:error:server_unavailable"
        for path in ("/healthz", "/readyz", "/metrics"):
            assert client.get(path, headers=ben).status_code == 200
        assert client.get("/v1/stats", headers=ben).status_code == (200 if has_keys else 503)
        leave.set()
        assert chat.result(timeout=10).status_code == 200
    assert client.get("/v1/stats", headers=ana).status_code == 200


def test_a_key_that_asks_too_often_is_told_when_to_ask_again(
    serve: Serve, make_key: MakeKey
) -> None:
    ana, ben = bearer(make_key("ana")), bearer(make_key("ben"))
    client = serve(requests_per_s=0.01, burst=3)
    statuses = [client.get("/v1/stats", headers=ana).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    refused = client.get("/v1/stats", headers=ana)
    assert int(refused.headers["retry-after"]) > 1
    assert refused.json()["code"] == "server_unavailable"
    assert client.get("/v1/stats", headers=ben).status_code == 200


def test_a_bucket_fills_up_with_time_and_not_beyond_its_size() -> None:
    bucket = Bucket(rate=2.0, burst=2, since=0.0)
    assert [bucket.take(0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert bucket.take(0.5) == 0.0
    assert bucket.take(0.75) == pytest.approx(0.25)
    assert [bucket.take(100.0) for _ in range(3)] == [0.0, 0.0, 0.5]
