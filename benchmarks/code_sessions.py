"""CodeIF-Bench L-2 with a language model: whole conversation against code memory.

    python benchmarks/code_sessions.py L2.jsonl SOURCES --llm model.gguf --replies FILE

``full`` shows the model the whole conversation, ``memory`` is ``memory.code.generate``; both get
the same blocks of the repository for the first instruction. After every round the unit tests of
all instructions so far are run in a process of its own: IA is the share of rounds whose own test
passes, CA the mean share of all tests so far, IFR the share of tests passed before that fail now,
pass@1 the share of dialogues that end with all of them passing. Recall and precision are of the
gold dependencies among the blocks of the repository whose code each round was shown.
Tests that need fixtures which the data does not hold are left out, and so are dialogues whose
project cannot be imported here; both are counted. Replies are kept, so that a run that stops
(``--minutes``) goes on when it is repeated. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

from treering import Memory
from treering.bench.coding.rounds import as_hits
from treering.bench.coding.sources import project_folder, source_text
from treering.bench.coding.task import Dependencies
from treering.bench.kept_replies import KeptReplies
from treering.bench.metrics.rounds import followed, pass_at_k
from treering.bench.read import json_lines
from treering.code.index.blocks import CodeBlock
from treering.code.parse.pieces import pieces
from treering.code.write.context_memory import RETRIEVED
from treering.code.write.generate import code_of, repository_context
from treering.errors import LLMReplyError
from treering.llm.contract import LLM, Message
from treering.llm.settings import open_llm

HERE = Path(__file__).resolve().parent
CHILD = HERE / "run_unit_tests.py"
SITES: list[str] = []
"""Folders with what the projects need beside themselves (``--site``)."""
SECONDS = 60.0
PASSED = 3
MAX_TOKENS = 600
CONTEXT_TOKENS = 800


Tests = tuple[str, ...]
"""The unit tests of one instruction."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One function to write in rounds: its place, instructions, and the tests of each."""

    project: str
    path: str
    qualified: str
    source: str
    code: str
    indent: int
    instructions: tuple[str, ...]
    tests: tuple[Tests, ...]
    gold: tuple[str, ...] = ()
    """Dotted names of what the true code uses."""

    @property
    def module(self) -> str:
        """The module's dotted name."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def hole(self) -> str:
        """The file with the body cut out."""
        signature = self.code.splitlines()[0]
        return self.source.replace(self.code, f"{signature}\n{' ' * (self.indent + 4)}...")

    def filled(self, code: str) -> str:
        """The file with a version of the function in the place of the true one."""
        named = pieces("x.py", code).values()
        name = self.qualified.rpartition(".")[2]
        found = [one for one in named if one.qualified.rpartition(".")[2] == name]
        text = found[-1].code if found else code
        lines = text.splitlines()[found[-1].header if found else 0 :]
        body = textwrap.dedent("\n".join(lines))
        return self.source.replace(self.code, textwrap.indent(body, " " * self.indent))


@dataclass(slots=True)
class Rounds:
    """What came of one dialogue: per round the outcomes of all tests so far, and the tokens."""

    outcomes: list[list[bool]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    context: list[tuple[float, float] | None] = field(default_factory=list)
    """Recall and precision of gold dependencies among the blocks shown; None where there are no
    dependencies, or no reply."""


def dialogues(data: Path, sources: Path) -> Iterator[Dialogue]:
    """The dialogues whose function is found in the sources."""
    for row in json_lines(data):
        project = project_folder(row["project_path"].split("/")[1], sources)
        path = "/".join(row["completion_path"].split("/")[2:]).removeprefix("src/")
        text = source_text(sources, project, path)
        code = row["code"].strip("\n")
        if project is None or text is None or text.count(code) != 1:
            continue
        asked = [row["requirements"][name] for name in row["multi-turn"]]
        first, *rest = [one["requirement"] for one in asked]
        module = path.removesuffix(".py").replace("/", ".")
        yield Dialogue(
            project, path, row["namespace"].removeprefix(f"{module}."), text, code,
            int(row["indent"]), (f"{row['prompt']}\n{first}", *rest),
            tuple(tuple(one["unit_test"]) for one in asked),
            tuple(name for names in row["dependency"].values() for name in names),
        )  # fmt: skip


def outcomes(sources: Path, one: Dialogue, text: str, tests: Sequence[str]) -> list[str]:
    """How tests end where the dialogue's file has that text."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        shutil.copytree(sources / one.project, root, symlinks=True)
        (root / one.path).write_text(text, encoding="utf-8")
        job = json.dumps({"root": str(root), "module": one.module, "tests": tests})
        try:
            done = subprocess.run(
                [sys.executable, str(CHILD)], input=job, capture_output=True, text=True,
                timeout=SECONDS, cwd=folder, check=False,
                env={"PYTHONPATH": os.pathsep.join([str(HERE.parent), *SITES]), "PATH": os.defpath},
            )  # fmt: skip
            found: list[str] = json.loads(done.stdout.strip().splitlines()[-1])
        except (subprocess.TimeoutExpired, IndexError, ValueError):
            return ["failed"] * len(tests)
    return found


def usable(sources: Path, one: Dialogue) -> Dialogue | None:
    """The dialogue with the instructions whose tests can be run here.

    None where the true code passes fewer than ``PASSED`` of them: something is not as it was.
    """
    every = [test for tests in one.tests for test in tests]
    ended = dict(zip(every, outcomes(sources, one, one.source, every), strict=True))
    kept = [
        (instruction, good)
        for instruction, tests in zip(one.instructions, one.tests, strict=True)
        if (good := tuple(test for test in tests if ended[test] in ("passed", "failed")))
    ]
    if sum(how == "passed" for how in ended.values()) < PASSED:
        return None
    asked = [instruction for instruction, _ in kept]
    if asked[0] != one.instructions[0]:  # what is to be written is said with the first
        asked[0] = f"{one.instructions[0]}\n{asked[0]}"
    return replace(one, instructions=tuple(asked), tests=tuple(good for _, good in kept))


@dataclass(frozen=True, slots=True)
class Answer:
    """The code of one round, the tokens that its prompts had, and the blocks shown with their
    code."""

    code: str
    tokens: int
    shown: Sequence[CodeBlock]


Write = Callable[[str], Answer]


def full_conversation(memory: Memory, llm: LLM, one: Dialogue) -> Write:
    """The model sees all instructions and replies so far."""
    blocks = memory.code.blocks(one.instructions[0], RETRIEVED)
    context = repository_context(blocks, llm.count_tokens, CONTEXT_TOKENS)
    name = one.qualified.rpartition(".")[2]
    said: list[Message] = []

    def write(instruction: str) -> Answer:
        shown = f"Repo Context\n{context.text}\n\n" if not said else ""
        asked = f"{shown}{instruction}\nOutput the whole function {name}, and nothing else."
        said.append(Message("user", asked))
        reply = llm.complete(said, max_tokens=MAX_TOKENS, temperature=0.0)
        said.append(Message("assistant", reply.text))
        return Answer(code_of(reply.text), reply.usage.prompt_tokens, context.whole)

    return write


def code_memory(memory: Memory, _llm: LLM, one: Dialogue) -> Write:
    """``memory.code.generate``."""

    def write(instruction: str) -> Answer:
        made = memory.code.generate(
            instruction, definition=f"{one.path}::{one.qualified}", budget=CONTEXT_TOKENS
        )
        return Answer(made.code, made.usage.prompt_tokens, made.context)

    return write


WAYS: dict[str, Callable[[Memory, LLM, Dialogue], Write]] = {
    "full": full_conversation,
    "memory": code_memory,
}


def play(
    sources: Path, one: Dialogue, llm: LLM, way: str, rounds: int, end: float
) -> Rounds | None:
    """One dialogue; None where the time was up before its end."""
    played = Rounds()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / one.project
        shutil.copytree(sources / one.project, root)
        (root / one.path).write_text(one.hole(), encoding="utf-8")
        with Memory.open(Path(folder) / "memory.db", llm=llm) as memory:
            memory.code.index(root)
            write = WAYS[way](memory, llm, one)
            for at, instruction in enumerate(one.instructions[:rounds]):
                if time.monotonic() > end:
                    return None
                context = None
                try:
                    answer = write(instruction)
                    text, tokens = one.filled(answer.code), answer.tokens
                    context = found(one, answer.shown)
                except LLMReplyError:  # it did not write the function: every test fails
                    text, tokens = one.hole(), 0
                tests = [test for some in one.tests[: at + 1] for test in some]
                ran = iter(outcomes(sources, one, text, tests))
                passed = [all(next(ran) == "passed" for _ in some) for some in one.tests[: at + 1]]
                played.outcomes.append(passed)
                played.tokens.append(tokens)
                played.context.append(context)
    return played


def found(one: Dialogue, shown: Sequence[CodeBlock]) -> tuple[float, float] | None:
    """Recall and precision of the dialogue's dependencies among blocks."""
    if not one.gold:
        return None
    target, hits = Dependencies(one.gold), as_hits(shown)
    return target.found(hits), target.precision(hits)


def by_round(played: Sequence[Rounds], which: int) -> list[float | None]:
    """The mean of recall (0) or precision (1) of every round, over dialogues that have it."""
    rounds = zip_longest(*(one.context for one in played))
    there = [[pair[which] for pair in some if pair is not None] for some in rounds]
    return [round(fmean(some), 4) if some else None for some in there]


def report(played: Sequence[Rounds]) -> dict[str, Any]:
    """Means over all rounds."""
    figures = [one for rounds in played for one in followed(rounds.outcomes)]
    lost = [one.ifr for one in figures if one.ifr is not None]
    passed = [all(rounds.outcomes[-1]) for rounds in played]
    return {
        "dialogues": len(played),
        "rounds": len(figures),
        "IA": round(fmean(one.ia for one in figures), 4),
        "CA": round(fmean(one.ca for one in figures), 4),
        "IFR": round(fmean(lost), 4) if lost else None,
        "pass@1 at the end": round(fmean(pass_at_k(1, int(one), 1) for one in passed), 4),
        "context recall by round": by_round(played, 0),
        "context precision by round": by_round(played, 1),
        "prompt tokens a round": round(fmean(t for rounds in played for t in rounds.tokens)),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--llm", help="a GGUF file or http://HOST/v1#MODEL; without: only count")
    parser.add_argument("--replies", type=Path, help="where replies are kept")
    parser.add_argument("--dialogues", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--site", action="append", default=[], help="a folder of dependencies")
    options = parser.parse_args()
    SITES.extend(options.site)
    end = time.monotonic() + 60 * options.minutes
    found = list(dialogues(options.data, options.sources))
    ready = [one for one in (usable(options.sources, one) for one in found) if one is not None]
    counts = {"found": len(found), "usable": len(ready)}
    if options.llm is None:
        usable_rounds = {f"{one.module}.{one.qualified}": len(one.instructions) for one in ready}
        print(json.dumps(counts | {"rounds": usable_rounds}))
        return
    llm = KeptReplies(open_llm(options.llm), options.replies)
    played: dict[str, list[Rounds]] = {way: [] for way in WAYS}
    for one in ready[: options.dialogues]:
        both = {way: play(options.sources, one, llm, way, options.rounds, end) for way in WAYS}
        for way, rounds in both.items():
            if rounds is not None and None not in both.values():
                played[way].append(rounds)
    done = {way: report(some) for way, some in played.items() if some}
    print(json.dumps({"model": llm.model, **counts, **done}))
    llm.close()


if __name__ == "__main__":
    main()
