"""A request with a wrong field gets a problem that names the field."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from treering.serve.problems import describe_mistakes


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
    assert "query has an invalid Unicode character" in response.json()["detail"]


def test_a_field_of_no_form_is_only_unknown() -> None:
    error = {"type": "extra_forbidden", "loc": ("body", "bogus"), "msg": ""}
    assert describe_mistakes([error]) == [
        {"where": "bogus", "what": "is not a field of this request"}
    ]
