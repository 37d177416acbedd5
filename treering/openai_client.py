"""The HTTP client of endpoints that embed, rerank and answer (extra ``llm``)."""

from __future__ import annotations

from urllib.parse import urlsplit

from treering.errors import MissingExtra

try:
    import openai
except ModuleNotFoundError as missing:
    raise MissingExtra.of(missing.name or "openai", "llm") from missing

OPENAI_HOST = "api.openai.com"

_NO_KEY = "no-key"
"""Sent where none is configured: without a key the client would take OPENAI_API_KEY."""


def open_client(
    base_url: str, key: str | None, *, timeout_s: float, retries: int, trust_proxies: bool = True
) -> openai.OpenAI:
    """Open a client for an address.

    It retries rate limits, server errors, time-outs and lost connections, waiting as long as the
    server asks or else exponentially.
    """
    client = openai.OpenAI(
        base_url=base_url,
        api_key=key or _NO_KEY,
        max_retries=retries,
        # A redirect could send texts to another host than the one that was configured.
        http_client=openai.DefaultHttpx2Client(
            timeout=timeout_s, trust_env=trust_proxies, follow_redirects=False
        ),
    )
    if urlsplit(base_url).hostname != OPENAI_HOST:
        # Taken from OPENAI_ORG_ID and OPENAI_PROJECT_ID, which are for OpenAI alone.
        client.organization = client.project = None
    return client
