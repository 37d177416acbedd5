"""Choosing memos (MemoChat, table 7): a model answers ``N#M`` to numbered options. No database."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from treering.llm.contract import LLM, Message, Usage
from treering.llm.prompts import load
from treering.views.choices import NotoPlace
from treering.views.memos.record import NOTO, Memo, MemoHit, one_line

NONE_OF_THE_OTHERS: Final = f"{NOTO}. None of the others."

OPTION_TOKENS: Final = 1_024
"""Of all options together: half of the paper's window. Search narrows down more options."""

OPTION_CHARS: Final = 400
"""Of one option; a summary has two or three sentences."""

QUERY_CHARS: Final = 2_000
"""Of a query. Its end is used, which holds the last turn and the new one."""

REPLY_TOKENS: Final = 32

MOST_RANKED: Final = 50
"""Memos that search ranks for a choice. Fewer than these fit as options."""

CHOSEN: Final = 3
"""Memos that search chooses: about as many as the paper's answers hold (1.4 on average, 5 at
most)."""

LEAST_COSINE: Final = 0.15
"""Below it, and without a word in common, a memo is not about the query at all. On the retrieval
rows of MemoChat's test set 0.15 gives an F1 of 0.74, 0.2 of 0.73 and 0.3 of 0.64."""

_NUMBERS: Final = re.compile(r"\d{1,9}(?:\s*[#,]\s*\d{1,9})*")
"""Options have numbers of few digits; Python reads none of thousands."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model's choice: ``memos`` in option order, or None if the reply is not a choice."""

    memos: tuple[Memo, ...] | None = None
    usage: Usage = field(default_factory=Usage)
    writer: str = ""


def ask(
    llm: LLM,
    query: str,
    memos: Sequence[Memo],
    noto: NotoPlace = "first",
    temperature: float = 0.0,
) -> ModelChoice:
    """Let the model choose the memos that the query is about. Raises LLMError."""
    # Drawn by the query: the same question meets the same options.
    noto_at = 0 if noto == "first" else random.Random(query).randint(0, len(memos))
    options = [_option(memo) for memo in memos]
    options.insert(noto_at, NONE_OF_THE_OTHERS)
    prompt = choose_prompt(query, options)
    reply = llm.complete(
        [Message("user", prompt)], max_tokens=REPLY_TOKENS, temperature=temperature
    )
    numbers = None if reply.finish_reason == "length" else read_numbers(reply.text, len(options))
    if numbers is None:
        return ModelChoice(None, reply.usage, reply.model)
    choosable = [*memos[:noto_at], None, *memos[noto_at:]]
    chosen = tuple(memo for n in numbers if (memo := choosable[n - 1]) is not None)
    # A reply that names every option chooses nothing. Models of 1.5 billion parameters do so.
    names_all = CHOSEN < len(memos) == len(chosen)
    return ModelChoice(None if names_all else chosen, reply.usage, reply.model)


def fitting_options(llm: LLM, ranked: Sequence[Memo]) -> list[Memo]:
    """The first memos whose options fit together; at least one."""
    room = OPTION_TOKENS
    for place, memo in enumerate(ranked):
        room -= llm.count_tokens(_option(memo))
        if room < 0 and place:
            return list(ranked[:place])
    return list(ranked)


def choose_prompt(query: str, options: Sequence[str]) -> str:
    """Return the prompt that asks which options, "None of the others" among them, a query means."""
    return load("memochat_choose").fill(
        count=str(len(options)),
        query=one_line(query[-QUERY_CHARS:]),
        options="\n".join(f"({n}) {option}" for n, option in enumerate(options, 1)),
    )


def read_numbers(reply: str, count: int) -> tuple[int, ...] | None:
    """The option numbers in a reply, ascending. None without numbers, or if one is out of range."""
    match = _NUMBERS.search(reply)
    numbers = {int(number) for number in re.findall(r"\d+", match[0])} if match else set()
    if not numbers or not all(1 <= number <= count for number in numbers):
        return None
    return tuple(sorted(numbers))


def related_memos(hits: Sequence[MemoHit]) -> list[Memo]:
    """The best hits that share a word or a meaning with the query, best first."""
    return [
        hit.memo
        for hit in hits
        if (hit.why.bm25 or 0.0) > 0 or (hit.why.cosine or 0.0) >= LEAST_COSINE
    ][:CHOSEN]


def _option(memo: Memo) -> str:
    return one_line(memo.option)[:OPTION_CHARS]
