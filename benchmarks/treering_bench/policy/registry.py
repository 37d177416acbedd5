"""Policies by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from treering.chat.policies import POLICIES as CHAT_POLICIES
from treering.errors import InputError, UnknownName
from treering.llm.contract import LLM
from treering.search.relations.registry import BUILT_IN
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.policy.fading import (
    RATED,
    memory_bank,
    memory_stream,
    memory_stream_rated,
)
from treering_bench.policy.fusing import FUSING
from treering_bench.policy.persona import mpc
from treering_bench.policy.raptor import raptor
from treering_bench.policy.searching import (
    PARTIAL,
    PREFIX,
    SEARCHING,
    SUMMARISED,
    chat_policy,
    draws_on_memos,
    traversal,
    with_relations,
)
from treering_bench.policy.unranked import UNRANKED

DEFAULT: Final = "all"

_TENTHS: Final = tuple(tenths / 10 for tenths in range(1, 10))
GROUPS: Final[Mapping[str, Sequence[str]]] = {
    "ablation": (
        *("treering", "own", "dense+relations", "bm25+relations", "dense", "bm25"),
        *(f"with:default+{name}" for name in BUILT_IN),
        "with:default+tree",
    ),
    "sweep:alpha": ("dense", *(f"with:context(w=0.3)@{alpha}" for alpha in _TENTHS)),
    "sweep:w": ("dense", *(f"with:context(w={w})@0.5" for w in _TENTHS)),
}
"""Policies that belong together: ablations, and FragRel's table 5 over α and w_rel."""

_SPELLED: Final[Mapping[str, Callable[[str], RetrievalPolicy]]] = {
    PREFIX: with_relations,
    "chat:": chat_policy,
    "tree-traversal@": traversal,
}


def policies(
    names: Sequence[str], seed: int, rater: LLM | None = None, writer: LLM | None = None
) -> list[RetrievalPolicy]:
    """The policies called ``names``; ``all`` stands for treering and every built-in baseline.

    The names of ``GROUPS`` stand for their policies. With ``memory-stream+rated`` ``rater`` rates
    every piece once; ``writer`` is the model that the memory itself has, for memos.

    Raises:
        UnknownName: a name is neither known nor spelled as one of ``_SPELLED``.
        InputError: a policy that a model writes for, without one; or a wrong value in a name.
    """
    others = memory_stream(), memory_bank(seed), mpc(), raptor(), *UNRANKED
    built_in = {p.name: p for p in (*SEARCHING, *SUMMARISED, *FUSING, *others)}
    rated = (memory_stream_rated(rater, seed),) if rater else ()
    by_name: dict[str, RetrievalPolicy] = {p.name: p for p in (*PARTIAL, *rated)} | built_in

    def named(name: str) -> RetrievalPolicy:
        if name in by_name:
            return by_name[name]
        if draws_on_memos(name) and writer is None:
            raise InputError(f"policy {name!r} needs memos; name a model with --summaries")
        if name == RATED:
            raise InputError(f"policy {name!r} needs ratings; name a model with --summaries")
        for prefix, make in _SPELLED.items():
            if name.startswith(prefix):
                return make(name)
        there = ", ".join([DEFAULT, *by_name, *GROUPS])
        raise UnknownName(
            f"no policy {name!r}; there are {there}, with:context(w=0.3)@0.5+session, "
            f"tree-traversal@3, chat:{'|'.join(CHAT_POLICIES)}"
        )

    chosen: dict[str, RetrievalPolicy] = {}
    for name in (member for given in names for member in GROUPS.get(given, [given])):
        chosen |= built_in if name == DEFAULT else {name: named(name)}
    return list(chosen.values())
