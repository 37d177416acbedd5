"""Repository-level completion: RepoCoder's retrieval and prompt (FragRel, 4.2 and prompt 2).

``file`` has no fragments, ``bm25`` has FragRel's baseline, ``relation`` adds the code relation;
with ``+second`` fragments are retrieved again by the model's first reply (RepoCoder's second step),
with ``+oracle`` by the true code. Fragments are windows of 20 lines. EM and ES (edit similarity)
compare the true code with as many of the reply's first lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from treering.errors import InputError
from treering.llm.contract import LLM, Message
from treering.split.text import WINDOW_LINES
from treering.views.code.index.code_index import ALPHA, CodeHit
from treering.views.code.write.generate import code_of
from treering_bench.coding.retrieval import read_tasks, sources_of, task_groups
from treering_bench.coding.sources import Hole, Projects
from treering_bench.coding.task import CodeTask, last_lines
from treering_bench.metrics.answers import edit_similarity
from treering_bench.models import kept_model
from treering_bench.options import RunOptions
from treering_bench.read import sha256_of
from treering_bench.registry import CodeBenchmark
from treering_bench.runner import Measured, Plan, Way, named_among

FRAGMENTS: Final = 10
"""Fragments retrieved (FragRel B.2)."""

DEFAULT_BUDGET: Final = 4096
"""Tokens of a prompt: the paper's. Half of them are for fragments, as in RepoCoder."""

SHOWN_LINES: Final = 40
"""Lines before the hole that the prompt shows whatever is retrieved."""

_HEADER: Final = "# Here are some relevant code fragments from other files of the repo:"
_RULE: Final = "# " + "-" * 50
_LINE: Final = "Continue this file with its next line. Reply with that line of code only."
_BODY: Final = (
    "Continue this file with the body of its last function. Reply with the body's code only, "
    "indented as it stands in the file."
)


@dataclass(frozen=True, slots=True)
class Completion:
    """How code is completed; ``alpha`` weighs the code relation, None is for no fragments."""

    alpha: float | None = None
    steps: int = 1
    oracle: bool = False


WAYS: Final[Mapping[str, Completion]] = {
    "file": Completion(),
    "bm25": Completion(0.0),
    "relation": Completion(ALPHA),
    "bm25+second": Completion(0.0, steps=2),
    "relation+second": Completion(ALPHA, steps=2),
    "bm25+oracle": Completion(0.0, oracle=True),
    "relation+oracle": Completion(ALPHA, oracle=True),
}
DEFAULT_WAYS: Final = ("file", "bm25", "relation")


@dataclass(frozen=True, slots=True)
class CompletionModel:
    """The model with its budget. A ``raw`` one is a base model: it is told nothing."""

    llm: LLM
    budget: int
    raw: bool

    def write(self, task: CodeTask, prompt: str) -> tuple[str, int]:
        """The code that the model goes on with, and the tokens of the prompt."""
        lines = len(task.code.strip().splitlines())
        told = Message("system", _LINE if lines == 1 else _BODY)
        reply = self.llm.complete(
            [*([] if self.raw else [told]), Message("user", prompt)],
            max_tokens=100 if lines == 1 else 256,
            temperature=0.0,
        )
        return reply.text if self.raw else code_of(reply.text), reply.usage.prompt_tokens


def plan(
    benchmark: CodeBenchmark, options: RunOptions, opened: ExitStack, replies: Path
) -> Plan[Hole, CodeTask]:
    """The plan of a run with a model. It is closed with ``opened``."""
    used = {"llm", "raw", "budget", "sources", "replies", "minutes"}
    options.refuse_all_but(f"{benchmark.name} with --llm", used)
    ways = named_among(options.policy or (), WAYS, DEFAULT_WAYS)
    names = {id(way): name for name, way in WAYS.items()}
    tasks, left_out = read_tasks(benchmark, options)
    sources = sources_of(options)
    spec: str | LLM | None = options.llm
    if options.raw:
        from treering_bench.coding.continuing import ContinuingModel  # it needs an extra

        spec = ContinuingModel(str(options.llm))
    llm = opened.enter_context(kept_model(spec, replies, options.minutes, estimating=False))
    model = CompletionModel(llm, options.budget or DEFAULT_BUDGET, options.raw)
    return Plan(
        "completion",
        [Way(names[id(way)], partial(completed, model, way)) for way in ways],
        task_groups(tasks, options, Projects(sources)),
        "to be run",
        {
            "model": llm.model,
            "budget": model.budget,
            "raw": options.raw,
            "sources": sha256_of(sources),
        },
        {"llm": llm},
        {"tasks": len(tasks), "left_out": left_out},
    )


def completed(model: CompletionModel, way: Completion, hole: Hole, task: CodeTask) -> Measured:
    """One task: retrieve and write, in each step by the code of the step before."""
    written, tokens = task.code if way.oracle else "", 0
    for _ in range(way.steps):
        query = last_lines(task.prefix, written)
        hits = [] if way.alpha is None else retrieved(hole, task, way.alpha, query)
        prompt = completion_prompt(hits, task.prefix, model.budget, model.llm.count_tokens)
        written, tokens = model.write(task, prompt)
    return Measured({**score(written, task.code), "tokens prompt": tokens}, {"answer": written})


def retrieved(hole: Hole, task: CodeTask, alpha: float, query: str) -> list[CodeHit]:
    """The best fragments, without those that the prompt holds anyway just before the hole."""
    hits = hole.index("windows").search(query, k=2 * FRAGMENTS, alpha=alpha)
    elsewhere = (
        hit
        for hit in hits
        if hit.path != task.path
        or hit.last_line < task.line - SHOWN_LINES
        or hit.first_line > task.line
    )
    return list(elsewhere)[:FRAGMENTS]


def completion_prompt(
    hits: Sequence[CodeHit], prefix: str, budget: int, count_tokens: Callable[[str], int]
) -> str:
    """Prompt 2 within ``budget`` tokens: the fragments, best last, and in the rest the file.

    The file loses its beginning, down to the lines that a window has; then the fragments lose their
    worst. Raise InputError if no line fits.
    """
    head = _HEADER
    room = budget - count_tokens("".join(prefix.splitlines(keepends=True)[-WINDOW_LINES:]))
    blocks: list[str] = []
    for hit in hits:
        commented = "\n".join(f"# {line}" for line in hit.text.splitlines())
        where = "# the below code fragment can be found in:"
        block = f"{where}\n# {hit.path}\n{_RULE}\n{commented}\n{_RULE}"
        if count_tokens("\n".join([head, _RULE, block, *blocks])) > room:
            break
        blocks.insert(0, block)
    context = "\n".join([head, _RULE, *blocks]) + "\n\n" if blocks else ""
    return context + _tail(prefix, budget - count_tokens(context), count_tokens)


def _tail(text: str, budget: int, count_tokens: Callable[[str], int]) -> str:
    """The last lines of a text that fit the budget."""
    lines = text.splitlines(keepends=True)
    fits, too_many = 0, len(lines) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if count_tokens("".join(lines[-middle:])) <= budget:
            fits = middle
        else:
            too_many = middle
    if lines and not fits:
        raise InputError(f"not even the last line fits into {budget} tokens; give a larger budget")
    return "".join(lines[-fits:]) if fits else ""


def score(reply: str, code: str) -> dict[str, float]:
    """EM and ES of the first lines of a reply, as many as the true code has."""
    truth = [line.strip() for line in code.strip().splitlines()]
    lines = [line.strip() for line in reply.strip("\n").splitlines() if line.strip() or truth]
    written, true_code = "\n".join(lines[: len(truth)]).strip(), "\n".join(truth).strip()
    return {"EM": float(written == true_code), "ES": edit_similarity(written, true_code)}
