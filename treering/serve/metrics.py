"""Metrics for Prometheus: requests and their times, batches, the process."""

from __future__ import annotations

import time
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.process_collector import ProcessCollector
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
            "Searches done in one pass.",
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
    """Counts and times every request; it is outermost, so it counts refused ones, too."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count its status and time."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500  # of an application that fails before it answers

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
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
            self._metrics.seconds.labels(method, route).observe(time.perf_counter() - began)


def _route(scope: Scope) -> str:
    """The pattern of the route that answered."""
    route = scope.get("route")
    if isinstance(route, Mount):
        return str(scope.get("root_path") or "/")
    return str(getattr(route, "path_format", None) or OTHER)
