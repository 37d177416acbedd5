"""Answers by a language model from retrieved text, scored against references and by a judge."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treering.errors import LLMReplyError
from treering.llm.contract import LLM, Message, Usage
from treering_bench.metrics.answers import exact_match, rouge_l_recall, token_f1
from treering_bench.prompts import AnswerPrompt, load
from treering_bench.task import TaskQuestion

LETTERS = string.ascii_uppercase
_CHOICE = re.compile(r"\(?\b([A-Z])\b")
_RATING = re.compile(r"\[\[\s*(\d{1,3})\s*\]\]")
HIGHEST = 100
_MATCH = re.compile(r"^\W*([01])\b")
_JUDGE_TOKENS = 256
"""Room for the short explanation that the rating prompt asks for."""


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """How a model answers: the model, an optional judge, and the sampling, all recorded."""

    llm: LLM
    prompt: AnswerPrompt
    judge: LLM | None = None
    temperature: float = 0.0
    seed: int = 0

    def messages(self, question: TaskQuestion, context: str) -> list[Message]:
        """The benchmark's own prompt, with ``context`` before the question."""
        return self.prompt.fill(question.text, context, _options(question))


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """A model's answer, its scores and its cost. ``judging`` is the judge's cost.

    A judge's verdict that cannot be read is not a score. It is kept in ``unread``, and its metric
    is missing, so that the report's ``n`` shows it.
    """

    text: str
    metrics: Mapping[str, float]
    usage: Usage
    judging: Usage = field(default_factory=Usage)
    unread: Mapping[str, str] = field(default_factory=dict)


def answer(
    question: TaskQuestion, asked: Sequence[Message], how: AnswerSettings, history: str = ""
) -> ScoredAnswer:
    """Ask ``how.llm`` the question in these messages, and score its answer.

    ``history`` is the part of a dialogue that the question is really about. A judge that rates
    sees it instead of the context: a policy that finds the wrong rounds must not be faithful to
    them (MemoChat, table 9).
    """
    reply = how.llm.complete(
        list(asked),
        max_tokens=how.prompt.max_tokens,
        temperature=how.temperature,
        seed=how.seed,
    )
    text = reply.text.strip()
    metrics = score(question, text)
    unread: dict[str, str] = {}
    judging = Usage()
    if how.judge is not None and not question.options:  # of a choice, accuracy says it all
        verdict, judging = _judged(question, text, history, how.judge, how.seed)
        metrics |= verdict.metrics
        unread |= verdict.unread
    return ScoredAnswer(text, metrics, reply.usage, judging, unread)


def score(question: TaskQuestion, text: str) -> dict[str, float]:
    """The metrics that need no judge: accuracy of a choice, or overlap with the references."""
    if not question.answers:
        return {}
    if question.options:
        return {"accuracy": float(_chosen(question, text) == question.answers[0])}
    return {
        "token_f1": token_f1(text, question.answers),
        "exact_match": exact_match(text, question.answers),
        "rouge_l_recall": rouge_l_recall(text, question.answers),
    }


def _options(question: TaskQuestion) -> str:
    return "\n".join(f"{letter}. {text}" for letter, text in _lettered(question))


def _lettered(question: TaskQuestion) -> list[tuple[str, str]]:
    return list(zip(LETTERS, question.options, strict=False))


def _chosen(question: TaskQuestion, text: str) -> str | None:
    """The option whose letter comes first in a reply; a reply without one chooses nothing."""
    options = dict(_lettered(question))
    return next((options[letter] for letter in _CHOICE.findall(text) if letter in options), None)


@dataclass(frozen=True, slots=True)
class _Verdict:
    metrics: Mapping[str, float]
    unread: Mapping[str, str]


def _judged(
    question: TaskQuestion, text: str, history: str, judge: LLM, seed: int
) -> tuple[_Verdict, Usage]:
    """Whether the answer matches the reference; without one, a rating from 1 to 100."""
    if question.answers:
        name, read = "judged", _read_match
        prompt = load("memtree_match").fill(
            query=question.text, reference=question.answers[0], answer=text
        )
        messages = [Message("user", prompt)]
    else:  # MemoChat, table 9
        name, read = "rating", read_rating
        messages = judge_messages(history, f"user: {question.text}", f"bot: {text}")
    reply = judge.complete(messages, max_tokens=_JUDGE_TOKENS, temperature=0.0, seed=seed)
    try:
        return _Verdict({name: read(reply.text)}, {}), reply.usage
    except LLMReplyError:  # kept beside the metrics, and missing from the mean
        return _Verdict({}, {name: reply.text}), reply.usage


def _read_match(verdict: str) -> float:
    digit = _MATCH.search(verdict)
    if digit is None:
        raise LLMReplyError(f"the judge answered neither 0 nor 1: {verdict[:200]!r}")
    return float(digit[1])


def judge_messages(history: str, question: str, response: str) -> list[Message]:
    """The prompt that asks whether ``response`` is faithful to ``history`` (FragRel, prompt 4)."""
    prompt = load("fragrel_judge").fill(history=history, question=question, response=response)
    return [Message("user", prompt)]


def read_rating(verdict: str) -> float:
    """The rating at the end of a judge's reply, as a share of the highest.

    The last one counts: the explanation before it may quote another. Raises ``LLMReplyError``.
    """
    ratings = [int(rating) for rating in _RATING.findall(verdict)]
    if not ratings or not 1 <= ratings[-1] <= HIGHEST:
        raise LLMReplyError(
            f"the judge gave no rating from [[1]] to [[{HIGHEST}]]: {verdict[-200:]!r}"
        )
    return ratings[-1] / HIGHEST
