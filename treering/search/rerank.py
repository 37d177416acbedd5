"""Rerankers: models that read a question together with each of the best hits, and reorder them.

treering bundles none: good ones are large, and small ones lose to the scores of a search.
``fastembed:MODEL`` is a local cross-encoder, ``http://…/rerank`` a server, ``llm`` the memory's
language model. Packages add others by an entry point, programs pass objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Final, Protocol

from treering.errors import InputError, UnknownName
from treering.llm.account import ModelAccount
from treering.plugins import plugins
from treering.records import Hit
from treering.text import with_speaker

GROUP: Final = "treering.rerankers"
"""The entry point group: functions without arguments that return a ``Reranker``."""

LOOKED_AT: Final = 50  # best hits that are reranked, or k if that is more

TERM: Final = "rerank"  # in ``hit.why``, and the whole of the score


class Reranker(Protocol):
    """A model that scores how well texts answer a question."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a number for each text, higher for a better one; a turn has its speaker."""
        ...


def open_reranker(chosen: str | Reranker, account: ModelAccount) -> Reranker:
    """Return the reranker of that name, or the object; ``account`` has the language model.

    Raises InputError, UnknownName, MissingExtra, EmbeddingError, LLMNotConfigured.
    """
    if not isinstance(chosen, str):
        if not hasattr(chosen, "scores"):
            raise InputError(f"reranker {chosen!r} has no scores(); see Reranker", param="rerank")
        return chosen
    if chosen == "llm":
        from treering.llm.rerank import LLMReranker

        return LLMReranker(account.llm(), partial(account.pay, "rerank"))
    if chosen.startswith(("http://", "https://")):
        from treering.embed.openai_compatible import ServerReranker

        return ServerReranker(chosen)
    if chosen.startswith("fastembed:"):
        from treering.embed.fastembed import FastEmbedReranker

        return FastEmbedReranker(chosen.removeprefix("fastembed:"))
    points = plugins(GROUP)
    if chosen not in points.names:
        there = ", ".join(sorted(points.names)) or "none is installed"
        raise UnknownName(
            f"no reranker {chosen!r}; give fastembed:MODEL, http://HOST/rerank, llm or one of a "
            f"package: {there}",
            param="rerank",
        )
    reranker: Reranker = points[chosen].load()()
    return reranker


def rerank_hits(reranker: Reranker, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
    """Return the k hits that a reranker scores best, with its scores, best first.

    Raises InputError if it does not give a number for each.
    """
    if not hits:
        return []
    texts = [with_speaker(hit.text, hit.speaker) for hit in hits]
    scores = [float(score) for score in reranker.scores(query, texts)]
    if len(scores) != len(hits) or not all(map(isfinite, scores)):
        raise InputError(
            f"the reranker {type(reranker).__name__} gave {len(scores)} scores for {len(hits)} "
            "texts; it must give a finite number for each"
        )
    rescored = [
        replace(hit, score=score, why=replace(hit.why, terms={TERM: score}))
        for hit, score in zip(hits, scores, strict=True)
    ]
    return sorted(rescored, key=lambda hit: -hit.score)[:k]
