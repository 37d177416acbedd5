"""RepoEval with a language model: does what is retrieved help to write the body that stood there?

    python benchmarks/code_completion.py FUNCTION.jsonl SOURCES --llm model.gguf --replies FILE

The prompt is RepoCoder's (FragRel's prompt 2) within ``--budget`` tokens, the fragments are windows
of 20 lines; ``file`` has no fragments, ``bm25`` has FragRel's baseline, ``relation`` adds the code
relation. The tasks are taken at even steps from those whose code is found in SOURCES, a folder for
each project (see ``treering bench``). EM and edit similarity compare the true body with as many of
the reply's first lines. Replies are kept, so that a run that stops (``--minutes``)
goes on when it is repeated. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from treering.bench.coding.completion import FRAGMENTS, completion_prompt
from treering.bench.coding.sources import Projects
from treering.bench.coding.task import CodeTask, LeftOut
from treering.bench.kept_replies import KeptReplies
from treering.bench.metrics.answers import edit_similarity
from treering.bench.read import json_lines
from treering.bench.suites.repoeval import load
from treering.code.index.code_index import ALPHA, CodeHit, CodeIndex
from treering.code.write.generate import code_of
from treering.llm.contract import LLM, Message
from treering.llm.settings import open_llm

ASKED = (
    "Continue this file with the body of its last function. Reply with the body's code only, "
    "indented as it stands in the file."
)
MAX_TOKENS = 256
SHOWN_LINES = 40
"""Lines before the hole that the prompt shows whatever is retrieved."""
WAYS = {"file": None, "bm25": 0.0, "relation": ALPHA}
"""The weight of the code relation; None without fragments."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One reply against the true body."""

    exact: float
    similarity: float
    tokens: int


def sample(data: Path, sources: Path, tasks: int) -> Iterator[tuple[CodeTask, str, str]]:
    """Tasks at even steps, each with the text before the hole and the true body."""
    truth = [row["metadata"]["ground_truth"] for row in json_lines(data)]
    found = [(task, truth[int(task.id)]) for task in load(data, sources)
             if not isinstance(task, LeftOut)]  # fmt: skip
    step = max(len(found) // tasks, 1)
    for task, body in found[::step][:tasks]:
        prefix = "".join(task.text.splitlines(keepends=True)[: task.line - 1])
        yield task, prefix, body


def retrieved(index: CodeIndex, task: CodeTask, alpha: float) -> list[CodeHit]:
    """The best fragments that the prompt does not have anyway, right before the hole."""
    found = index.search(task.query, k=2 * FRAGMENTS, alpha=alpha)
    elsewhere = [hit for hit in found if hit.path != task.path
                 or not task.line - SHOWN_LINES <= hit.last_line
                 or hit.first_line > task.line]  # fmt: skip
    return elsewhere[:FRAGMENTS]


def score(reply: str, body: str, tokens: int) -> Scored:
    """Compare as many lines as the true body has."""
    truth = [line.strip() for line in body.strip().splitlines()]
    said = [line.strip() for line in reply.strip("\n").splitlines() if line.strip() or truth]
    got, wanted = "\n".join(said[: len(truth)]).strip(), "\n".join(truth).strip()
    return Scored(float(got == wanted), edit_similarity(got, wanted), tokens)


def measure(
    tasks: Sequence[tuple[CodeTask, str, str]],
    projects: Projects,
    llm: LLM,
    budget: int,
    end: float,
) -> dict[str, list[Scored]]:
    """Every way on every task, until the time is up; a task counts when all its ways are done."""
    found: dict[str, list[Scored]] = defaultdict(list)
    for task, prefix, body in tasks:
        done = {}
        with projects.with_hole(task) as index:
            for way, alpha in WAYS.items():
                if time.monotonic() > end:
                    return found
                hits = [] if alpha is None else retrieved(index, task, alpha)
                prompt = completion_prompt(hits, prefix, budget, llm.count_tokens)
                asked = [Message("system", ASKED), Message("user", prompt)]
                reply = llm.complete(asked, max_tokens=MAX_TOKENS, temperature=0.0)
                done[way] = score(code_of(reply.text), body, reply.usage.prompt_tokens)
        for way, scored in done.items():
            found[way].append(scored)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--llm", required=True, help="a GGUF file or http://HOST/v1#MODEL")
    parser.add_argument("--replies", type=Path, required=True, help="where replies are kept")
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--budget", type=int, default=1024, help="tokens of a prompt")
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    tasks = list(sample(options.data, options.sources, options.tasks))
    projects = Projects(options.sources, "windows", None)
    llm = KeptReplies(open_llm(options.llm), options.replies)
    found = measure(tasks, projects, llm, options.budget, end)
    report = {
        way: {
            "tasks": len(some),
            "EM": round(fmean(one.exact for one in some), 4),
            "ES": round(fmean(one.similarity for one in some), 4),
            "tokens": round(fmean(one.tokens for one in some)),
        }
        for way, some in found.items()
    }
    print(json.dumps({"model": llm.model, "budget": options.budget, **report}))
    llm.close()


if __name__ == "__main__":
    main()
