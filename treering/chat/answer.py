"""Answers from a memory: the prompt, its citations, and the call that is paid for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from treering.chat.policy import Evidence
from treering.chat.prompt import printed_prompt
from treering.errors import InputError
from treering.llm.account import ModelAccount
from treering.llm.contract import LLM, Message, Usage
from treering.llm.prompts import load
from treering.records import Context, Passage
from treering.search.context import Budget, CountTokens
from treering.views.choices import PromptName, SpaceSettings

NOT_IN_MEMORY: Final = "It is not in the memory."
"""The reply that the prompt asks for when the passages do not hold the answer."""

ANSWER_TOKENS: Final = 300
"""The prompt asks for one or two sentences; the rest is room for long names and citations."""

PROMPT_TOKENS: Final = 450
"""Of the prompt without passages and question: the rules and two examples."""

_CITED: Final = re.compile(r"\[(\d{1,9}(?:\s*[,;]\s*\d{1,9})*)\]")
"""Numbers of more digits are of no passage, and Python reads none of thousands."""
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply of a model, the context that the model was shown, and the cost.

    ``ask`` sets ``citations``, ``context``, ``found`` and ``dangling``. ``found`` is False if the
    model says that the memory does not hold the answer. ``dangling`` are cited numbers that no
    passage has: a sign that the answer was made up. A chat sets ``evidences``: the texts of the
    prompt beside the recent dialogue, each with the ids of its entries.
    """

    text: str
    citations: tuple[Passage, ...] = ()
    dangling: tuple[int, ...] = ()
    found: bool = True
    context: Context | None = None
    evidences: tuple[Evidence, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""

    def __str__(self) -> str:
        return self.text


PromptPassage = tuple[str, str]
"""A piece of the memory as the model sees it: its text, and where and when it was said."""


class Citations(NamedTuple):
    """The numbers that a reply cites, in order of first mention.

    ``dangling`` are those that no passage has. ``found`` is false if the reply says that the memory
    does not hold the answer.
    """

    numbers: tuple[int, ...]
    dangling: tuple[int, ...]
    found: bool


_EXAMPLE: Final = (
    ("Lena: Mr. Okafor keeps the keys.", "chat with Lena, 2024-01-02"),
    ("Lena: He gave the keys to the porter today.", "chat with Lena, 2024-01-09"),
)
_EXCHANGES: Final = (
    ("Who has the keys now?", "The porter has them now [2]."),
    ("What is the porter's name?", NOT_IN_MEMORY),
)
"""A model of 1.5 billion parameters cites from these, not from rules. The rule for a question
without an answer follows the question, because it gets lost before."""


def ask_messages(question: str, passages: Sequence[PromptPassage]) -> list[Message]:
    """The prompt for a question over passages, numbered from 1 in the order given."""
    messages = [Message("system", load("ask").fill())]
    for example, reply in _EXCHANGES:
        messages += [_question(example, _EXAMPLE), Message("assistant", reply)]
    return [*messages, _question(question.strip(), passages)]


def _question(question: str, passages: Sequence[PromptPassage]) -> Message:
    numbered = (
        load("ask_passage").fill(
            number=str(number), origin=" ".join(origin.split()), text=text.strip()
        )
        for number, (text, origin) in enumerate(passages, 1)
    )
    prompt = load("ask_question").fill(passages="\n\n".join(numbered), question=question)
    return Message("user", prompt)


def read_citations(reply: str, passages: int) -> Citations:
    """The numbers that a reply cites, of so many passages. Numbers in code are not citations."""
    prose = _CODE.sub(" ", reply)
    cited = dict.fromkeys(
        int(number) for group in _CITED.findall(prose) for number in re.findall(r"\d+", group)
    )
    return Citations(
        numbers=tuple(number for number in cited if 1 <= number <= passages),
        dangling=tuple(number for number in cited if not 1 <= number <= passages),
        found=NOT_IN_MEMORY.rstrip(".").casefold() not in prose.casefold(),
    )


def answer_room(
    llm: LLM, question: str, budget: Budget, prompt: PromptName
) -> tuple[int, CountTokens]:
    """The most that passages may have, and a count in its unit.

    The prompt then stays within ``budget``, and prompt and answer within the model's window. A
    budget in another unit than tokens is that of the passages. Raises InputError if there is
    no room for any.
    """
    if prompt == "own":
        needed = PROMPT_TOKENS + llm.count_tokens(question)
    else:
        needed = llm.count_tokens(printed_prompt(prompt, question, ""))
    left = llm.context_window - ANSWER_TOKENS - needed
    if budget.unit == "tokens":
        left = min(budget.limit - needed, left)
    if left < 1:
        raise InputError(
            f"the budget is {budget.limit} {budget.unit} and the model's window "
            f"{llm.context_window}; question and instructions need {needed}, the answer "
            f"{ANSWER_TOKENS}. Raise the budget, take a model with a larger window, or "
            "ask a shorter question"
        )
    room = Budget(left) if budget.unit == "tokens" else budget
    return room.limit_and_count(llm.count_tokens, left)


def answer(account: ModelAccount, context: Context, settings: SpaceSettings) -> Answer:
    """Answer the context's query from its passages. Raises LLMError."""
    passages = context.passages
    if not passages:
        return Answer(NOT_IN_MEMORY, found=False, context=context)
    if settings.prompt == "own":
        shown = [
            (
                passage.text,
                f"{passage.source}, {passage.at:%Y-%m-%d}" if passage.at else passage.source,
            )
            for passage in passages
        ]
        messages = ask_messages(context.query, shown)
    else:
        text = printed_prompt(settings.prompt, context.query, context.text)
        messages = [Message("user", text)]
    reply = account.llm().complete(
        messages, max_tokens=ANSWER_TOKENS, temperature=settings.temperature or 0.0
    )
    account.pay("ask", reply)
    cited = Citations((), (), True)  # printed prompts ask for no citations
    if settings.prompt == "own":
        cited = read_citations(reply.text, len(passages))
    return Answer(
        text=reply.text.strip(),
        citations=tuple(passages[number - 1] for number in cited.numbers),
        dangling=cited.dangling,
        found=cited.found,
        context=context,
        usage=reply.usage,
        model=reply.model,
    )
