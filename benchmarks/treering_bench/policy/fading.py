"""Memories that fade: MemoryStream (Park et al. 2023) and MemoryBank (Zhong et al. 2024).

Both rank by cosine similarity and age. Questions of a benchmark are asked side by side, so none of
them refreshes what an earlier one recalled: recency counts from when a piece was said.
"""

from __future__ import annotations

import hashlib
import logging
import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from treering.llm.contract import LLM, Message
from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.policy.contract import Pick, RetrievalPolicy
from treering_bench.policy.fusing import ranked
from treering_bench.prompts import load
from treering_bench.space import ScoredPassage, TaskSpace
from treering_bench.task import TaskQuestion

log = logging.getLogger("treering")

HOURLY_DECAY = 0.995  # MemoryStream's recency, per hour
RETENTION_DAYS = 5.0  # MemoryBank's code: R = exp(-days / (5 · strength)), strength 1 at first
RATED = "memory-stream+rated"
Importance = Callable[[TaskSpace, Sequence[ScoredPassage]], NDArray[np.float64]]
_NUMBER = re.compile(r"\d+")
_SCALE = re.compile(r"\b1\s*(?:to|-|–)\s*10\b|(?:/|\bout of)\s*10\b")
_REPLY_TOKENS = 16  # a number, also one wrapped as JSON
_FAIL_SAFE = 4.0
"""The authors' code takes this for a rating that it cannot read."""

_NUMBER_ONLY = "Answer with one number from 1 to 10 and no other word."
"""Said where a reply begins with words: the paper's prompt is for models that complete."""
_HOUR_S, _DAY_S = 3600.0, 86_400.0


def memory_stream() -> RetrievalPolicy:
    """Recency + relevance, each scaled to [0, 1] over the memory, with equal weights.

    Without the paper's third term: equal for all pieces, importance drops out.
    """
    return RetrievalPolicy("memory-stream", _stream(lambda _, scored: np.zeros(len(scored))))


def memory_stream_rated(llm: LLM, seed: int) -> RetrievalPolicy:
    """With importance as the paper has it: a language model rates each piece once, 1 to 10.

    A piece for which it names no such number twice counts 4, as in the authors' code, with a
    warning.
    """

    def rate(scored: Sequence[ScoredPassage]) -> NDArray[np.float64]:
        ratings = [_rating(passage.embedded, llm, seed) for passage in scored]
        if unread := ratings.count(None):
            log.warning("%s: %d of %d ratings could not be read", RATED, unread, len(ratings))
        return np.array([_FAIL_SAFE if rating is None else rating for rating in ratings])

    def rated(space: TaskSpace, scored: Sequence[ScoredPassage]) -> NDArray[np.float64]:
        return space.once(RATED, lambda _: rate(scored))

    return RetrievalPolicy(RATED, _stream(rated))


def _stream(importance: Importance) -> Pick:
    def pick(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        everything = space.scored(question)
        now = question.at or space.now
        hours = [_age_s(scored, now) / _HOUR_S for scored in everything]
        recency = _scaled(np.power(HOURLY_DECAY, hours))
        relevance = _scaled(np.array([scored.cosine for scored in everything]))
        scores = recency + relevance + _scaled(importance(space, everything))
        return ranked(space, everything, scores)

    return pick


def _rating(text: str, llm: LLM, seed: int) -> float | None:
    """The rating in a reply without its scale; None if two replies have no number from 1 to 10."""
    prompt = load("memory_stream_importance").fill(memory=text)
    for asked in (prompt, f"{prompt} {_NUMBER_ONLY}"):
        reply = llm.complete(
            [Message("user", asked)], max_tokens=_REPLY_TOKENS, temperature=0.0, seed=seed
        )
        numbers = set(map(int, _NUMBER.findall(_SCALE.sub("", reply.text))))
        if len(numbers) == 1 and numbers <= set(range(1, 11)):
            return float(numbers.pop())
    return None


def memory_bank(seed: int) -> RetrievalPolicy:
    """Dense search over the pieces that are still remembered, each with probability R."""

    def pick(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        now = question.at or space.now
        remembered = [scored for scored in space.scored(question) if _retained(scored, now, seed)]
        return ranked(space, remembered, np.array([scored.cosine for scored in remembered]))

    return RetrievalPolicy("memory-bank", pick)


def _retained(scored: ScoredPassage, now: datetime | None, seed: int) -> bool:
    """Whether a piece is still remembered. It is drawn once for each piece, not each question."""
    retention = math.exp(-_age_s(scored, now) / _DAY_S / RETENTION_DAYS)
    passage = scored.passage
    drawn = hashlib.sha256(f"{seed}\0{passage.place}\0{passage.text}".encode()).digest()
    return int.from_bytes(drawn[:8], "big") / 2**64 < retention


def _age_s(scored: ScoredPassage, now: datetime | None) -> float:
    """Seconds since a piece was said; 0 where times are not known."""
    if now is None or scored.at is None:
        return 0.0
    return max(0.0, (now - scored.at).total_seconds())


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values scaled to [0, 1]; equal ones become 0."""
    span = np.ptp(values) if len(values) else 0.0
    return (values - values.min()) / span if span > 0 else np.zeros_like(values)
