from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.code.working import repository
from tests.serve.conftest import MakeKey, Serve, bearer
from treering import errors
from treering.serve.problems import error_response

SAID = [
    {
        "role": "user",
        "name": "Ana",
        "content": "I relocated to Porto.",
        "at": "2026-03-01T10:00:00Z",
    },
    {"role": "user", "name": "Ben", "content": "I keep bees on the roof.", "mood": "proud"},
    {"role": "user", "name": "Ana", "content": "The river is loud at night."},
]


@pytest.fixture
def talk(client: TestClient) -> TestClient:
    """A client of a server that remembers a conversation."""
    added = client.post("/v1/entries", json={"messages": SAID, "source": "talk"})
    assert added.status_code == 201
    assert len(added.json()["ids"]) == len(SAID)
    return client


def ids(client: TestClient, **params: Any) -> list[str]:
    return [one["id"] for one in client.get("/v1/entries", params=params).json()["entries"]]


def detail(found: Any, status: int, kind: str) -> str:
    """The detail of a problem, which has this status and type."""
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    body = found.json()
    assert (body["status"], body["code"]) == (status, getattr(errors, kind).code)
    return str(body["detail"])


def test_a_proposal_is_accepted_and_retracted_over_http(client: TestClient) -> None:
    body = {"text": "I work in Braga.", "propose": "agent"}
    [entry_id] = client.post("/v1/entries", json=body).json()["ids"]
    assert ids(client) == []
    [waiting] = client.get("/v1/withheld").json()
    assert (waiting["entry"]["id"], waiting["correction"]["by"]) == (entry_id, "agent")
    assert client.post("/v1/restore", json={"entry_id": entry_id, "by": "ana"}).status_code == 200
    assert ids(client) == [entry_id]
    client.post("/v1/retract", json={"entry_id": entry_id, "reason": "wrong"})
    history = client.get(f"/v1/entries/{entry_id}/history").json()
    assert [one["what"] for one in history] == ["proposed", "accepted", "retracted"]
    detail(client.post("/v1/restore", json={"entry_id": "none"}), 404, "UnknownEntry")


def test_entries_come_in_pages_in_the_order_they_were_added(talk: TestClient) -> None:
    first = talk.get("/v1/entries", params={"limit": 2}).json()
    rest = talk.get("/v1/entries", params={"limit": 2, "cursor": first["next"]}).json()
    assert [one["text"] for one in first["entries"] + rest["entries"]] == [
        one["content"] for one in SAID
    ]
    assert rest["next"] is None
    assert first["entries"][1]["metadata"] == {"mood": "proud"}


def test_a_problem_names_the_field_with_the_bad_value(talk: TestClient) -> None:
    cases: list[tuple[str, str, Any, str]] = [
        ("POST", "search", {"query": "x", "k": 0}, "k"),
        ("POST", "search", {"query": "x", "k": "3"}, "k"),
        ("POST", "search", {"query": "x", "k": True}, "k"),
        ("POST", "search", {"query": "x", "k": 1_001}, "k"),
        ("POST", "search", {"query": "x" * 20_001}, "query"),
        ("POST", "search", {"query": "  "}, "query"),
        ("POST", "search", {"query": "x", "since": "soon"}, "since"),
        ("POST", "search", {"query": "x", "relations": ["friendship"]}, "relations"),
        ("POST", "search", {"query": "x", "qurey": "y"}, "qurey"),
        ("POST", "entries", {"text": "a", "messages": []}, "messages"),
        ("POST", "entries", {}, "text"),
        ("POST", "configure", {"preset": "mine"}, "preset"),
        ("GET", "entries?limit=many", None, "limit"),
        *(("GET", f"entries?metadata={value}", None, "metadata") for value in ("{", "[1]", "boat")),
        # Only the owner chooses which address or download a server asks.
        ("POST", "search", {"query": "x", "rerank": "http://127.0.0.1:9/rerank"}, "rerank"),
        ("POST", "search", {"query": "x", "rerank": "fastembed:a/model"}, "rerank"),
        ("POST", "search", {"query": "x", "rerank": ""}, "rerank"),
    ]
    for method, route, sent, param in cases:
        found = talk.request(method, f"/v1/{route}", json=sent)
        assert found.status_code in (404, 422)
        assert found.json()["param"] == param


def test_each_wrong_field_is_named_as_the_request_writes_it(client: TestClient) -> None:
    cases: list[tuple[str, Any, list[str]]] = [
        ("search", {}, ["query"]),
        ("search", {"query": 5, "k": 0}, ["query", "k"]),
        ("search", {"query": "x", "alpha": "much"}, ["alpha"]),
        ("search", [], ["the body"]),
        ("forget", {"ids": ["a", 5]}, ["ids[1]"]),
        ("entries", {"text": "a", "at": []}, ["at"]),
        ("entries", {"messages": [{"content": 7}]}, ["messages[0].content"]),
    ]
    for route, body, places in cases:
        answer = client.post(f"/v1/{route}", json=body)
        assert answer.status_code == 422
        mistakes = answer.json()["errors"]
        assert [mistake["where"] for mistake in mistakes] == places
        told = [f"{mistake['where']}: {mistake['what']}" for mistake in mistakes]
        assert answer.json()["detail"] == "; ".join(told)


def test_what_is_wrong_with_a_body_is_told_without_repeating_it(client: TestClient) -> None:
    found = client.post("/v1/entries", json={"text": ["my secret diary"]})
    assert found.status_code == 422
    assert "secret" not in found.text


def test_a_body_that_is_not_json_is_told_where(client: TestClient) -> None:
    json = {"content-type": "application/json"}
    answer = client.post("/v1/search", content=b'{"query": x}', headers=json)
    assert answer.status_code == 422
    assert answer.json()["detail"] == "the body: not JSON at character 10: Expecting value"


@pytest.mark.parametrize(
    "headers",
    [{}, {"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}],
)
def test_a_body_that_does_not_say_it_is_json_is_told_how_to(
    client: TestClient, headers: dict[str, str]
) -> None:
    found = client.post("/v1/entries", content=b'{"text": "words"}', headers=headers)
    assert found.status_code == 415
    assert "send the header Content-Type: application/json" in found.json()["detail"]
    assert client.post("/v1/entries").status_code == 422
    assert (
        client.post(
            "/v1/entries", content=b"{}", headers={"content-type": "application/json"}
        ).status_code
        == 422
    )


def test_a_path_is_taken_as_text_and_never_read(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("my secret diary")
    client.post("/v1/entries", json={"text": str(tmp_path / "diary.txt")})
    [entry] = client.get("/v1/entries").json()["entries"]
    assert entry["text"] == str(tmp_path / "diary.txt")


def test_the_export_of_a_space_that_is_not_there_is_refused_before_it_begins(
    talk: TestClient,
) -> None:
    answer = talk.get("/v1/export", headers={"X-Treering-Space": "nobody"})
    assert answer.status_code == 404
    assert "there is no space 'nobody'" in answer.json()["detail"]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"format": "treering"}\nno json'])
def test_what_is_no_export_changes_nothing(client: TestClient, content: bytes) -> None:
    assert client.post("/v1/import", content=content).status_code == 422
    assert ids(client) == []


def test_a_space_that_is_not_there_is_told(talk: TestClient) -> None:
    typo = {"X-Treering-Space": "defualt"}
    for method, path, body in (
        ("POST", "/v1/search", {"query": "Porto"}),
        ("POST", "/v1/context", {"query": "Porto"}),
        ("GET", "/v1/stats", None),
        ("GET", "/v1/entries", None),
        ("GET", "/v1/facts", None),
        ("GET", "/v1/memos", None),
        ("GET", "/v1/tree", None),
    ):
        found = talk.request(method, path, json=body, headers=typo)
        assert "but there is 'default'" in detail(found, 404, "UnknownSpace")
    assert talk.get("/v1/spaces", headers=typo).json() == ["default"]


def test_a_method_that_a_route_lacks_is_answered_with_those_it_has(client: TestClient) -> None:
    found = client.options("/v1/entries/x")
    assert (found.status_code, found.headers["allow"]) == (405, "GET, PATCH")
    assert client.put("/v1/entries").headers["allow"] == "GET, POST"
    detail(found, 405, "InputError")
    detail(client.get("/v1/entires"), 404, "UnknownName")


def test_a_space_is_made_and_removed(talk: TestClient, path: Path) -> None:
    ana = {"X-Treering-Space": "ana/maria braga"}
    assert talk.put("/v1/spaces/ana/maria braga").json() == ["ana/maria braga", "default"]
    assert talk.post("/v1/search", json={"query": "Porto"}, headers=ana).json() == []
    talk.post("/v1/entries", json={"text": "A boat in the harbour."}, headers=ana)
    assert len(talk.post("/v1/search", json={"query": "boat"}, headers=ana).json()) == 1

    gone = talk.delete("/v1/spaces/ana%2Fmaria braga").json()
    assert (len(gone["entries"]), gone["scrubbed"]) == (1, True)
    found = talk.post("/v1/search", json={"query": "boat"}, headers=ana)
    detail(found, 404, "UnknownSpace")
    detail(talk.delete("/v1/spaces/ana%2Fmaria braga"), 404, "UnknownSpace")
    assert talk.get("/v1/spaces").json() == ["default"]
    assert b"ana/maria braga" not in path.read_bytes()
    talk.post("/v1/entries", json={"text": "Another boat."}, headers=ana)
    [hit] = talk.post("/v1/search", json={"query": "boat"}, headers=ana).json()
    assert hit["text"] == "Another boat."


@pytest.mark.parametrize("is_used", [False, True])
def test_a_key_removes_its_own_space_and_opens_nothing_then(
    serve: Serve, make_key: MakeKey, is_used: bool
) -> None:
    ana, ben = bearer(make_key("ana")), bearer(make_key("ben"))
    client = serve()
    client.post("/v1/entries", json={"text": "A boat."}, headers=ana if is_used else ben)
    assert client.delete("/v1/spaces/ana", headers=ben).status_code == 403
    assert client.delete("/v1/spaces/ana", headers=ana).json()["views"]["keys"] == 1
    found = client.post("/v1/entries", json={"text": "A boat again."}, headers=ana)
    assert found.status_code == 401
    assert client.get("/v1/spaces", headers=ben).json() == ["ben"]


def test_texts_that_are_none_are_the_callers_mistake(serve: Serve, tmp_path: Path) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "\ud83d"}),
        ("search", {"query": "a", "omit": ["\ud800"]}),
        ("search", {"query": "a", "metadata": {"\ud800": 1}}),
        ("forget", {"ids": ["\ud800"]}),
        ("page/markdown", {"text": "\ud800"}),
        ("code/check", {"commits": "a\0b"}),
        ("code/check", {"commits": "\ud800"}),
        ("code/check", {"root": "a" * 300}),
        ("code/repositories", {"root": "a" * 300}),
    ]
    root = repository(tmp_path / "code", m="x = 1\n")
    client = serve(code_roots=(root,))
    client.post("/v1/entries", json={"text": "a"})
    for route, sent in cases:
        if route.startswith("code/"):
            sent = sent | {"root": str(root / sent.get("root", "."))}
        answer = client.post(
            f"/v1/{route}", content=json.dumps(sent), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code in (200, 422)
        assert "life.db" not in answer.text


def test_the_description_names_every_route_and_problem(client: TestClient) -> None:
    found = client.get("/v1/openapi.json").json()
    assert found["info"]["title"] == "treering"
    for path, operations in found["paths"].items():
        for operation in operations.values():
            assert path.startswith("/v1/")
            assert operation["description"]
            assert "application/problem+json" in operation["responses"]["default"]["content"]
    names = [one["operationId"] for path in found["paths"].values() for one in path.values()]
    assert len(names) == len(set(names))


def test_an_error_of_the_file_does_not_name_it() -> None:
    answer = error_response(errors.JournalBusy("/srv/ana.db is locked"))
    assert (answer.status_code, b"/srv" in bytes(answer.body)) == (503, False)
