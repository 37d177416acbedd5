"""The OpenAPI document in a browser: nothing from elsewhere, and behind the key where one is."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from tests.serve.conftest import MakeKey, Serve, bearer

PAGES = ("/docs", "/redoc")


def test_the_document_is_under_its_usual_name_too(client: TestClient) -> None:
    assert client.get("/openapi.json").json() == client.get("/v1/openapi.json").json()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_asks_this_server_alone_and_all_that_it_asks_for_is_there(
    client: TestClient, path: str
) -> None:
    page = client.get(path)
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    asked_for = re.findall(r'(?:src|href|spec-url)="([^"]+)"', page.text)
    assert asked_for
    for address in asked_for:
        assert address.startswith("/")
        assert client.get(address).status_code == 200, address


def test_where_there_are_keys_the_pages_are_behind_them(serve: Serve, make_key: MakeKey) -> None:
    key, client = make_key("ana"), serve()
    for path in (*PAGES, "/openapi.json"):
        refused = client.get(path)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Basic")
        assert client.get(path, headers=bearer(key)).status_code == 200
        assert client.get(path, auth=("", key)).status_code == 200
        assert client.get(path, auth=("ana", "tr_wrong")).status_code == 401
        assert client.get(path, headers={"Authorization": "Basic %%%"}).status_code == 401
        assert client.get(path, auth=("ana", "ключ")).status_code == 401


def test_a_password_opens_nothing_but_the_pages(serve: Serve, make_key: MakeKey) -> None:
    key, client = make_key("ana"), serve()
    refused = client.get("/v1/stats", auth=("", key))
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"


def test_scripts_and_styles_need_no_key(serve: Serve, make_key: MakeKey) -> None:
    make_key("ana")
    assert serve().get("/docs/assets/start.js").status_code == 200
