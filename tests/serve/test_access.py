from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.serve.conftest import MakeKey, Serve, bearer
from treering.errors import InputError


def test_without_a_key_it_does_not_start_where_others_can_reach_it(serve: Serve) -> None:
    with pytest.raises(InputError, match="treering serve key add"):
        serve(host="0.0.0.0")


def test_with_a_key_it_starts_there_and_answers_who_has_it(serve: Serve, make_key: MakeKey) -> None:
    key = make_key("ana")
    client = serve(host="0.0.0.0")
    assert client.get("/v1/entries").status_code == 401
    assert client.get("/v1/entries", headers=bearer(key)).status_code == 200


def test_a_page_of_another_site_is_refused_without_keys(client: TestClient) -> None:
    assert client.get("/v1/entries", headers={"Origin": "https://evil.test"}).status_code == 403
    assert client.get("/v1/entries", headers={"Host": "evil.test"}).status_code == 403
    assert client.get("/v1/entries", headers={"Origin": "http://localhost:7373"}).status_code == 200
