"""Sign-in: access tokens of an OAuth 2.1 issuer, checked by the keys that it publishes.

The server is a resource server. Its metadata (RFC 9728) name the issuer, where clients sign in.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx2
import jwt
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from starlette.routing import Route

from treering.errors import AccessDenied, InputError, KeyUnknown, ServerUnavailable
from treering.journal.fields import checked_name, required_name
from treering.serve.roles import WILDCARD, Caller, Grant, Roles, matches, parse_roles
from treering.serve.settings import is_loopback
from treering.serve.threads import start_task

log = logging.getLogger("treering.serve")

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Signatures with a public key. With any other, whoever reads that key could sign."""

KEYS_S: Final = 300.0
"""The keys of the issuer are read again after this time: it may have withdrawn one."""

FRESH_S: Final = 2 * KEYS_S
"""Older keys are not used before the issuer has been asked again."""

MOST_S: Final = 3_600.0
"""Keys that could not be read again for so long are trusted no longer."""

RETRY_S: Final = 10.0
"""An unknown key is looked for at most this often: forged tokens must not flood the issuer."""

FETCH_S: Final = 10.0
LEEWAY_S: Final = 30  # between the clocks of two machines

VALUE: Final = "{}"
"""In the space of a rule: the value of the claim."""


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """The roles that a token gives if its claim has a value that fits a pattern."""

    claim: str
    pattern: str
    roles: Roles
    space: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the rule that ``CLAIM=VALUE ROLES SPACE`` says. Raise InputError."""
        match text.split(None, 2):
            case [condition, roles, space] if "=" in condition:
                claim, _, pattern = condition.partition("=")
                name = required_name(space.strip(), "space")
                return cls(claim, pattern, parse_roles(roles.split(",")), name)
        raise InputError(
            f"the grant {text!r} cannot be read; write CLAIM=VALUE ROLES SPACE, such as "
            "'groups=crew read,add team' or 'sub=* full user-{}'"
        )

    def grants(self, claims: Mapping[str, Any]) -> Iterator[Grant]:
        """Yield the grants of a token with these claims."""
        for value in _texts(self.claim, claims.get(self.claim)):
            if not matches(self.pattern, value):
                continue
            # Else a strange name could open the spaces of others.
            if VALUE in self.space and (WILDCARD in value or not _is_name(value)):
                continue
            yield Grant(self.space.replace(VALUE, value), self.roles)


def _texts(claim: str, value: object) -> list[str]:
    if isinstance(value, str):
        return value.split() if claim in ("scope", "scp") else [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _is_name(value: str) -> bool:
    try:
        return checked_name(value, "claim") == value
    except InputError:
        return False


class Issuer:
    """Checks the tokens of one issuer for one resource, which is an address of this server."""

    def __init__(self, url: str, resource: str | None, rules: Sequence[str]) -> None:
        if not resource or not rules:
            raise InputError(
                "an issuer needs --resource, the address of this server's /mcp as clients write "
                "it, and --grant, which says what holders of its tokens may do"
            )
        for address in (url, resource):
            _ensure_safe(address)
        self._url = url
        self._resource = resource
        self._rules = [ClaimRule.parse(rule) for rule in rules]
        self._settings = AuthSettings.model_validate(
            {
                "issuer_url": url,
                "resource_server_url": resource,
                "validate_token_resource": False,  # pyjwt checks the audience
            }
        )
        assert self._settings.resource_server_url is not None
        self._metadata = str(build_resource_metadata_url(self._settings.resource_server_url))
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read = self._fetched = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    def routes(self) -> list[Route]:
        """Return the route of the metadata."""
        assert self._settings.resource_server_url is not None
        scopes = [rule.pattern for rule in self._rules if rule.claim in ("scope", "scp")]
        return create_protected_resource_routes(
            self._settings.resource_server_url,
            [self._settings.issuer_url],
            scopes_supported=[scope for scope in scopes if WILDCARD not in scope] or None,
            resource_name="treering",
        )

    def challenge(self, error: str | None) -> str:
        """Return the header WWW-Authenticate of a refusal (RFC 6750)."""
        reason = f'error="{error}", ' if error else ""
        return f'Bearer {reason}resource_metadata="{self._metadata}"'

    async def caller(self, token: str) -> Caller:
        """Return the holder of a token.

        Raise KeyUnknown for a token that is not valid here, AccessDenied for one that no rule
        grants anything, ServerUnavailable if the issuer does not answer.
        """
        try:
            key = await self._key(jwt.get_unverified_header(token).get("kid") or "")
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self._resource,
                issuer=self._url,
                leeway=LEEWAY_S,
                options={"require": ["aud", "exp", "iss", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise KeyUnknown(f"this token is refused: {error}") from error
        grants = tuple(grant for rule in self._rules for grant in rule.grants(claims))
        if not grants:
            raise AccessDenied("this token opens no space; ask the owner of the memory")
        return Caller(f"{claims['sub']} of {self._url}", grants)

    async def _key(self, key_id: str) -> jwt.PyJWK:
        now = time.monotonic()
        if self._reading is None or self._reading.done():
            age = now - self._read
            if age > KEYS_S or (key_id not in self._keys and age > RETRY_S):
                self._read = now
                self._reading = start_task(self._read_keys())
        # While a slow issuer is asked, known keys go on; others wait for its answer.
        is_fresh = key_id in self._keys and now - self._fetched < FRESH_S
        if self._reading is not None and not is_fresh:
            await asyncio.shield(self._reading)
        if not self._keys:
            raise ServerUnavailable(f"the keys of {self._url} cannot be read; try again later")
        if key_id not in self._keys:
            raise KeyUnknown("this token is signed with a key that its issuer does not publish")
        return self._keys[key_id]

    async def _read_keys(self) -> None:
        try:
            self._keys = await self._fetch_keys()
        except (
            httpx2.HTTPError,
            InputError,
            ValueError,
            KeyError,
            TypeError,
            jwt.PyJWTError,
        ) as error:
            log.warning("the keys of %s cannot be read: %s", self._url, error)
            if time.monotonic() - self._fetched > MOST_S:
                self._keys = {}  # one of them may have been withdrawn
        else:
            self._fetched = time.monotonic()

    async def _fetch_keys(self) -> dict[str, jwt.PyJWK]:
        parts, base = urlsplit(self._url), self._url.rstrip("/")
        places = (
            f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server"
            f"{parts.path.rstrip('/')}",
            f"{base}/.well-known/openid-configuration",
        )
        async with httpx2.AsyncClient(timeout=FETCH_S) as client:
            for place in places:
                answer = await client.get(place)
                if answer.is_success:
                    break
            metadata = answer.raise_for_status().json()
            if metadata["issuer"] != self._url:
                raise InputError(f"{place} is of the issuer {metadata['issuer']!r:.200}")
            address = str(metadata["jwks_uri"])
            _ensure_safe(address)
            published = (await client.get(address)).raise_for_status().json()
        keys = jwt.PyJWKSet.from_dict(published).keys
        return {key.key_id or "": key for key in keys}


def _ensure_safe(address: str) -> None:
    """Raise InputError for an address whose answers others could change on the way."""
    parts = urlsplit(address)
    is_local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if parts.scheme != "https" and not is_local:
        raise InputError(f"{address!r:.200} must begin with https://, unless it is this machine")
