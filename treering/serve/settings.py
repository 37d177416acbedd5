"""What a server is started with."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from treering.embed.contract import Embedder
from treering.llm.contract import LLM
from treering.memory import DEFAULT_SPACE

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 7373
"""Not one of the ports that other servers take by default."""

MAX_BODY_BYTES = 4 * 2**20
"""A book of a million words has 6 MB: what is longer comes in parts, or as an import."""

MAX_REPLY_BYTES = 64 * 2**20
"""Of a reply through the proxy: a hundred times what models write, with all that is around it."""

MAX_IMPORT_BYTES = 2**32
"""An import is read line by line, so that its size costs no memory; this only stops a flood."""

MAX_REQUESTS = 512
"""Requests under way at once. Each waits for a thread in turn; beyond this, waiting is no help."""

MAX_CONNECTIONS = 1_024
"""Open connections: twice the requests that may be under way, as clients keep some open."""

HEADER_BYTES = 64 * 2**10
HEADER_S = 30.0
"""What comes of a request before its key can be known. Browsers and clients send a few kilobytes,
at once; a browser may also open a connection that it does not use."""

UNREAD_S = 30.0
"""How long a client may read nothing at all of a reply that is on its way."""

REQUESTS_PER_S = 200.0
BURST = 400
"""What one key may ask for: far above an agent's use, below what would starve the other keys."""

RECALL_TOKENS = 1_000
"""Memories that the proxy adds to a chat: enough for some facts, a small part of any prompt."""

PATIENCE_S = 30.0
"""How long a request waits for the reply of the same one, sent before: less than the minute after
which most proxies give up, and enough for most models."""

STOP_WITHIN_S = 30
"""How long requests under way may take once the server was told to stop."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """A server's file, address, models and limits.

    ``code_roots`` are the folders whose repositories may be indexed and searched over the network;
    no other path that a client names is ever read. ``upstream`` is the OpenAI-compatible server
    that the proxy passes chats on to, with ``upstream_key``; ``recall_budget`` is how many tokens
    of memories it adds to one, 0 for none. A request that is sent again while it is
    still being done waits ``patience_s`` for its reply. The headers of a request may have
    ``header_bytes`` and take ``header_s`` seconds; a client that reads nothing of a reply for
    ``unread_s`` seconds is given up on. A reply through the proxy that has more than
    ``max_reply_bytes`` is not remembered and, unless it is streamed, not passed on. With
    ``behind_proxy`` a server without keys also answers what a reverse proxy passes on, which then
    decides who may ask.
    """

    url: str | Path
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    space: str = DEFAULT_SPACE
    embedder: str | Embedder | None = None
    llm: str | LLM | None = None
    code_roots: tuple[Path, ...] = ()
    max_body_bytes: int = MAX_BODY_BYTES
    max_import_bytes: int = MAX_IMPORT_BYTES
    max_reply_bytes: int = MAX_REPLY_BYTES
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
    behind_proxy: bool = False

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host name means this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
