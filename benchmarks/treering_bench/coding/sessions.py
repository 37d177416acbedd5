"""CodeIF-Bench L-2 with a language model: whole conversation against code memory.

``full`` shows the model the whole conversation, ``memory`` is ``memory.code.generate`` as it is,
``codemem`` the same as its paper prints it, and ``codemem-ctxmem``, ``-ctxast``, ``-sessast`` that
without a part (5.2); all get the same blocks of the repository for the first instruction. After
every round the unit tests of all instructions so far are run in a process of its own: IA is the
share of rounds whose own test passes, CA the mean share of all tests so far, IFR the share of tests
passed before that fail now, pass@1 the share of dialogues that end with all of them passing. Recall
and precision are of the gold dependencies among the blocks of the repository whose code each round
was shown.
Tests that need fixtures which the data does not hold are left out, and so are dialogues whose
project cannot be imported here; both are counted.

With feedback it is the protocol of CoderEval (4.1): the first instruction alone, and after each
round whose tests fail the sentence ``FEEDBACK``; what counts is the share solved by each round.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

import treering
from treering.errors import InputError, LLMReplyError, LLMUnavailable
from treering.llm.contract import LLM, Message
from treering.memory import Memory
from treering.views.code.index.blocks import CodeBlock
from treering.views.code.parse.pieces import pieces
from treering.views.code.write.generate import code_of, repository_context
from treering_bench.coding.rounds import as_hits
from treering_bench.coding.sandbox import BOUNDARY, require_boundary
from treering_bench.coding.sources import project_folder, source_text
from treering_bench.coding.task import Dependencies
from treering_bench.metrics.rounds import followed, pass_at_k
from treering_bench.read import json_lines
from treering_bench.run import Progress

CHILD = "treering_bench.coding.unit_tests_child"
SECONDS = 60.0
PASSED = 3
MAX_TOKENS = 600
CONTEXT_TOKENS = 800


Tests = tuple[str, ...]
"""The unit tests of one instruction."""


@dataclass(frozen=True, slots=True)
class CodingDialogue:
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
        versions = [piece for piece in named if piece.qualified.rpartition(".")[2] == name]
        text = versions[-1].code if versions else code
        lines = text.splitlines()[versions[-1].header if versions else 0 :]
        body = textwrap.dedent("\n".join(lines))
        return self.source.replace(self.code, textwrap.indent(body, " " * self.indent))


@dataclass(frozen=True, slots=True)
class ProjectSources:
    """Where the projects are, and folders with what they need beside themselves."""

    root: Path
    sites: tuple[Path, ...] = ()

    @property
    def search_path(self) -> str:
        """Where code under test, and what runs it, is imported from."""
        own = Path(treering.__file__).parents[1]
        return os.pathsep.join(map(str, (own, *self.sites)))


@dataclass(slots=True)
class PlayedDialogue:
    """What came of one dialogue: per round the outcomes of all tests so far, and the tokens."""

    outcomes: list[list[bool]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    parts: dict[str, str] = field(default_factory=dict)
    """The judge, detector and context memory of code memory; empty for others."""
    context: list[tuple[float, float] | None] = field(default_factory=list)
    """Recall and precision of gold dependencies among the blocks shown; None where there are no
    dependencies, or no reply."""


def dialogues(data: Path, sources: Path) -> Iterator[CodingDialogue]:
    """The dialogues whose function is found in the sources."""
    for row in json_lines(data):
        project = project_folder(row["project_path"].split("/")[1], sources)
        path = "/".join(row["completion_path"].split("/")[2:]).removeprefix("src/")
        text = source_text(sources, project, path)
        code = row["code"].strip("\n")
        if project is None or text is None or text.count(code) != 1:
            continue
        asked = [row["requirements"][name] for name in row["multi-turn"]]
        first, *rest = [requirement["requirement"] for requirement in asked]
        module = path.removesuffix(".py").replace("/", ".")
        yield CodingDialogue(
            project, path, row["namespace"].removeprefix(f"{module}."), text, code,
            int(row["indent"]), (f"{row['prompt']}\n{first}", *rest),
            tuple(tuple(requirement["unit_test"]) for requirement in asked),
            tuple(name for names in row["dependency"].values() for name in names),
        )  # fmt: skip


def outcomes(
    sources: ProjectSources, dialogue: CodingDialogue, text: str, tests: Sequence[str]
) -> list[str]:
    """How tests end where the dialogue's file has that text. Raises InputError."""
    require_boundary()
    with tempfile.TemporaryDirectory(prefix="treering-bench-") as folder:
        root = Path(folder) / "project"
        shutil.copytree(sources.root / dialogue.project, root, symlinks=True)
        (root / dialogue.path).write_text(text, encoding="utf-8")
        job = json.dumps({"root": str(root), "module": dialogue.module, "tests": tests})
        try:
            finished = subprocess.run(
                [sys.executable, "-P", str(BOUNDARY), "--write", folder, "-m", CHILD],
                input=job, capture_output=True, text=True,
                timeout=SECONDS, cwd=folder, check=False,
                env={"PYTHONPATH": sources.search_path, "PATH": os.defpath},
            )  # fmt: skip
            ended = json.loads(finished.stdout.strip().splitlines()[-1])
        except (subprocess.TimeoutExpired, IndexError, ValueError, RecursionError):
            ended = None
    if not isinstance(ended, list) or len(ended) != len(tests):
        return ["failed"] * len(tests)
    return [str(end) for end in ended]


def usable(sources: ProjectSources, dialogue: CodingDialogue) -> CodingDialogue | None:
    """The dialogue with the instructions whose tests can be run here.

    None where the true code passes fewer than ``PASSED`` of them: something is not as it was.
    """
    every = [test for tests in dialogue.tests for test in tests]
    ended = dict(zip(every, outcomes(sources, dialogue, dialogue.source, every), strict=True))
    usable_rounds = [
        (instruction, good)
        for instruction, tests in zip(dialogue.instructions, dialogue.tests, strict=True)
        if (good := tuple(test for test in tests if ended[test] in ("passed", "failed")))
    ]
    if sum(how == "passed" for how in ended.values()) < PASSED:
        return None
    asked = [instruction for instruction, _ in usable_rounds]
    runnable = tuple(good for _, good in usable_rounds)
    if asked[0] != dialogue.instructions[0]:  # what is to be written is said with the first
        asked[0] = f"{dialogue.instructions[0]}\n{asked[0]}"
    return replace(dialogue, instructions=tuple(asked), tests=runnable)


@dataclass(frozen=True, slots=True)
class WrittenRound:
    """The code of one round, the tokens that its prompts had, and the blocks shown with their
    code."""

    code: str
    tokens: int
    shown: Sequence[CodeBlock]


Write = Callable[[str], WrittenRound]


def full_conversation(memory: Memory, llm: LLM, dialogue: CodingDialogue) -> Write:
    """The model sees all instructions and replies so far."""
    blocks = memory.code.blocks(dialogue.instructions[0])
    context = repository_context(blocks, llm.count_tokens, CONTEXT_TOKENS)
    name = dialogue.qualified.rpartition(".")[2]
    messages: list[Message] = []

    def write(instruction: str) -> WrittenRound:
        shown = f"Repo Context\n{context.text}\n\n" if not messages else ""
        asked = f"{shown}{instruction}\nOutput the whole function {name}, and nothing else."
        messages.append(Message("user", asked))
        reply = llm.complete(messages, max_tokens=MAX_TOKENS, temperature=0.0)
        messages.append(Message("assistant", reply.text))
        return WrittenRound(code_of(reply.text), reply.usage.prompt_tokens, context.whole)

    return write


def code_memory(memory: Memory, _llm: LLM, dialogue: CodingDialogue, **parts: str) -> Write:
    """``memory.code.generate``; ``parts`` are arguments of ``memory.configure``."""
    memory.configure(**parts)  # type: ignore[arg-type]

    def write(instruction: str) -> WrittenRound:
        generated = memory.code.generate(
            instruction, definition=f"{dialogue.path}::{dialogue.qualified}", budget=CONTEXT_TOKENS
        )
        return WrittenRound(generated.code, generated.usage.prompt_tokens, generated.context)

    return write


WAYS: dict[str, Callable[[Memory, LLM, CodingDialogue], Write]] = {
    "full": full_conversation,
    "memory": code_memory,
    "codemem": partial(code_memory, preset="codemem"),
    "codemem-ctxmem": partial(code_memory, preset="codemem", context="static"),
    "codemem-ctxast": partial(code_memory, preset="codemem", context="added"),
    "codemem-sessast": partial(code_memory, preset="codemem", detector="none"),
}
DEFAULT_WAYS = ("full", "memory")

FEEDBACK = "Your answer is incorrect. Please regenerate."
"""What the user says of code that fails (CodeMEM, appendix C)."""


def with_feedback(dialogue: CodingDialogue, rounds: int) -> CodingDialogue:
    """The first instruction of a dialogue, and feedback in all rounds after it."""
    asked = (dialogue.instructions[0], *[FEEDBACK] * (rounds - 1))
    return replace(dialogue, instructions=asked, tests=(dialogue.tests[0],) * rounds)


def play_dialogue(
    sources: ProjectSources,
    dialogue: CodingDialogue,
    llm: LLM,
    way: str,
    rounds: int,
    *,
    until_solved: bool = False,
) -> PlayedDialogue:
    """One dialogue, or its rounds ``until_solved``. Raises LLMUnavailable, also when the model's
    time is up."""
    played = PlayedDialogue()
    with tempfile.TemporaryDirectory(prefix="treering-bench-") as folder:
        root = Path(folder) / dialogue.project
        shutil.copytree(sources.root / dialogue.project, root)
        (root / dialogue.path).write_text(dialogue.hole(), encoding="utf-8")
        with Memory.open(Path(folder) / "memory.db", llm=llm) as memory:
            memory.code.index(root)
            write = WAYS[way](memory, llm, dialogue)
            if way != "full":
                now = memory.configure()
                played.parts |= {
                    "judge": now.judge, "detector": now.detector, "context": now.context
                }  # fmt: skip
            for at, instruction in enumerate(dialogue.instructions[:rounds]):
                context = None
                try:
                    answer = write(instruction)
                    text, tokens = dialogue.filled(answer.code), answer.tokens
                    context = evidence_shown(dialogue, answer.shown)
                except LLMReplyError:  # it did not write the function: every test fails
                    text, tokens = dialogue.hole(), 0
                played.outcomes.append(_passed(sources, dialogue, text, at + 1))
                played.tokens.append(tokens)
                played.context.append(context)
                if until_solved and all(played.outcomes[-1]):
                    break
    return played


def _passed(
    sources: ProjectSources, dialogue: CodingDialogue, text: str, rounds: int
) -> list[bool]:
    """Whether all tests pass, of each of the first instructions."""
    so_far = dialogue.tests[:rounds]
    every = [test for tests in so_far for test in tests]
    ended = iter(outcomes(sources, dialogue, text, every))
    # Each instruction takes the outcomes of all its tests, also after one that failed.
    by_instruction = [[next(ended) for _ in tests] for tests in so_far]
    return [all(outcome == "passed" for outcome in own) for own in by_instruction]


def evidence_shown(
    dialogue: CodingDialogue, shown: Sequence[CodeBlock]
) -> tuple[float, float] | None:
    """Recall and precision of the dialogue's dependencies among blocks."""
    if not dialogue.gold:
        return None
    target, hits = Dependencies(dialogue.gold), as_hits(shown)
    return target.found(hits), target.precision(hits)


def by_round(played: Sequence[PlayedDialogue], which: int) -> list[float | None]:
    """The mean of recall (0) or precision (1) of every round, over dialogues that have it."""
    rounds = zip_longest(*(dialogue.context for dialogue in played))
    there = [[pair[which] for pair in some if pair is not None] for some in rounds]
    return [round(fmean(some), 4) if some else None for some in there]


def report(played: Sequence[PlayedDialogue]) -> dict[str, Any]:
    """Means over all rounds."""
    figures = [figure for rounds in played for figure in followed(rounds.outcomes)]
    lost = [figure.ifr for figure in figures if figure.ifr is not None]
    passed = [all(rounds.outcomes[-1]) for rounds in played]
    return {
        "dialogues": len(played),
        **played[0].parts,
        "rounds": len(figures),
        "IA": round(fmean(figure.ia for figure in figures), 4),
        "CA": round(fmean(figure.ca for figure in figures), 4),
        "IFR": round(fmean(lost), 4) if lost else None,
        "pass@1 at the end": round(fmean(pass_at_k(1, int(all_pass), 1) for all_pass in passed), 4),
        "context recall by round": by_round(played, 0),
        "context precision by round": by_round(played, 1),
        "prompt tokens a round": round(fmean(t for rounds in played for t in rounds.tokens)),
    }


def feedback_report(played: Sequence[PlayedDialogue], rounds: int) -> dict[str, Any]:
    """The share of tasks that are solved by each round (Pass@1)."""
    solved = [len(task.outcomes) if all(task.outcomes[-1]) else None for task in played]
    by_round = [
        sum(at is not None and at <= number for at in solved) / len(solved)
        for number in range(1, rounds + 1)
    ]
    return {
        "tasks": len(played),
        **played[0].parts,
        "pass@1 by round": [round(share, 4) for share in by_round],
        "prompt tokens a round": round(fmean(t for task in played for t in task.tokens)),
    }


def session_figures(
    sources: ProjectSources,
    ready: Sequence[CodingDialogue],
    llm: LLM,
    rounds: int,
    progress: Progress,
    ways: Sequence[str] = DEFAULT_WAYS,
    *,
    feedback: bool = False,
) -> dict[str, Any]:
    """What came of dialogues, by way; those that were cut short by the model's time do not count.

    Raises InputError if there is no dialogue that can be run.
    """
    if not ready:
        raise InputError("no dialogue can be run here: its project, or what that needs, is missing")
    played: dict[str, list[PlayedDialogue]] = {way: [] for way in ways}
    for done, dialogue in enumerate(ready, 1):
        asked = with_feedback(dialogue, rounds) if feedback else dialogue
        try:
            every = {
                way: play_dialogue(sources, asked, llm, way, rounds, until_solved=feedback)
                for way in ways
            }
        except LLMUnavailable:
            break
        for way, of_dialogue in every.items():
            played[way].append(of_dialogue)
        progress(done, len(ready), dialogue.qualified)
    summarise = partial(feedback_report, rounds=rounds) if feedback else report
    return {way: summarise(of_way) for way, of_way in played.items() if of_way}
