"""Peers by name; a package is imported when its peer is opened."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from treering.errors import UnknownName
from treering_bench.peers.contract import PeerFactory
from treering_bench.peers.lance import Lance
from treering_bench.peers.llama_index import LlamaIndex
from treering_bench.peers.mem_zero import Mem0

PEERS: Mapping[str, PeerFactory] = {
    "lancedb": Lance,
    "lancedb-hybrid": partial(Lance, hybrid=True),
    "llamaindex": LlamaIndex,
    "llamaindex-hybrid": partial(LlamaIndex, hybrid=True),
    "mem0": Mem0,
}


def peer(name: str) -> PeerFactory:
    """The peer called ``name``. Raises UnknownName."""
    if name not in PEERS:
        raise UnknownName(f"no peer {name!r}; there are {', '.join(PEERS)}")
    return PEERS[name]
