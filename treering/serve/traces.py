"""OpenTelemetry traces, only with a configured endpoint."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from treering import __version__
from treering.errors import MissingExtra

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""OpenTelemetry's variables for the address of traces; without them no trace is sent."""


class Traces:
    """Spans of the calls of requests; they need a provider."""

    def __init__(self, provider: TracerProvider | None) -> None:
        self.provider = provider
        self._tracer = provider.get_tracer("treering", __version__) if provider else None

    def span(self, name: str) -> AbstractContextManager[object]:
        """Return a span around a call, below the span of its request."""
        if self._tracer is None:
            return nullcontext()
        return self._tracer.start_as_current_span(name)

    def close(self) -> None:
        """Send the remaining spans."""
        if self.provider is not None:
            self.provider.shutdown()


def from_environment() -> Traces:
    """Return traces to the endpoint of the environment, or none. Raise MissingExtra."""
    if not any(os.environ.get(name) for name in ENDPOINTS):
        return Traces(None)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as missing:
        raise MissingExtra.of(missing.name or "opentelemetry", "otel") from missing
    named = Resource.create({SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME", "treering")})
    provider = TracerProvider(resource=named)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Traces(provider)
