"""Access: a key opens its spaces, pages of other sites are refused, few folders are served.

The checks are a middleware, so that mounted applications are behind them, too.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from treering.errors import AccessDenied, InputError, KeyUnknown, TextEncodingError, TreeringError
from treering.journal.contract import Database
from treering.journal.entries import micros
from treering.journal.fields import checked_name
from treering.serve import keys, problems
from treering.serve.roles import EVERYTHING, Caller, needed_roles
from treering.serve.settings import ServerSettings, is_loopback
from treering.views.code.rounds.git import Git

if TYPE_CHECKING:
    from treering.serve.issuer import Issuer
    from treering.serve.settling import IdleSettler

SPACE_HEADER = "x-treering-space"
NO_KEY_SENT = "this server requires a key"
NO_KEY_IS_LEFT = (
    "the last key of this memory was removed; make one with `treering serve key add`, or answer "
    "all callers on this machine again with `treering serve key --open`"
)
REFRESH_S = 1.0
"""A running server notices within this time that a key was removed."""

MISS_S = 0.002
"""An unknown key may be a new one, so the keys are read again for it: no more often than this, as
a reading takes some tenths of a millisecond."""

OPEN_PATHS = frozenset({"/", "/healthz", "/readyz", "/v1/openapi.json"})
"""Open to all, because they show nothing of a space: page, health, OpenAPI document."""

OPEN_PREFIXES = ("/page/", "/.well-known/oauth-protected-resource")

PASSED_ON = frozenset({"forwarded", "via", "x-real-ip", "cf-connecting-ip", "true-client-ip"})
PASSED_ON_PREFIX = "x-forwarded-"
"""Headers that reverse proxies and tunnels add to the requests of others."""

OLD_HTTP = frozenset({"0.9", "1.0"})
"""By default nginx speaks these to the server behind it. It rewrites Host, too, and adds no header,
so the version is the only sign of it. Clients speak 1.1."""


def now() -> int:
    """Return the time in microseconds since 1970."""
    return micros(datetime.now(UTC))


class Access:
    """Finds the caller of a request by its headers."""

    def __init__(self, settings: ServerSettings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._used: dict[str, int] = {}
        self.issuer: Issuer | None = None
        if settings.issuer is not None:
            from treering.serve.issuer import Issuer  # its packages take a second to import

            self.issuer = Issuer(settings.issuer, settings.resource, settings.grants)
        self.read_keys()
        if not self._keys and not settings.loopback and self.issuer is None:
            raise InputError(
                f"{settings.host} can be reached from other machines and there is no key; make one "
                "with `treering serve key add --space NAME`, or serve on 127.0.0.1"
            )

    @property
    def is_open(self) -> bool:
        """Whether callers need no key."""
        return not self._closed

    async def admit(self, headers: Headers, http_version: str = "1.1") -> Caller:
        """Return the caller, by a key or by a token of the issuer.

        Raise AccessDenied, InputError, ServerUnavailable.
        """
        token, named = _sent_token(headers), name_in(headers, SPACE_HEADER)
        if self.issuer is not None and token and not token.startswith(keys.PREFIX):
            return (await self.issuer.caller(token)).in_space(named)
        if time.monotonic() - self._read > REFRESH_S:
            self.read_keys()  # in the event loop: the table is small, and readers never wait
        if self._closed:
            if token and keys.digest(token) not in self._keys:
                await self._read_again()
            return self._holder(token).in_space(named)
        _refuse_proxied(headers, http_version)
        _refuse_other_sites(headers)
        return Caller(None, EVERYTHING, named or self._settings.space)

    def refusal(self, error: TreeringError, headers: Headers) -> Response:
        """Return the answer to a request that is refused; it says where to sign in."""
        answer = problems.error_response(error)
        if self.issuer is not None and isinstance(error, KeyUnknown):
            reason = "invalid_token" if _sent_token(headers) else None
            answer.headers["WWW-Authenticate"] = self.issuer.challenge(reason)
        elif self.issuer is not None and isinstance(error, AccessDenied):
            answer.headers["WWW-Authenticate"] = self.issuer.challenge("insufficient_scope")
        return answer

    def _holder(self, token: str) -> Caller:
        """Return the holder of a key. Raise KeyUnknown."""
        if not token:
            raise KeyUnknown(NO_KEY_SENT if self._keys or self.issuer else NO_KEY_IS_LEFT)
        # Digests of unguessable keys may be compared in any time.
        stored = self._keys.get(keys.digest(token))
        if stored is None:
            raise KeyUnknown("this key is unknown or was removed")
        caller, expires = stored
        if expires is not None and expires <= now():
            raise KeyUnknown("this key has expired; ask the owner of the memory for a new one")
        self._used[str(caller.key)] = now()
        return caller

    async def _read_again(self) -> None:
        """Read the keys as they are now or later."""
        came = time.monotonic()
        await asyncio.sleep(self._read + MISS_S - came)
        if self._read <= came:  # else another request has read them since
            self.read_keys()

    def take_uses(self) -> dict[str, int]:
        """Return when each key was used last since the last call, in microseconds, by its id."""
        used, self._used = self._used, {}
        return used

    def read_keys(self) -> None:
        """Read the keys now. A memory that has had a key needs one, also once the last is gone."""
        began = time.monotonic()  # not the end: a key that was made meanwhile is not among these
        self._keys, is_closed = keys.keys_by_digest(self._database)
        self._read = began
        needs_key = self.issuer is not None or not self._settings.loopback
        self._closed = needs_key or is_closed


class AccessMiddleware:
    """Puts the caller into ``scope["state"]["caller"]``, or refuses the request.

    All requests pass here, so no route can forget the roles that it needs.
    """

    def __init__(self, app: ASGIApp, access: Access, idle: IdleSettler) -> None:
        self._app = app
        self._access = access
        self._idle = idle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then pass it on."""
        path: str = scope.get("path", "")
        is_open = path in OPEN_PATHS or path.startswith(OPEN_PREFIXES)
        if scope["type"] == "lifespan" or is_open:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            caller = await self._access.admit(headers, scope.get("http_version", "1.1"))
            caller.ensure(needed_roles(scope["method"], path), caller.space)
        except TreeringError as error:
            await self._access.refusal(error, headers)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        with self._idle.during_request(scope["method"], path):
            await self._app(scope, receive, send)


def caller_of(connection: HTTPConnection) -> Caller:
    """Return the caller of a request that has passed ``AccessMiddleware``."""
    caller: Caller = connection.state.caller
    return caller


def author(connection: HTTPConnection, named: str | None) -> str | None:
    """Return the author of a correction: the id of the key, or without keys ``named``."""
    return caller_of(connection).key or named


def _sent_token(headers: Headers) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        token = headers.get("x-api-key", "")  # of Anthropic's clients
    return token.strip()


def name_in(headers: Headers, header: str) -> str | None:
    """Return the name in a header, which is UTF-8. Raise InputError."""
    sent = headers.get(header)
    try:
        name = None if sent is None else sent.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise TextEncodingError(f"{header} is not UTF-8: {error}") from error
    return checked_name(name, header)


def _refuse_proxied(headers: Headers, http_version: str) -> None:
    """Refuse a request that a reverse proxy or a tunnel on this machine passes on.

    It comes from this machine, with a Host that the proxy may have rewritten, so only these signs
    show that it may come from another machine.
    """
    signs = [name for name in headers if name in PASSED_ON or name.startswith(PASSED_ON_PREFIX)]
    if signs or http_version in OLD_HTTP:
        sign = f"the header {signs[0]}" if signs else f"HTTP/{http_version}"
        raise AccessDenied(
            f"a proxy passes this request on ({sign}), so it may come from anywhere; make a key "
            "with `treering serve key add --space NAME`, and let the proxy or its users send it"
        )


def _refuse_other_sites(headers: Headers) -> None:
    """Refuse a request that a web page of another site makes in a local browser.

    Host shows a foreign name that resolves to this machine, Origin a foreign page, and
    Sec-Fetch-Site its requests without Origin, such as for a picture.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_loopback(_host_of(f"//{host}")):
        raise AccessDenied(
            f"the host {host!r} is not this machine; without keys only local names are answered"
        )
    if headers.get("sec-fetch-site", "").lower() == "cross-site":
        raise AccessDenied("this request comes from a page of another site; make a key for it")
    if origin is not None and not is_loopback(_host_of(origin)):
        raise AccessDenied(f"this request comes from a page of {origin!r}; make a key for it")


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # a missing bracket
        return ""


def served_folder(settings: ServerSettings, root: str) -> Path:
    """Return the folder that a client names. Raise AccessDenied unless its owner serves it."""
    folder = Path(os.path.realpath(root))  # without links and "..": the folder that would be read
    if not any(folder.is_relative_to(allowed) for allowed in settings.code_roots):
        raise AccessDenied(
            f"{root!r} is not in a folder whose code this server may read; its owner names such "
            "folders with `treering serve --code-root FOLDER`"
        )
    try:
        folder.is_dir()
    except OSError as error:
        raise InputError(f"{root!r} cannot be a folder: {error.strerror}") from error
    return folder


def served_repository(settings: ServerSettings, root: str) -> Path:
    """As ``served_folder``, also for every folder that git reads for the repository.

    Its ``.git`` may be a link, or name the store of another repository, as in a worktree.
    """
    folder = served_folder(settings, root)
    for place in Git.at(folder).places():
        served_folder(settings, str(place))
    return folder
