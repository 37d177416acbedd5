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
from treering.views.memos.record import NOTO, Memo, MemoHit, shown

NONE_OF_THE_OTHERS: Final = f"{NOTO}. None of the others."

OPTION_TOKENS: Final = 1_024
"""Of all options together: half of the paper's window. Search narrows down what exceeds it."""

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
    """What a model chose: ``memos`` in option order, or None if the reply is not a choice."""

    memos: tuple[Memo, ...] | None
    usage: Usage = field(default_factory=Usage)
    writer: str = ""


def options(memos: Sequence[Memo], noto_at: int = 0) -> list[str]:
    """The options as the model sees them, NOTO at that place."""
    shown_options = [shown(memo.option)[:OPTION_CHARS] for memo in memos]
    shown_options.insert(noto_at, NONE_OF_THE_OTHERS)
    return shown_options


def fitting(llm: LLM, ranked: Sequence[Memo]) -> list[Memo]:
    """The first memos whose options fit together; at least one."""
    room = OPTION_TOKENS
    for taken, memo in enumerate(ranked):
        room -= llm.count_tokens(options([memo])[1])
        if room < 0 and taken:
            return list(ranked[:taken])
    return list(ranked)


def ask(
    llm: LLM,
    query: str,
    memos: Sequence[Memo],
    noto: NotoPlace = "first",
    temperature: float = 0.0,
) -> ModelChoice:
    """The memos among ``memos`` that the query is about, by the model. Raises LLMError."""
    # Drawn by the query: the same question meets the same options.
    noto_at = 0 if noto == "first" else random.Random(query).randint(0, len(memos))
    shown_options = options(memos, noto_at)
    prompt = choose_prompt(query, shown_options)
    reply = llm.complete(
        [Message("user", prompt)], max_tokens=REPLY_TOKENS, temperature=temperature
    )
    numbers = None if reply.finish_reason == "length" else read(reply.text, len(shown_options))
    by_number = dict(zip((n for n in range(1, len(memos) + 2) if n != noto_at + 1), memos,
                         strict=True))  # fmt: skip
    if numbers is not None and CHOSEN < len(memos) <= sum(n in by_number for n in numbers):
        # A reply that names every option chooses nothing. Models of 1.5 billion parameters do so.
        numbers = None
    chosen = None if numbers is None else tuple(by_number[n] for n in numbers if n in by_number)
    return ModelChoice(chosen, reply.usage, reply.model)


def choose_prompt(query: str, listed: Sequence[str]) -> str:
    """The prompt that asks which of the options, "None of the others" among them, a query means."""
    return load("memochat_choose").fill(
        count=str(len(listed)),
        query=shown(query[-QUERY_CHARS:]),
        options="\n".join(f"({n}) {option}" for n, option in enumerate(listed, 1)),
    )


def read(reply: str, count: int) -> tuple[int, ...] | None:
    """The option numbers in a reply, ascending. None if there are none or one is out of range."""
    match = _NUMBERS.search(reply)
    numbers = {int(number) for number in re.findall(r"\d+", match[0])} if match else set()
    if not numbers or not all(1 <= number <= count for number in numbers):
        return None
    return tuple(sorted(numbers))


def related(hits: Sequence[MemoHit]) -> list[Memo]:
    """The best hits that share a word or a meaning with the query, best first."""
    return [hit.memo for hit in hits if _about(hit)][:CHOSEN]


def _about(hit: MemoHit) -> bool:
    return (hit.why.bm25 or 0.0) > 0 or (hit.why.cosine or 0.0) >= LEAST_COSINE
