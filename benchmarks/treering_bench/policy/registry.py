"""Policies by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treering.errors import InputError, UnknownName
from treering.llm.contract import LLM
from treering_bench.peers.registry import PEERS
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.policy.fading import (
    RATED,
    memory_bank,
    memory_stream,
    memory_stream_by_rarity,
    memory_stream_rated,
)
from treering_bench.policy.fusing import FUSING
from treering_bench.policy.peering import PREFIX as PEER_PREFIX
from treering_bench.policy.peering import peer_policy
from treering_bench.policy.persona import mpc
from treering_bench.policy.raptor import raptor
from treering_bench.policy.searching import (
    COMPRESSED_PREFIX,
    PARTIAL,
    PREFIX,
    SEARCHING,
    SUMMARISED,
    compressed_policy,
    draws_on_memos,
    with_relations,
)
from treering_bench.policy.unranked import UNRANKED

DEFAULT = "all"

GROUPS: Mapping[str, Sequence[str]] = {
    "ablation": (
        *("treering", "own", "dense+relations", "bm25+relations", "dense", "bm25"),
        *("with:default+time", "with:default+semantic", "with:default+session"),
        *("with:default+speaker", "with:default+tree"),
    ),
    "sweep:alpha": (
        "own",
        *(f"with:default@{alpha}" for alpha in (0.1, 0.2, 0.5, 1, 2, 3, 5)),
    ),
    "sweep:w": tuple(f"with:default(w={tenths / 10})" for tenths in range(1, 10)),
}
"""Policies that belong together: what each part gives, and FragRel's tables over α and w_rel.

An α of 0 is ``own``.
"""


def policies(
    names: Sequence[str], seed: int, rater: LLM | None = None, writer: LLM | None = None
) -> list[RetrievalPolicy]:
    """The policies called ``names``; ``all`` stands for treering and every built-in baseline.

    The names of ``GROUPS`` stand for their policies. With ``memory-stream+rated`` ``rater`` rates
    every piece once; ``writer`` is the model that the memory itself has, for memos.

    Raises:
        UnknownName: a name is neither known nor of the form ``with:RELATION…``,
            ``compressed@RATE`` or ``peer:NAME``.
        InputError: a policy that a model writes for, without one; or a rate that is none.
    """
    fading = memory_stream(), memory_stream_by_rarity(), memory_bank(seed)
    wholes = mpc(), raptor(), *UNRANKED
    built_in = {p.name: p for p in (*SEARCHING, *SUMMARISED, *FUSING, *fading, *wholes)}
    rated = (memory_stream_rated(rater, seed),) if rater else ()
    by_name = built_in | {p.name: p for p in (*PARTIAL, *rated)}
    chosen: dict[str, RetrievalPolicy] = {}
    for name in (member for given in names for member in GROUPS.get(given, [given])):
        if name == DEFAULT:
            chosen |= built_in
        elif name.startswith(PREFIX):
            if draws_on_memos(name) and writer is None:
                raise InputError(f"policy {name!r} needs memos; name a model with --summaries")
            chosen[name] = with_relations(name)
        elif name.startswith(COMPRESSED_PREFIX):
            chosen[name] = compressed_policy(name)
        elif name.startswith(PEER_PREFIX):
            chosen[name] = peer_policy(name)
        elif name in by_name:
            chosen[name] = by_name[name]
        elif name == RATED:
            raise InputError(f"policy {name!r} needs ratings; name a model with --summaries")
        else:
            there = ", ".join([DEFAULT, *by_name, *GROUPS])
            raise UnknownName(
                f"no policy {name!r}; there are {there}, with:context(w=0.3)@0.5+session, "
                f"{COMPRESSED_PREFIX}0.5, and {PEER_PREFIX}{'|'.join(PEERS)}"
            )
    return list(chosen.values())
