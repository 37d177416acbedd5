"""The contract of a policy: a name and a way to pick passages for a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treering.llm.contract import Message
from treering_bench.metrics.evidence import RetrievedPassage, within_budget
from treering_bench.space import TaskSpace
from treering_bench.task import TaskQuestion

Pick = Callable[[TaskSpace, TaskQuestion], Sequence[RetrievedPassage]]
Fill = Callable[[TaskSpace, TaskQuestion, int], Sequence[RetrievedPassage]]
Prompt = Callable[[TaskSpace, TaskQuestion, int], Sequence[Message]]


@dataclass(frozen=True, slots=True)
class RetrievalPolicy:
    """Passages for a question.

    ``pick`` ranks them, best first, and is None for a policy that only fills budgets. ``fill``
    picks within a token budget; by default the head of the ranking that fits. ``ranked`` is False
    where the order says nothing about relevance, so that precision at a rank would mean nothing.
    ``prompt`` asks a model in another way than the benchmark does.
    """

    name: str
    pick: Pick | None = None
    fill: Fill | None = None
    ranked: bool = True
    prompt: Prompt | None = None

    def within(
        self,
        space: TaskSpace,
        question: TaskQuestion,
        picked: Sequence[RetrievedPassage],
        budget: int,
    ) -> Sequence[RetrievedPassage]:
        """The passages this policy puts into ``budget`` tokens, given what it ``picked``."""
        if self.fill is not None:
            return self.fill(space, question, budget)
        return within_budget(picked, budget)
