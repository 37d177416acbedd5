"""A language model as a reranker: it grades the best hits in one call."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from treering.llm.contract import LLM, Reply
from treering.llm.prompts import load
from treering.llm.structured import ask_structured

TEXT_CHARS: Final = 600  # of a text that is shown: fifty take some 8,000 tokens
REPLY_TOKENS: Final = 1_500
MOST: Final = 10


@dataclass(frozen=True, slots=True)
class Grade:
    """How well a text answers the question, 0 to 10."""

    text: int
    grade: int


class LLMReranker:
    """Grades all texts of a question in one call; a text that the model leaves out has grade 0."""

    def __init__(self, llm: LLM, on_reply: Callable[[Reply], object]) -> None:
        self._llm = llm
        self._on_reply = on_reply

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """The grade of each text. Raises LLMError."""

        def check(grades: list[Grade]) -> None:
            for one in grades:
                if not (1 <= one.text <= len(texts) and 0 <= one.grade <= MOST):
                    raise ValueError(f"text {one.text} with grade {one.grade}")

        lines = (
            json.dumps({"text": n, "says": text[:TEXT_CHARS]}, ensure_ascii=False)
            for n, text in enumerate(texts, start=1)
        )
        prompt = load("rerank").fill(question=query, texts="\n".join(lines))
        graded = ask_structured(
            self._llm,
            prompt,
            list[Grade],
            max_tokens=REPLY_TOKENS,
            check=check,
            on_reply=self._on_reply,
        )
        grades = {one.text: one.grade for one in graded}
        return [float(grades.get(n, 0)) for n in range(1, len(texts) + 1)]
