"""RepoEval with a language model: does what is retrieved help to write the body that stood there?

The prompt is RepoCoder's (FragRel's prompt 2) within a budget of tokens, the fragments are windows
of 20 lines; ``file`` has no fragments, ``bm25`` has FragRel's baseline, ``relation`` adds the code
relation. The tasks are taken at even steps from those whose code is found in the sources, a folder
for each project. EM and edit similarity compare the true body with as many of the reply's first
lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from treering.bench.coding.completion import FRAGMENTS, completion_prompt
from treering.bench.coding.sources import Projects
from treering.bench.coding.task import CodeTask, OmittedTask
from treering.bench.metrics.answers import edit_similarity
from treering.bench.read import json_lines
from treering.bench.run import Progress
from treering.bench.suites.repoeval import load
from treering.errors import LLMUnavailable
from treering.llm.contract import LLM, Message
from treering.views.code.index.code_index import ALPHA, CodeHit, CodeIndex
from treering.views.code.write.generate import code_of

ASKED = (
    "Continue this file with the body of its last function. Reply with the body's code only, "
    "indented as it stands in the file."
)
MAX_TOKENS = 256
SHOWN_LINES = 40
"""Lines before the hole that the prompt shows whatever is retrieved."""
WAYS: dict[str, float | None] = {"file": None, "bm25": 0.0, "relation": ALPHA}
"""The weight of the code relation; None without fragments."""


@dataclass(frozen=True, slots=True)
class CompletionScore:
    """One reply against the true body."""

    exact: float
    similarity: float
    tokens: int


def sample(data: Path, sources: Path, tasks: int) -> Iterator[tuple[CodeTask, str, str]]:
    """Tasks at even steps, each with the text before the hole and the true body."""
    truth = [row["metadata"]["ground_truth"] for row in json_lines(data)]
    bodies = [(task, truth[int(task.id)]) for task in load(data, sources)
              if not isinstance(task, OmittedTask)]  # fmt: skip
    step = max(len(bodies) // tasks, 1)
    for task, body in bodies[::step][:tasks]:
        prefix = "".join(task.text.splitlines(keepends=True)[: task.line - 1])
        yield task, prefix, body


def retrieved(index: CodeIndex, task: CodeTask, alpha: float) -> list[CodeHit]:
    """The best fragments, without those that the prompt holds anyway just before the hole."""
    hits = index.search(task.query, k=2 * FRAGMENTS, alpha=alpha)
    elsewhere = [hit for hit in hits if hit.path != task.path
                 or not task.line - SHOWN_LINES <= hit.last_line
                 or hit.first_line > task.line]  # fmt: skip
    return elsewhere[:FRAGMENTS]


def score(reply: str, body: str, tokens: int) -> CompletionScore:
    """Compare the first lines of the reply, as many as the true body has."""
    truth = [line.strip() for line in body.strip().splitlines()]
    lines = [line.strip() for line in reply.strip("\n").splitlines() if line.strip() or truth]
    written, true_body = "\n".join(lines[: len(truth)]).strip(), "\n".join(truth).strip()
    similarity = edit_similarity(written, true_body)
    return CompletionScore(float(written == true_body), similarity, tokens)


def measure(
    tasks: Sequence[tuple[CodeTask, str, str]],
    projects: Projects,
    llm: LLM,
    budget: int,
    progress: Progress,
) -> dict[str, list[CompletionScore]]:
    """Every way on every task; a task counts when all its ways are done.

    A model whose time is up ends the measurement.
    """
    scores: dict[str, list[CompletionScore]] = defaultdict(list)
    for done, (task, prefix, body) in enumerate(tasks, 1):
        try:
            with projects.with_hole(task) as index:
                of_task = {
                    way: _completed(index, task, prefix, body, alpha, llm, budget)
                    for way, alpha in WAYS.items()
                }
        except LLMUnavailable:
            break
        for way, scored in of_task.items():
            scores[way].append(scored)
        progress(done, len(tasks), task.path)
    return scores


def _completed(
    index: CodeIndex,
    task: CodeTask,
    prefix: str,
    body: str,
    alpha: float | None,
    llm: LLM,
    budget: int,
) -> CompletionScore:
    hits = [] if alpha is None else retrieved(index, task, alpha)
    prompt = completion_prompt(hits, prefix, budget, llm.count_tokens)
    asked = [Message("system", ASKED), Message("user", prompt)]
    reply = llm.complete(asked, max_tokens=MAX_TOKENS, temperature=0.0)
    return score(code_of(reply.text), body, reply.usage.prompt_tokens)


def figures(scores: dict[str, list[CompletionScore]]) -> dict[str, Any]:
    """Means by way."""
    return {
        way: {
            "tasks": len(of_way),
            "EM": round(fmean(score.exact for score in of_way), 4),
            "ES": round(fmean(score.similarity for score in of_way), 4),
            "tokens": round(fmean(score.tokens for score in of_way)),
        }
        for way, of_way in scores.items()
    }
