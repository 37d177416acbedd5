"""Sign-in: tokens of an issuer open the spaces that their claims name, forged ones open nothing."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from starlette.testclient import TestClient

from tests.postgres_server import new_schema
from tests.raised import raises
from tests.serve import live
from tests.serve.conftest import bearer, serving
from tests.serve.issuer import CALLBACK, CLIENT, LocalIssuer, OctKey, RSAKey, issuing
from tests.serve.test_mcp import said
from treering.errors import InputError
from treering.journal.open import open_database
from treering.serve import issuer as module
from treering.serve import keys

RESOURCE = "http://localhost/mcp"
GRANTS = ("sub=* full user-{}", "groups=crew read,add team", "groups=guests read hall-*")


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalIssuer]:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with issuing() as running:
        running.resource = RESOURCE
        yield running


@contextmanager
def guarded(signing: LocalIssuer, url: Any, **options: Any) -> Iterator[TestClient]:
    settings = {"issuer": signing.url, "resource": RESOURCE, "grants": GRANTS} | options
    with serving(url, **settings) as client:
        yield client


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_claims_open_spaces_with_roles(issuer: LocalIssuer, path: Path, engine: str) -> None:
    with guarded(issuer, path if engine == "sqlite" else new_schema()) as client:
        ana = bearer(issuer.token(groups=["crew", "staff"]))
        ben, eve = bearer(issuer.token(sub="ben", groups=["crew"])), bearer(issuer.token(sub="eve"))
        team = {"X-Treering-Space": "team"}
        client.post("/v1/entries", json={"text": "Mine alone."}, headers=ana)
        client.post("/v1/entries", json={"text": "For the crew."}, headers=ana | team)
        assert "crew" in client.get("/v1/entries", headers=ben | team).text
        assert "Mine" not in client.get("/v1/export", headers=ben | team).text
        assert client.get("/v1/spaces", headers=ana).json() == ["team", "user-ana"]
        assert client.get("/v1/spaces", headers=eve).json() == ["user-eve"]
        for headers in (eve | team, ben | {"X-Treering-Space": "user-ana"}):
            assert client.get("/v1/entries", headers=headers).status_code == 403
        refused = client.post("/v1/forget", json={"source": "notes"}, headers=ben | team)
        assert refused.status_code == 403
        assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]


def none_signed(issuer: LocalIssuer) -> str:
    [_, claims, _] = issuer.token().split(".")
    head = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    return f"{head}.{claims}."


def published_as_secret(issuer: LocalIssuer) -> str:
    public = issuer.key.as_pem(private=False)
    return issuer.token(OctKey.import_key(base64.b64encode(public).decode()), "HS256")


def altered(issuer: LocalIssuer) -> str:
    head, claims, signature = issuer.token().split(".")
    data = json.loads(base64.urlsafe_b64decode(claims + "=="))
    changed = base64.urlsafe_b64encode(json.dumps(data | {"sub": "ben"}).encode())
    return ".".join((head, changed.rstrip(b"=").decode(), signature))


FORGED: dict[str, Callable[[LocalIssuer], str]] = {
    "expired": lambda issuer: issuer.token(exp=int(time.time()) - 60),
    "not yet valid": lambda issuer: issuer.token(nbf=int(time.time()) + 600),
    "without an end": lambda issuer: issuer.token(exp=None),
    "another audience": lambda issuer: issuer.token(aud="http://localhost/other"),
    "without an audience": lambda issuer: issuer.token(aud=None),
    "another issuer": lambda issuer: issuer.token(iss="https://id.example.org"),
    "another key": lambda issuer: issuer.token(RSAKey.generate_key(2048)),
    "unsigned": none_signed,
    "the public key as a secret": published_as_secret,
    "altered": altered,
    "no token": lambda _: "a.b.c",
    "a key": lambda _: f"{keys.PREFIX}unknown",
}


@pytest.mark.filterwarnings("ignore")  # joserfc warns of a public key as a secret
def test_forged_tokens_are_refused_and_told_where_to_sign_in(
    issuer: LocalIssuer, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with guarded(issuer, path) as client:
        assert client.get("/v1/entries", headers=bearer(issuer.token())).status_code == 200
        metadata = 'resource_metadata="http://localhost/.well-known/oauth-protected-resource/mcp"'
        for kind, forge in FORGED.items():
            refused = client.get("/v1/entries", headers=bearer(forge(issuer)))
            assert refused.status_code == 401, kind
            challenge = refused.headers["www-authenticate"]
            assert challenge == f'Bearer error="invalid_token", {metadata}', kind
            assert client.post("/mcp", json={}, headers=bearer(forge(issuer))).status_code == 401
        assert client.get("/v1/entries").headers["www-authenticate"] == f"Bearer {metadata}"
        told = client.get("/.well-known/oauth-protected-resource/mcp").json()
        assert told["authorization_servers"] == [issuer.url]
        assert told["resource"] == RESOURCE
        assert issuer.asked_for_keys == 1
        assert issuer.token().rpartition(".")[0] not in caplog.text


@pytest.mark.parametrize("sub", ["*", "a*", "x\ny", "", " ", "e\u0301"])
def test_a_strange_name_opens_no_space_of_others(issuer: LocalIssuer, path: Path, sub: str) -> None:
    with guarded(issuer, path) as client:
        client.post("/v1/entries", json={"text": "Mine."}, headers=bearer(issuer.token()))
        answer = client.get("/v1/spaces", headers=bearer(issuer.token(sub=sub)))
        assert answer.status_code in (401, 403)


def test_keys_of_the_issuer_are_read_again_but_not_for_every_forged_token(
    issuer: LocalIssuer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with guarded(issuer, path) as client:
        old = bearer(issuer.token())
        assert client.get("/v1/spaces", headers=old).status_code == 200
        issuer.key = RSAKey.generate_key(2048, auto_kid=True)
        for _ in range(20):
            assert client.get("/v1/spaces", headers=bearer(issuer.token())).status_code == 401
        assert issuer.asked_for_keys == 1
        monkeypatch.setattr(module, "RETRY_S", 0.0)
        assert client.get("/v1/spaces", headers=bearer(issuer.token())).status_code == 200
        assert client.get("/v1/spaces", headers=old).status_code == 401


def test_known_keys_go_on_while_a_slow_issuer_is_asked(
    issuer: LocalIssuer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, published = threading.Event(), issuer.published

    def late() -> dict[str, Any]:
        assert answers.wait(30)
        return published()

    with guarded(issuer, path) as client:
        token = bearer(issuer.token())
        assert client.get("/v1/spaces", headers=token).status_code == 200
        monkeypatch.setattr(issuer, "published", late)
        monkeypatch.setattr(module, "KEYS_S", -1.0)
        assert client.get("/v1/spaces", headers=token).status_code == 200
        assert issuer.asked_for_keys == 1
        answers.set()
        monkeypatch.setattr(module, "FRESH_S", -1.0)  # too old to go on
        assert client.get("/v1/spaces", headers=token).status_code == 200
        assert issuer.asked_for_keys > 1


def test_an_issuer_that_is_down_is_an_error_of_the_server(path: Path) -> None:
    with issuing() as issuer:
        issuer.resource = RESOURCE
        token = bearer(issuer.token())
    with guarded(issuer, path) as client:
        assert client.get("/v1/spaces", headers=token).status_code == 503


def test_keys_go_on_beside_an_issuer(issuer: LocalIssuer, path: Path) -> None:
    database = open_database(path)
    text, _ = keys.add(database, "bot")
    database.close()
    with guarded(issuer, path, host="0.0.0.0") as client:
        assert client.get("/v1/spaces", headers=bearer(text)).json() == ["bot"]
        assert client.get("/v1/spaces").status_code == 401


@pytest.mark.parametrize(
    "options",
    [
        *({"grants": ()}, {"resource": None}, {"grants": ("groups=crew",)}),
        *({"grants": ("groups crew team",)}, {"grants": ("sub=* boss team",)}),
        *({"issuer": "http://id.example.org"}, {"resource": "http://memory.example.org/mcp"}),
    ],
)
def test_a_sign_in_that_is_half_configured_is_refused(
    issuer: LocalIssuer, path: Path, options: dict[str, Any]
) -> None:
    with raises(InputError), guarded(issuer, path, **options):
        pass


class _Storage:
    """What a client keeps: its registration, and its tokens."""

    tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull:
        return OAuthClientInformationFull.model_validate(
            {
                "client_id": CLIENT,
                "redirect_uris": [CALLBACK],
                "token_endpoint_auth_method": "none",
            }
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("this client is registered")


def signed_in(url: str) -> OAuthClientProvider:
    """The official client's sign-in, with a browser that follows one redirection."""
    answers: list[AuthorizationCodeResult] = []

    async def browse(address: str) -> None:
        async with httpx2.AsyncClient() as browser:
            sent = await browser.get(address)
        query = parse_qs(urlsplit(sent.headers["location"]).query)
        answers.append(AuthorizationCodeResult(code=query["code"][0], state=query["state"][0]))

    async def answer() -> AuthorizationCodeResult:
        return answers.pop()

    metadata = OAuthClientMetadata.model_validate(
        {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    )
    return OAuthClientProvider(f"{url}/mcp", metadata, _Storage(), browse, answer)


def test_the_official_mcp_client_signs_in(issuer: LocalIssuer, path: Path) -> None:
    async def act(url: str) -> None:
        for name, secret in (("ana", "Ana likes tea."), ("ben", "Ben likes rum.")):
            issuer.signs_in = name
            async with (
                httpx2.AsyncClient(auth=signed_in(url)) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
            ):
                await said(client, "remember", text=secret)
                assert secret in await said(client, "recall", query="who likes what")
                assert len((await said(client, "list")).splitlines()) == 1

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    issuer.resource = f"http://127.0.0.1:{port}/mcp"
    options = {"issuer": issuer.url, "resource": issuer.resource, "grants": GRANTS}
    with live.serving(url=path, port=port, **options) as url:
        anyio.run(act, url)
