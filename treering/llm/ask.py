"""Answering from remembered passages: the prompt, and what the reply cites. No I/O.

messages = ask_messages(question, passages)
answer = read_answer(llm.complete(messages, ...), len(passages))
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from treering.errors import EmptyText
from treering.llm.contract import Message, Reply, Usage
from treering.llm.prompts import load

NOT_IN_MEMORY = "It is not in the memory."
"""What the prompt tells the model to say when the passages do not hold the answer."""

ANSWER_TOKENS = 300
"""The prompt asks for one or two sentences; the rest is room for long names and citations."""

PROMPT_TOKENS = 450
"""What the prompt costs beside the passages and the question: the rules and two examples."""

_CITED = re.compile(r"\[(\d{1,9}(?:\s*[,;]\s*\d{1,9})*)\]")
"""Numbers of more digits are of no passage, and Python reads none of thousands."""
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PromptPassage:
    """A piece of the memory as the model sees it: its text, where it is from, and its date."""

    text: str
    citation: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """A model's answer from numbered passages.

    ``citations`` are the numbers it cites, from 1, in order of first mention; ``dangling`` are
    numbers it cites that no passage has. ``found`` is false if it says that the memory does not
    hold the answer. An answer with ``found`` and no ``citations`` is not supported by anything.
    """

    text: str
    citations: tuple[int, ...]
    dangling: tuple[int, ...]
    found: bool
    usage: Usage
    model: str

    def __str__(self) -> str:
        return self.text


_EXAMPLE = (
    PromptPassage("Lena: Mr. Okafor keeps the keys.", "chat with Lena", "2024-01-02"),
    PromptPassage("Lena: He gave the keys to the porter today.", "chat with Lena", "2024-01-09"),
)
_EXCHANGES = (
    ("Who has the keys now?", "The porter has them now [2]."),
    ("What is the porter's name?", NOT_IN_MEMORY),
)
"""A model of 1.5 billion parameters cites from these, not from rules; what to do when no passage
holds the answer is said after the question, because it gets lost before."""


def ask_messages(question: str, passages: Sequence[PromptPassage]) -> list[Message]:
    """The prompt for ``question`` over ``passages``, numbered from 1 in the order given.

    Raises ``EmptyText`` without a question or without passages: there is nothing to ask then.
    """
    if not question.strip():
        raise EmptyText("the question is empty; ask something", param="question")
    if not passages:
        raise EmptyText("there is no passage to answer from; the memory found nothing")
    messages = [Message("system", load("ask").fill())]
    for example, reply in _EXCHANGES:
        messages += [_asked(example, _EXAMPLE), Message("assistant", reply)]
    return [*messages, _asked(question.strip(), passages)]


def printed(prompt: Literal["fragrel", "memtree"], question: str, passages: str) -> str:
    """FragRel's prompt 1, or MemTree's of A.2.2, which ask for no citations."""
    name = "fragrel_story" if prompt == "fragrel" else "memtree_answer"
    return load(name).fill(context=passages, input=question)


def read_answer(reply: Reply, passages: int) -> CitedAnswer:
    """What ``reply`` says and cites, where ``passages`` passages were shown.

    Numbers in code are indices, not citations.
    """
    prose = _CODE.sub(" ", reply.text)
    cited = dict.fromkeys(
        int(number) for group in _CITED.findall(prose) for number in re.findall(r"\d+", group)
    )
    return CitedAnswer(
        text=reply.text.strip(),
        citations=tuple(number for number in cited if 1 <= number <= passages),
        dangling=tuple(number for number in cited if not 1 <= number <= passages),
        found=NOT_IN_MEMORY.rstrip(".").casefold() not in prose.casefold(),
        usage=reply.usage,
        model=reply.model,
    )


def _asked(question: str, passages: Sequence[PromptPassage]) -> Message:
    numbered = "\n\n".join(_shown(n, passage) for n, passage in enumerate(passages, 1))
    return Message("user", load("ask_question").fill(passages=numbered, question=question))


def _shown(number: int, passage: PromptPassage) -> str:
    origin = f"{passage.citation}, {passage.date}" if passage.date else passage.citation
    return load("ask_passage").fill(
        number=str(number), origin=" ".join(origin.split()), text=passage.text.strip()
    )
