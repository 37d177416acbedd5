"""An OAuth 2.1 issuer on this machine, by Authlib: it signs access tokens as RFC 9068 says."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from flask import Flask, jsonify, request
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from werkzeug.serving import make_server

CLIENT = "an-agent"
CALLBACK = "http://127.0.0.1:1/callback"


@dataclass(frozen=True)
class User:
    sub: str

    def get_user_id(self) -> str:
        return self.sub


class _Client(ClientMixin):  # type: ignore[misc]
    """A public client, which proves itself by PKCE alone."""

    client_id = CLIENT

    def get_client_id(self) -> str:
        return CLIENT

    def get_default_redirect_uri(self) -> str:
        return CALLBACK

    def get_allowed_scope(self, scope: str) -> str:
        return scope or ""

    def check_redirect_uri(self, uri: str) -> bool:
        return uri == CALLBACK

    def check_endpoint_auth_method(self, method: str, _: str) -> bool:
        return method == "none"

    def check_response_type(self, kind: str) -> bool:
        return kind == "code"

    def check_grant_type(self, kind: str) -> bool:
        return kind == "authorization_code"


@dataclass
class _Code(AuthorizationCodeMixin):  # type: ignore[misc]
    code: str
    redirect_uri: str
    scope: str
    user: User
    code_challenge: str
    code_challenge_method: str

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope


@dataclass
class LocalIssuer:
    """An issuer with one client; whoever ``signs_in`` gets the codes, without a question."""

    url: str = ""
    resource: str = ""
    signs_in: str = "ana"
    claims: dict[str, Any] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: RSAKey.generate_key(2048, auto_kid=True))
    codes: dict[str, _Code] = field(default_factory=dict)
    asked_for_keys: int = 0

    def published(self) -> dict[str, Any]:
        self.asked_for_keys += 1
        keys: dict[str, Any] = KeySet([self.key]).as_dict(private=False)
        return keys

    def token(self, key: Any = None, alg: str = "RS256", **changed: Any) -> str:
        """A token made by hand: valid, but for what is changed. A claim of None is left out."""
        claims = {
            "iss": self.url,
            "aud": self.resource,
            "sub": self.signs_in,
            "iat": int(time.time()),
            "exp": int(time.time()) + 600,
            **self.claims,
            **changed,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": alg, "kid": self.key.kid}
        return str(jwt.encode(header, claims, key or self.key, algorithms=[alg]))


def _application(issuer: LocalIssuer) -> Any:
    app = Flask("issuer")

    class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
        TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

        def save_authorization_code(self, code: str, asked: Any) -> None:
            data, payload = asked.payload.data, asked.payload
            issuer.codes[code] = _Code(
                *(code, payload.redirect_uri, payload.scope or "", asked.user),
                *(data["code_challenge"], data["code_challenge_method"]),
            )

        def query_authorization_code(self, code: str, client: Any) -> _Code | None:
            return issuer.codes.get(code)

        def delete_authorization_code(self, code: _Code) -> None:
            del issuer.codes[code.code]

        def authenticate_user(self, code: _Code) -> User:
            return code.user

    class Tokens(JWTBearerTokenGenerator):  # type: ignore[misc]
        def get_jwks(self) -> Any:
            return KeySet([issuer.key])

        def get_audiences(self, *_: Any) -> list[str]:
            return [issuer.resource]

        def get_extra_claims(self, *_: Any) -> dict[str, Any]:
            return issuer.claims

    server = AuthorizationServer(app, lambda _: _Client(), lambda *_: None)
    server.register_grant(CodeGrant, [CodeChallenge(required=True)])
    server.register_token_generator("default", Tokens(issuer.url))

    def metadata() -> Any:
        return jsonify(
            issuer=issuer.url,
            authorization_endpoint=f"{issuer.url}/authorize",
            token_endpoint=f"{issuer.url}/token",
            jwks_uri=f"{issuer.url}/jwks",
            response_types_supported=["code"],
            grant_types_supported=["authorization_code"],
            token_endpoint_auth_methods_supported=["none"],
            code_challenge_methods_supported=["S256"],
        )

    def authorize() -> Any:
        user = User(issuer.signs_in)
        grant = server.get_consent_grant(end_user=user)
        return server.create_authorization_response(grant_user=user, grant=grant)

    def token() -> Any:
        assert request.form["resource"] == issuer.resource
        return server.create_token_response()

    app.add_url_rule("/.well-known/oauth-authorization-server", view_func=metadata)
    app.add_url_rule("/jwks", "jwks", lambda: jsonify(issuer.published()))
    app.add_url_rule("/authorize", view_func=authorize)
    app.add_url_rule("/token", view_func=token, methods=["POST"])
    return app


@contextmanager
def issuing() -> Iterator[LocalIssuer]:
    """A running issuer. It speaks HTTP: the environment needs AUTHLIB_INSECURE_TRANSPORT."""
    issuer = LocalIssuer()
    listening = make_server("127.0.0.1", 0, Flask("port"), threaded=True)
    issuer.url = f"http://127.0.0.1:{listening.port}"
    listening.app = _application(issuer)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield issuer
    finally:
        listening.shutdown()
        thread.join(timeout=30)
        listening.server_close()


__all__ = ["CALLBACK", "CLIENT", "LocalIssuer", "OctKey", "RSAKey", "issuing"]
