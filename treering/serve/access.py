"""Access: each key opens one space, pages of other sites are refused, few folders are served.

The checks are a middleware, so that mounted applications are behind them, too.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from treering.errors import AccessDenied, InputError, KeyUnknown, TextEncodingError, TreeringError
from treering.journal.contract import Database
from treering.journal.fields import checked_name
from treering.serve import keys, problems
from treering.serve.settings import ServerSettings, is_loopback
from treering.views.code.rounds.git import Git

SPACE_HEADER = "x-treering-space"
NO_KEY_SENT = "this server requires a key"
NO_KEY_IS_LEFT = (
    "the last key of this memory was removed; make one with `treering serve key add`, or answer "
    "all callers on this machine again with `treering serve key --open`"
)
REFRESH_S = 1.0
"""A running server notices within this time that a key was added or removed."""

OPEN_PATHS = frozenset({"/", "/healthz", "/readyz", "/v1/openapi.json"})
"""Open to all, because they show nothing of a space: page, health, OpenAPI document."""

OPEN_PREFIX = "/page/"

PASSED_ON = frozenset({"forwarded", "via", "x-real-ip", "cf-connecting-ip", "true-client-ip"})
PASSED_ON_PREFIX = "x-forwarded-"
"""Headers that reverse proxies and tunnels add to the requests of others."""

OLD_HTTP = frozenset({"0.9", "1.0"})
"""By default nginx speaks these to the server behind it. It rewrites Host, too, and adds no header,
so the version is the only sign of it. Clients speak 1.1."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The space of a request, and the id of the key that opened it; None without keys."""

    space: str
    key: str | None = None


class Access:
    """Finds the caller of a request by its headers."""

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
        """Return the caller. Raise AccessDenied, InputError."""
        self._refresh()
        named = name_in(headers, SPACE_HEADER)
        if not self._closed:
            if not self._settings.behind_proxy:
                _refuse_proxied(headers, http_version)
            _refuse_other_sites(headers)
            return Caller(named or self._settings.space)
        space, key = self._opened_space(headers)
        if named not in (None, space):
            raise AccessDenied(f"this key does not open the space {named!r}")
        return Caller(space, key)

    def _opened_space(self, headers: Headers) -> tuple[str, str]:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            token = headers.get("x-api-key", "")  # of Anthropic's clients
        if not token:
            raise KeyUnknown(NO_KEY_SENT if self._keys else NO_KEY_IS_LEFT)
        # Digests of unguessable keys may be compared in any time.
        opened = self._keys.get(keys.digest(token.strip()))
        if opened is None:
            raise KeyUnknown("this key is unknown or was removed")
        return opened

    def _refresh(self) -> None:
        """Read the keys again, in the event loop: the table is small, and readers never wait.

        A memory that has had a key needs one, also after its last key was removed.
        """
        if time.monotonic() - self._read > REFRESH_S:
            self.read_keys()

    def read_keys(self) -> None:
        """Read the keys now."""
        self._keys = keys.spaces_by_digest(self._database)
        self._read = time.monotonic()
        self._closed = keys.is_closed(self._database) or not self._settings.loopback


class AccessMiddleware:
    """Puts the caller into ``scope["state"]["caller"]``, or refuses the request."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then pass it on."""
        if scope["type"] == "lifespan" or _is_open(scope):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            caller = self._access.caller(headers, scope.get("http_version", "1.1"))
        except TreeringError as error:
            await problems.error_response(error)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)


def caller_of(connection: HTTPConnection) -> Caller:
    """Return the caller of a request that has passed ``AccessMiddleware``."""
    caller: Caller = connection.state.caller
    return caller


def _is_open(scope: Scope) -> bool:
    path: str = scope.get("path", "")
    return path in OPEN_PATHS or path.startswith(OPEN_PREFIX)


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
            "with `treering serve key add --space NAME`, or serve with --behind-proxy if the proxy "
            "admits only you"
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
