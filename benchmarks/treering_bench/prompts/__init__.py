"""The papers' prompts that only measuring needs, as plain-text files like those of ``llm``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files

from treering.errors import UnknownName
from treering.llm.contract import Message
from treering.llm.prompts import Prompt
from treering.llm.prompts import load as load_shared

Fill = Callable[[str, str, str], list[Message]]
"""From question, context and lettered options to the messages that ask for an answer."""


@dataclass(frozen=True, slots=True)
class AnswerPrompt:
    """How a benchmark asks for an answer, and how many tokens it may have."""

    fill: Fill
    max_tokens: int


def load(name: str, version: int = 1) -> Prompt:
    """The prompt of that name in this package."""
    text = files(__name__).joinpath(f"{name}.v{version}.txt").read_text(encoding="utf-8")
    return Prompt(name, version, text.rstrip("\n"))


def answer_prompt(name: str) -> AnswerPrompt:
    """The answer prompt called ``name``.

    Raises:
        UnknownName: there is none; the message lists those there are.
    """
    if name not in _ANSWER:
        raise UnknownName(f"no answer prompt is called {name!r}; there are: {', '.join(_ANSWER)}")
    return _ANSWER[name]


def _story(question: str, context: str, _: str) -> list[Message]:
    """FragRel's prompt 1, LongBench's for NarrativeQA."""
    return [Message("user", load_shared("fragrel_story").fill(context=context, input=question))]


def _search_results(question: str, context: str, _: str) -> list[Message]:
    """MemTree's, A.2.2."""
    return [Message("user", load_shared("memtree_answer").fill(context=context, input=question))]


def _locomo(question: str, context: str, _: str) -> list[Message]:
    """LoCoMo's own."""
    return [Message("user", load("locomo_answer").fill(context=context, question=question))]


def _choice(question: str, context: str, options: str) -> list[Message]:
    """Ours: MemTree prints none for QuALITY's choices."""
    filled = load("choice_answer").fill(context=context, question=question, options=options)
    return [Message("user", filled)]


def _chat(question: str, context: str, _: str) -> list[Message]:
    """FragRel's prompt 3 with MemoChat's layout of its materials (figure 3)."""
    turn = load_shared("fragrel_chat_turn").fill(
        evidences=context, recent="", input=f"user: {question} ### bot: "
    )
    return [Message("system", load_shared("fragrel_chat").fill()), Message("user", turn)]


_ANSWER: Mapping[str, AnswerPrompt] = {
    "story": AnswerPrompt(_story, max_tokens=128),
    "search-results": AnswerPrompt(_search_results, max_tokens=128),
    "locomo": AnswerPrompt(_locomo, max_tokens=64),
    "choice": AnswerPrompt(_choice, max_tokens=8),
    "chat": AnswerPrompt(_chat, max_tokens=512),
}
