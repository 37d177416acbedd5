"""Access: each key opens one space, and web pages of other sites are refused.

A middleware, so that whatever is mounted into the app is behind it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from treering.errors import AccessDenied, InputError, KeyUnknown, TextEncodingError, TreeringError
from treering.journal.contract import Database
from treering.journal.fields import checked_name
from treering.serve import keys, problems
from treering.serve.settings import ServerSettings, is_loopback

SPACE_HEADER = "x-treering-space"
NO_KEY_SENT = "this server requires a key"
NO_KEY_IS_LEFT = (
    "this memory had keys and the last one was removed; make one with `treering serve key add`, or "
    "answer everybody on this machine again with `treering serve key --open`"
)
REFRESH_S = 1.0
"""How long it takes at most until a running server notices that a key was added or removed."""

OPEN_PATHS = frozenset({"/", "/healthz", "/readyz", "/v1/openapi.json"})
"""Open to all, since they show nothing of any space: page, health, OpenAPI document."""

OPEN_PREFIX = "/page/"

PASSED_ON = frozenset({"forwarded", "via", "x-real-ip", "cf-connecting-ip", "true-client-ip"})
PASSED_ON_PREFIX = "x-forwarded-"
"""Headers that reverse proxies and tunnels add to the requests of others."""

OLD_HTTP = frozenset({"0.9", "1.0"})
"""What nginx speaks to a server behind it unless told otherwise. It rewrites Host, too, and adds no
header, so that this is the one sign of it. Clients of today speak 1.1."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the space, and the id of the key that opened it (None where none is needed)."""

    space: str
    key: str | None = None


class Access:
    """Tells who a caller is from the headers of a request."""

    def __init__(self, settings: ServerSettings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._keys = keys.spaces_by_digest(database)
        self._read = time.monotonic()
        self._closed = keys.is_closed(database) or not settings.loopback
        if not self._keys and not settings.loopback:
            raise InputError(
                f"{settings.host} can be reached from other machines and there is no key; make one "
                "with `treering serve key add --space NAME`, or serve on 127.0.0.1"
            )

    @property
    def is_open(self) -> bool:
        """Whether callers need no key."""
        return not self._closed

    def caller(self, headers: Headers, http_version: str = "1.1") -> Caller:
        """The caller. Raises AccessDenied, InputError."""
        self._refresh()
        named = name_in(headers, SPACE_HEADER)
        if not self._closed:
            if not self._settings.behind_proxy:
                _refuse_passed_on(headers, http_version)
            _refuse_other_sites(headers)
            return Caller(named or self._settings.space)
        space, key = self._opened(headers)
        if named not in (None, space):
            raise AccessDenied(f"this key does not open the space {named!r}")
        return Caller(space, key)

    def _opened(self, headers: Headers) -> tuple[str, str]:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise KeyUnknown(NO_KEY_SENT if self._keys else NO_KEY_IS_LEFT)
        # Digests of unguessable keys may be compared in any time.
        opened = self._keys.get(keys.digest(token.strip()))
        if opened is None:
            raise KeyUnknown("this key is not known, or no longer")
        return opened

    def _refresh(self) -> None:
        """Read the keys again, in the event loop: the table is small, and readers never wait.

        Once there was a key, one is required, even if the last has been removed: the file says so.
        """
        if time.monotonic() - self._read > REFRESH_S:
            self.read_keys()

    def read_keys(self) -> None:
        """Read the keys now."""
        self._keys = keys.spaces_by_digest(self._database)
        self._read = time.monotonic()
        self._closed = keys.is_closed(self._database) or not self._settings.loopback


class AccessMiddleware:
    """Lets a request pass with its caller in ``scope["state"]["caller"]``, or refuses it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then hand it on."""
        if scope["type"] == "lifespan" or _is_open(scope):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            caller = self._access.caller(headers, scope.get("http_version", "1.1"))
        except TreeringError as error:
            await problems.of_error(error)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)


def caller_of(connection: HTTPConnection) -> Caller:
    """The caller of a request that has passed ``AccessMiddleware``."""
    caller: Caller = connection.state.caller
    return caller


def _is_open(scope: Scope) -> bool:
    path: str = scope.get("path", "")
    return path in OPEN_PATHS or path.startswith(OPEN_PREFIX)


def name_in(headers: Headers, header: str) -> str | None:
    """The name that a header holds, in UTF-8 as names are. Raises InputError."""
    sent = headers.get(header)
    try:
        name = None if sent is None else sent.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise TextEncodingError(f"{header} is not UTF-8: {error}") from error
    return checked_name(name, header)


def _refuse_passed_on(headers: Headers, http_version: str) -> None:
    """Without keys, refuse what a reverse proxy or a tunnel on this machine passes on.

    It comes from this machine, and with a Host that the proxy may have rewritten: nothing else
    tells that another machine asks.
    """
    signs = [name for name in headers if name in PASSED_ON or name.startswith(PASSED_ON_PREFIX)]
    if signs or http_version in OLD_HTTP:
        sign = f"the header {signs[0]}" if signs else f"HTTP/{http_version}"
        raise AccessDenied(
            f"a proxy passes this request on ({sign}), so it may come from anywhere; make a key "
            "with `treering serve key add --space NAME`, or, if the proxy lets in nobody but you, "
            "serve with --behind-proxy"
        )


def _refuse_other_sites(headers: Headers) -> None:
    """Without keys, refuse requests that a web page of another site makes in a local browser.

    A foreign host name that resolves to this machine shows in Host, a foreign page in Origin, and
    what it loads without one, such as a picture, in Sec-Fetch-Site.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_loopback(_host_of(f"//{host}")):
        raise AccessDenied(
            f"the host {host!r} is not this machine; without keys only local names are answered"
        )
    if headers.get("sec-fetch-site", "").lower() == "cross-site":
        raise AccessDenied("pages of other sites may not ask; make a key for them")
    if origin is not None and not is_loopback(_host_of(origin)):
        raise AccessDenied(f"pages of {origin!r} may not ask; make a key for them")


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # a bracket too few: no name of any machine
        return ""
