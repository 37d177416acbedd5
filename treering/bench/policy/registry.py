"""Policies by name."""

from __future__ import annotations

from collections.abc import Sequence

from treering.bench.peers.registry import PEERS
from treering.bench.policy.contract import Policy
from treering.bench.policy.fading import memory_bank, memory_stream
from treering.bench.policy.fusing import FUSING
from treering.bench.policy.peering import PREFIX as PEER_PREFIX
from treering.bench.policy.peering import peer_policy
from treering.bench.policy.persona import mpc
from treering.bench.policy.raptor import raptor
from treering.bench.policy.searching import SEARCHING, with_relations
from treering.bench.policy.unranked import UNRANKED
from treering.errors import UnknownName

DEFAULT = "all"
PREFIX = "with:"


def policies(names: Sequence[str], seed: int) -> list[Policy]:
    """The policies called ``names``; ``all`` stands for treering and every built-in baseline.

    Raises:
        UnknownName: a name is neither known nor of the form ``with:RELATION…`` or ``peer:NAME``.
    """
    fading = memory_stream(), memory_bank(seed)
    known = {p.name: p for p in (*SEARCHING, *FUSING, *fading, mpc(), raptor(), *UNRANKED)}
    chosen: dict[str, Policy] = {}
    for name in names:
        if name == DEFAULT:
            chosen |= known
        elif name.startswith(PREFIX):
            chosen[name] = with_relations(name)
        elif name.startswith(PEER_PREFIX):
            chosen[name] = peer_policy(name)
        elif name in known:
            chosen[name] = known[name]
        else:
            there = ", ".join([DEFAULT, *known])
            raise UnknownName(
                f"no policy {name!r}; there are {there}, with:context(w=0.3)@0.5+session, "
                f"and {PEER_PREFIX}{'|'.join(PEERS)}"
            )
    return list(chosen.values())
