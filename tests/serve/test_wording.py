"""Errors tell clients and models what to do next in words of theirs."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from starlette.testclient import TestClient

from tests.embedders import HashingEmbedder
from treering.errors import ModelMismatch
from treering.journal.space import NOWHERE, EmbeddingModel, SpaceState
from treering.serve.mistakes import mistakes
from treering.serve.wording import _STEPS, _STEPS_WITH_NAMES, Interface, spoken
from treering.views.fragments.model import ensure_same_model

PACKAGE = Path(__file__).parents[2] / "treering"


def test_every_step_that_is_put_otherwise_is_one_that_the_package_tells() -> None:
    package = "".join(
        file.read_text("utf-8") for file in PACKAGE.rglob("*.py") if file.name != "wording.py"
    )
    joined = package.replace('"\n            "', "")  # of texts over two lines
    assert [step for step in _STEPS if step not in joined] == []


def test_a_step_that_names_a_model_is_put_otherwise() -> None:
    state = SpaceState(NOWHERE, model=EmbeddingModel(1, "minilm", 2))
    with pytest.raises(ModelMismatch) as refused:
        ensure_same_model(state, HashingEmbedder("other"), "default")
    for interface in get_args(Interface):
        told = spoken(str(refused.value), interface)
        assert "`treering reembed other`" in told
        assert "embedder=" not in told


def test_a_model_that_another_process_changed_is_told_of_in_other_words_too() -> None:
    told = "open it with 'new', or call reembed('old') to change to that"
    assert any(pattern.fullmatch(told) for pattern in _STEPS_WITH_NAMES)
    for interface in get_args(Interface):
        assert "`treering reembed old`" in spoken(told, interface)
        assert "call" not in spoken(told, interface)


def test_a_space_that_is_not_there_is_told_by_route(client: TestClient) -> None:
    client.post("/v1/entries", json={"text": "A boat."})
    missing = client.get("/v1/entries", headers={"X-Treering-Space": "nobody"})
    assert missing.status_code == 404
    assert "`GET /v1/spaces` lists all" in missing.json()["detail"]
    assert "()" not in missing.json()["detail"]


@pytest.mark.parametrize(
    ("method", "route", "body", "told"),
    [
        ("GET", "/v1/entries/nope", None, "`GET /v1/entries` lists the ids"),
        ("GET", "/v1/memos/nope", None, "`GET /v1/memos` lists the ids"),
        ("GET", "/v1/tree/nodes/99", None, "`GET /v1/tree` gives the roots"),
        ("POST", "/v1/forget", {}, 'give ids or a filter, such as {"source": "novel.txt"}'),
        (
            "POST",
            "/v1/entries",
            {"text": "a", "messages": [{"role": "user", "content": "b"}]},
            "messages cannot be given beside text",
        ),
        ("POST", "/v1/entries", {"text": "a", "at": True}, "at must be a string or a number"),
        ("POST", "/v1/search", {"query": "x", "k": "3"}, "k must be a whole number"),
        ("POST", "/v1/search", {"query": "x", "k": True}, "k must be a whole number"),
        ("POST", "/v1/memos/merge", {"ids": ["x"]}, "ids must have at least 2 items"),
    ],
)
def test_what_to_do_is_told_by_route_and_field(
    client: TestClient, method: str, route: str, body: object, told: str
) -> None:
    client.post("/v1/entries", json={"text": "A boat."})
    response = client.request(method, route, json=body)
    assert 400 <= response.status_code < 500
    assert told in response.json()["detail"]


@pytest.mark.parametrize("value", ["{", "[1", "boat"])
def test_a_parameter_that_is_no_json_is_told_by_its_name(client: TestClient, value: str) -> None:
    response = client.get("/v1/entries", params={"metadata": value})
    assert response.status_code == 422
    [wrong] = response.json()["errors"]
    assert wrong["where"] == "metadata"
    assert wrong["what"].startswith("is not valid JSON: ")
    assert response.json()["detail"].startswith("metadata is not valid JSON: ")


def test_a_parameter_that_is_other_json_is_told_what_it_must_be(client: TestClient) -> None:
    response = client.get("/v1/entries", params={"metadata": "[1]"})
    assert response.json()["detail"] == "metadata must be an object"


def test_half_of_a_pair_is_told_in_words(client: TestClient) -> None:
    body = b'{"query": "\\ud83d"}'
    response = client.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert "query has a character that is no valid Unicode" in response.json()["detail"]


def test_a_field_of_no_form_is_only_unknown() -> None:
    error = {"type": "extra_forbidden", "loc": ("body", "bogus"), "msg": ""}
    assert mistakes([error]) == [{"where": "bogus", "what": "is not a field of this request"}]
