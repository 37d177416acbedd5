"""Requests to a treering server: sent again while it is busy, its problems raised as errors.

A request is sent again if the server answers that it is busy. After a broken connection the caller
decides, because the server may have done it. Adding the same texts twice changes nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from http import HTTPStatus
from typing import Any, TypeVar
from uuid import uuid4

from treering import errors
from treering.errors import MissingExtra, ServerError, ServerUnavailable, TreeringError
from treering.hints import Hint
from treering.http import EventReader, ServerEvent, retry_after_s

try:
    import httpx2
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import to_json
except ModuleNotFoundError as missing:
    raise MissingExtra.of(missing.name or "httpx2", "client") from missing

T = TypeVar("T")
Fields = Mapping[str, Any]

API_KEY = "TREERING_API_KEY"
"""The environment variable of the default key."""

JSON = {"Content-Type": "application/json"}
IDEMPOTENCY_KEY = "Idempotency-Key"

ATTEMPTS = 4
FIRST_WAIT_S = 0.5  # before the second attempt, then twice as long each time
MAX_WAIT_S = 10.0
"""The longest Retry-After; a server that needs longer is reported as unavailable."""

TIMEOUT = httpx2.Timeout(10.0, read=600.0)
"""A language model on a CPU may take minutes for a reply; connecting takes seconds or fails."""

_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


class Connection:
    """A server and a space. Safe to use from many threads."""

    def __init__(
        self,
        url: str,
        space: str | None,
        api_key: str | None,
        transport: httpx2.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._space = space
        self._pause = pause
        self._client = httpx2.Client(
            base_url=f"{self.url}/v1",
            headers={} if api_key is None else {"Authorization": f"Bearer {api_key}"},
            timeout=TIMEOUT,
            transport=transport,
        )

    def of_space(self, space: str) -> Connection:
        """Return the connection to another space of the server, over the same sockets."""
        connection = copy(self)
        connection._space = space
        return connection

    def get(self, kind: type[T], path: str, params: Fields | None = None) -> T:
        """Request a route, and return its answer as a ``kind``."""
        return self._read(kind, self._send("GET", path, params=_given(params)))

    def send(
        self,
        kind: type[T],
        method: str,
        path: str,
        body: Fields | None = None,
        *,
        once: bool = False,
    ) -> T:
        """Send a body to a route, and return its answer as a ``kind``.

        ``once``: with an idempotency key, which all attempts share: a server that stops answers
        that it is busy, and may have done the request.

        Raise InputError for a body that is not valid JSON.
        """
        headers = JSON | {IDEMPOTENCY_KEY: uuid4().hex} if once else JSON
        return self._read(kind, self._send(method, path, content=_to_json(body), headers=headers))

    def lines(self, path: str) -> Iterator[str]:
        """The lines of a reply as they arrive, without line ends."""
        with self._stream("GET", path) as response:
            yield from _lines(response)

    def upload(
        self, kind: type[T], path: str, lines: Iterable[str], options: Mapping[str, bool]
    ) -> T:
        """Send lines to a route, without a retry: the lines may be readable only once."""
        self._ensure_open()
        content = (f"{line}\n".encode() for line in lines)
        with _translate_errors(self.url):
            response = self._client.post(
                path, content=content, params=dict(options), headers=self._headers({})
            )
        return self._read(kind, _raise_problem(response))

    def events(self, path: str, body: Fields) -> Generator[ServerEvent, None, None]:
        """Server-sent events as they arrive."""
        reader = EventReader()
        with self._stream("POST", path, content=_to_json(body)) as response:
            for chunk in response.iter_bytes():
                yield from reader.feed(chunk)

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        self._client.close()

    def _send(
        self, method: str, path: str, *, headers: Mapping[str, str] = JSON, **options: Any
    ) -> httpx2.Response:
        self._ensure_open()
        for attempt in range(ATTEMPTS):
            with _translate_errors(self.url):
                response = self._client.request(
                    method, path, headers=self._headers(headers), **options
                )
            wait = _wait(response, attempt)
            if response.status_code not in _BUSY or wait is None:
                break
            self._pause(wait)
        return _raise_problem(response)

    @contextmanager
    def _stream(self, method: str, path: str, **options: Any) -> Iterator[httpx2.Response]:
        self._ensure_open()
        with (
            _translate_errors(self.url),
            self._client.stream(method, path, headers=self._headers(JSON), **options) as response,
        ):
            if response.is_error:
                response.read()
            yield _raise_problem(response)

    def _headers(self, headers: Mapping[str, str]) -> httpx2.Headers:
        named = {} if self._space is None else {"X-Treering-Space": self._space}
        return httpx2.Headers({**named, **headers}, encoding="utf-8")

    def _ensure_open(self) -> None:
        if self._client.is_closed:
            raise ServerError("this memory is closed; open it again")

    def _read(self, kind: type[T], response: httpx2.Response) -> T:
        try:
            return _adapter(kind).validate_json(response.content or b"null")
        except ValidationError as error:
            raise ServerError(
                f"{self.url} answered in another form than expected ({error.error_count()} "
                "differences); are client and server of the same version?"
            ) from error


def error_of(status: int, body: bytes) -> TreeringError:
    """Return the error of a problem document, or of another body with that status."""
    try:
        problem = json.loads(body)
        detail = str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        problem, detail = {}, f"the server answered with status {status}"
    kind = errors.BY_CODE.get(problem.get("code", ""))
    if kind is None:  # such as of a proxy in between, or of an id with a slash
        if status == HTTPStatus.NOT_FOUND:
            return errors.UnknownName(detail)
        return (ServerUnavailable if status in _BUSY else ServerError)(detail)
    known = problem.get("hint") in set(Hint)  # a newer server may have others
    return kind(
        str(problem["message"] if known else detail),
        hint=Hint(problem["hint"]) if known else None,
        param=problem.get("param"),
        values=problem.get("values"),
    )


def parse_json(kind: type[T], data: bytes) -> T:
    """Return JSON as a value of that type."""
    return _adapter(kind).validate_json(data)


def _lines(response: httpx2.Response) -> Iterator[str]:
    """Yield lines as they arrive.

    Only a line feed ends one; ``iter_lines`` would also cut at U+2028 and others in texts.
    """
    rest = b""
    for piece in response.iter_bytes():
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.decode() for line in whole)


def _raise_problem(response: httpx2.Response) -> httpx2.Response:
    if response.is_success:
        return response
    raise error_of(response.status_code, response.content)


def _wait(response: httpx2.Response, attempt: int) -> float | None:
    """Return the seconds before the next attempt; None to give up."""
    if attempt + 1 == ATTEMPTS:
        return None
    asked = retry_after_s(response.headers.get("retry-after"))
    wait = FIRST_WAIT_S * 2**attempt if asked is None else asked
    return wait if wait <= MAX_WAIT_S else None


@contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    try:
        yield
    except httpx2.TransportError as error:
        raise ServerUnavailable(f"{url} cannot be reached or broke off: {error}") from error
    except (httpx2.InvalidURL, UnicodeEncodeError) as error:
        raise errors.InputError(f"{url}: {error}") from error


def _given(params: Fields | None) -> dict[str, Any]:
    """Return the parameters of an address that are not None, in their JSON form."""
    plain = json.loads(_to_json(params) or b"{}")
    return {
        key: json.dumps(value) if isinstance(value, dict) else value
        for key, value in plain.items()
        if value is not None
    }


def _to_json(body: Fields | None) -> bytes | None:
    try:
        return None if body is None else to_json(body)
    except (ValueError, UnicodeEncodeError) as error:
        raise errors.InputError(f"this cannot be sent as JSON: {error}") from error


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return the cached parser of a type: building one takes far longer than using it."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}
