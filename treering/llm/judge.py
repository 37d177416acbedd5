"""The rating of a chat reply by a model (FragRel, prompt 4): the prompt, and reading the rating."""

from __future__ import annotations

import re

from treering.errors import LLMReplyError
from treering.llm.contract import Message
from treering.llm.prompts import load

LOWEST, HIGHEST = 1, 100

_RATING = re.compile(r"\[\[\s*(\d{1,3})\s*\]\]")


def judge_messages(history: str, question: str, response: str) -> list[Message]:
    """The prompt that asks whether ``response`` is faithful to ``history``."""
    prompt = load("fragrel_judge").fill(history=history, question=question, response=response)
    return [Message("user", prompt)]


def read_rating(verdict: str) -> int:
    """The rating, 1 to 100, at the end of a judge's reply.

    The last one counts: the explanation before it may quote another. Raises ``LLMReplyError``.
    """
    ratings = [int(rating) for rating in _RATING.findall(verdict)]
    if not ratings or not LOWEST <= ratings[-1] <= HIGHEST:
        raise LLMReplyError(
            f"the judge gave no rating from [[{LOWEST}]] to [[{HIGHEST}]]: {verdict[-200:]!r}"
        )
    return ratings[-1]
