"""RepoEval with a language model: does what is retrieved help to write the code that stood there?

The prompt is RepoCoder's (FragRel's prompt 2) within a budget of tokens, the fragments are windows
of 20 lines. ``file`` has no fragments, ``bm25`` has FragRel's baseline, ``relation`` adds the code
relation; with ``+second`` they are retrieved once more by what was written (RepoCoder's second
step), with ``+oracle`` by the true code. Tasks of bodies are RepoEval's, taken at even steps from
those whose code is found in the sources; tasks of lines and API calls are drawn from the sources
themselves (``line_tasks``). EM and edit similarity compare the true code with as many of the
reply's first lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from treering.errors import LLMUnavailable
from treering.llm.contract import LLM, Message
from treering.views.code.index.code_index import ALPHA, CodeHit, CodeIndex
from treering.views.code.write.generate import code_of
from treering_bench.coding.completion import FRAGMENTS, complete
from treering_bench.coding.line_tasks import TaskLevel
from treering_bench.coding.sources import Projects
from treering_bench.coding.task import CodeTask, OmittedTask
from treering_bench.metrics.answers import edit_similarity
from treering_bench.read import json_lines
from treering_bench.run import Progress
from treering_bench.suites.repoeval import load

ASKED: Mapping[TaskLevel, str] = {
    "body": "Continue this file with the body of its last function. Reply with the body's code "
    "only, indented as it stands in the file.",
    "line": "Continue this file with its next line. Reply with that line of code only.",
    "api": "Continue this file with its next line. Reply with that line of code only.",
}
"""What a chat model is told; a base model just goes on."""
MAX_TOKENS: Mapping[TaskLevel, int] = {"body": 256, "line": 100, "api": 100}
SHOWN_LINES = 40
"""Lines before the hole that the prompt shows whatever is retrieved."""


@dataclass(frozen=True, slots=True)
class CompletionWay:
    """How fragments are retrieved; ``alpha`` weighs the code relation, None for no fragments."""

    alpha: float | None = None
    steps: int = 1
    oracle: bool = False


WAYS: Mapping[str, CompletionWay] = {
    "file": CompletionWay(),
    "bm25": CompletionWay(0.0),
    "relation": CompletionWay(ALPHA),
    "bm25+second": CompletionWay(0.0, steps=2),
    "relation+second": CompletionWay(ALPHA, steps=2),
    "bm25+oracle": CompletionWay(0.0, oracle=True),
    "relation+oracle": CompletionWay(ALPHA, oracle=True),
}
DEFAULT_WAYS = ("file", "bm25", "relation")


@dataclass(frozen=True, slots=True)
class CompletionSetup:
    """What every task is written with. ``raw`` is for a base model: it is told nothing."""

    llm: LLM
    budget: int
    ways: Sequence[str] = DEFAULT_WAYS
    level: TaskLevel = "body"
    raw: bool = False


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


def retrieved(index: CodeIndex, task: CodeTask, alpha: float, query: str) -> list[CodeHit]:
    """The best fragments, without those that the prompt holds anyway just before the hole."""
    hits = index.search(query, k=2 * FRAGMENTS, alpha=alpha)
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
    setup: CompletionSetup,
    progress: Progress,
) -> dict[str, list[CompletionScore]]:
    """Every way on every task; a task counts when all its ways are done.

    A model whose time is up ends the measurement.
    """
    scores: dict[str, list[CompletionScore]] = defaultdict(list)
    for done, (task, prefix, truth) in enumerate(tasks, 1):
        try:
            with projects.with_hole(task) as index:
                of_task = {
                    way: _completed(index, task, prefix, truth, WAYS[way], setup)
                    for way in setup.ways
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
    truth: str,
    way: CompletionWay,
    setup: CompletionSetup,
) -> CompletionScore:
    """One task, one way. ``tokens`` are those of the last prompt."""
    tokens = 0

    def retrieve(query: str) -> Sequence[CodeHit]:
        return [] if way.alpha is None else retrieved(index, task, way.alpha, query)

    def write(prompt: str) -> str:
        nonlocal tokens
        reply = setup.llm.complete(
            _messages(prompt, setup),
            max_tokens=MAX_TOKENS[setup.level],
            temperature=0.0,
        )
        tokens = reply.usage.prompt_tokens
        return reply.text if setup.raw else code_of(reply.text)

    written = complete(
        prefix,
        retrieve,
        write,
        budget=setup.budget,
        count_tokens=setup.llm.count_tokens,
        steps=way.steps,
        prediction=truth if way.oracle else "",
    )
    return score(written, truth, tokens)


def _messages(prompt: str, setup: CompletionSetup) -> list[Message]:
    told = [] if setup.raw else [Message("system", ASKED[setup.level])]
    return [*told, Message("user", prompt)]


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
