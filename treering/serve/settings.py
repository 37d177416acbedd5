"""The settings of a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from treering.embed.contract import Embedder
from treering.journal.ledger import UNLIMITED, Quota
from treering.llm.contract import LLM
from treering.memory import DEFAULT_SPACE

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 7373
"""No common server has this port by default."""

MAX_BYTES = 32 * 2**20
"""Bytes of a request, or of a model's reply through the proxy: a chat with images has megabytes."""

MAX_IMPORT_BYTES = 2**32
"""An import is read line by line, so its size costs no memory; this only stops a flood."""

MAX_REQUESTS = 512
"""Requests under way. Each waits for a thread in turn; a longer queue would not help."""

MAX_CONNECTIONS = 1_024
"""Open connections: twice the requests under way, because clients keep some open."""

HEADER_BYTES = 64 * 2**10
HEADER_S = 30.0
"""Bounds on the headers, which come before the key is known. Clients send some kilobytes in one
piece; a browser may also open a connection that it does not use."""

UNREAD_S = 30.0
"""A client that reads nothing of a reply for so long is disconnected."""

REQUESTS_PER_S = 200.0
BURST = 400
"""Requests of one key: far above an agent's use, too few to starve the other keys."""

RECALL_TOKENS = 1_000
"""Memories that the proxy adds to a chat: enough for some facts, a small part of a prompt."""

PATIENCE_S = 30.0
"""How long a repeated request waits for the reply of the first: less than the minute after which
most proxies give up, and enough for most models."""

REQUEST_LOG = "treering.requests"
"""The logger of requests; see ``log_requests``."""

STOP_WITHIN_S = 30
"""How long requests under way may take once the server stops."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """A server's file, address, models and limits.

    ``code_roots`` are the folders whose repositories clients may index and search; the server reads
    no other path that a client names. ``upstream`` is the OpenAI-compatible server to which the
    proxy passes chats, with ``upstream_key``, and ``recall_budget`` the tokens of memories that it
    adds to one. A repeated request waits ``patience_s`` for the reply of the first. The headers of
    a request may have ``header_bytes`` and take ``header_s``. A client that reads nothing of a
    reply for ``unread_s`` is disconnected. Requests and model replies may have ``max_bytes``: a
    longer reply is not remembered and, unless it is streamed, not passed on.
    While no request runs, pending work may cost ``settle_tokens`` a day.
    ``quota`` bounds each space. With ``log_requests`` each request has an id and a line of the log.
    """

    url: str | Path
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    space: str = DEFAULT_SPACE
    embedder: str | Embedder | None = None
    llm: str | LLM | None = None
    code_roots: tuple[Path, ...] = ()
    max_bytes: int = MAX_BYTES
    max_import_bytes: int = MAX_IMPORT_BYTES
    max_requests: int = MAX_REQUESTS
    max_connections: int = MAX_CONNECTIONS
    header_bytes: int = HEADER_BYTES
    header_s: float = HEADER_S
    unread_s: float = UNREAD_S
    requests_per_s: float = REQUESTS_PER_S
    burst: int = BURST
    upstream: str | None = None
    upstream_key: str | None = field(default=None, repr=False)
    recall_budget: int = RECALL_TOKENS
    patience_s: float = PATIENCE_S
    quota: Quota = UNLIMITED
    log_requests: bool = False
    issuer: str | None = None
    resource: str | None = None
    grants: tuple[str, ...] = ()
    settle_tokens: int = 0

    @property
    def loopback(self) -> bool:
        """Return whether only this machine can reach the server."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Return whether a host name means this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
