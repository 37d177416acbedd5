"""Metrics for Prometheus: requests and their times, batches, the process; the request log."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.process_collector import ProcessCollector
from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treering.serve.roles import Caller
from treering.serve.settings import REQUEST_LOG

log = logging.getLogger(REQUEST_LOG)

REQUEST_ID = "x-request-id"
_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
"""An id of a client or a proxy that is taken over; another one is replaced."""

OTHER = "other"
"""The label of values that clients choose, such as unknown paths: labels must stay few."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE"})
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
BATCHES = (1, 2, 4, 8, 16, 32, 64)

MEMORY = {
    "bytes": "Size of the memory's file or schema.",
    "spaces": "Spaces.",
    "entries": "Entries of all spaces.",
    "pending": "Queued pieces of work of all spaces.",
    "last_added_seconds": "When the newest entry was added, since 1970.",
    "settle_tokens_today": "Tokens that work while no request ran has cost today.",
    "settle_tokens_limit": "The most of these a day; 0 without --settle.",
    "largest_space_entries": "Entries of the space that has most.",
    "largest_space_bytes": "Bytes of texts and metadata of the space that has most.",
    "quota_entries": "Entries that each space may hold; 0 for any number.",
    "quota_bytes": "Bytes of texts and metadata that each space may hold; 0 for any number.",
}
"""Figures of the whole memory, for callers without a key."""


class Metrics:
    """The metrics of one server; another server in the same process has its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self.requests = Counter(
            "treering_http_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "treering_http_request_seconds",
            "Time until a request was answered in full.",
            ("method", "route"),
            buckets=SECONDS,
            registry=self._registry,
        )
        self.under_way = Gauge(
            "treering_http_requests_under_way", "Requests under way.", registry=self._registry
        )
        self.added = Counter(
            "treering_entries_added", "Entries added over HTTP.", registry=self._registry
        )
        self.batches = Histogram(
            "treering_search_batch_size",
            "Searches embedded together.",
            buckets=BATCHES,
            registry=self._registry,
        )
        self._memory_registry = CollectorRegistry()
        self._memory = {
            name: Gauge(f"treering_{name}", help_, registry=self._memory_registry)
            for name, help_ in MEMORY.items()
        }

    def text(self, memory: Mapping[str, float] | None) -> tuple[bytes, str]:
        """Return all figures in Prometheus' format, and its media type.

        ``memory`` are those by the names of ``MEMORY``; None leaves them out.
        """
        text = generate_latest(self._registry)
        if memory is not None:
            for name, value in memory.items():
                self._memory[name].set(value)
            text += generate_latest(self._memory_registry)
        return text, CONTENT_TYPE_LATEST


class MetricsMiddleware:
    """Counts and times every request; it is outermost, so it counts refused ones, too.

    With ``logs`` each request has an id, which its reply and its line of the log name.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, logs: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._logs = logs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count its status and time."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500  # of an application that fails before it answers
        sent = Headers(scope=scope).get(REQUEST_ID, "")
        name = sent if _ID.fullmatch(sent) else secrets.token_hex(8)

        async def watch(message: Message) -> None:
            nonlocal status, name
            if message["type"] == "http.response.start":
                status = message["status"]
                if self._logs:  # the proxy passes on the id of the model server
                    name = MutableHeaders(scope=message).setdefault(REQUEST_ID, name)
            await send(message)

        began = time.perf_counter()
        self._metrics.under_way.inc()
        try:
            await self._app(scope, receive, watch)
        finally:
            self._metrics.under_way.dec()
            method = scope["method"] if scope["method"] in METHODS else OTHER
            route = _route(scope)
            self._metrics.requests.labels(method, route, status).inc()
            took = time.perf_counter() - began
            self._metrics.seconds.labels(method, route).observe(took)
            if self._logs:
                caller: Caller | None = scope.get("state", {}).get("caller")
                space = f" space={caller.space!r}" if caller else ""
                log.info("%s %s%s %d %.0f ms id=%s", method, route, space, status, took * 1e3, name)


def _route(scope: Scope) -> str:
    """Return the pattern of the route that answered, or of the first for the path."""
    routes = (route for route in scope["app"].routes if isinstance(route, Route))
    here = (route for route in routes if route.path_regex.match(scope["path"]))
    route = scope.get("route") or next(here, None)
    return str(getattr(route, "path_format", None) or OTHER)
