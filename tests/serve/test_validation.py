"""A parameter with a wrong value gets a problem that names it."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient


@pytest.mark.parametrize("value", ["{", "[1", "boat", "[1]"])
def test_a_parameter_that_is_no_json_object_is_named(client: TestClient, value: str) -> None:
    response = client.get("/v1/entries", params={"metadata": value})
    assert response.status_code == 422
    assert [wrong["where"] for wrong in response.json()["errors"]] == ["metadata"]


def test_half_of_a_pair_is_a_mistake_of_its_field(client: TestClient) -> None:
    body = b'{"query": "\\ud83d"}'
    response = client.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["param"]) == (422, "query")
