"""CodeIF-Bench L-2 with a language model: whole conversation against code memory.

``full`` shows the model the whole conversation, ``memory`` is ``memory.code.generate`` as it is,
``codemem`` the same as its paper prints it, and ``codemem-ctxmem``, ``-ctxast``, ``-sessast`` that
without a part (5.2); all get the same blocks of the repository for the first instruction. After
every round the unit tests of all instructions so far are run in a process of its own: IA is the
share of rounds whose own test passes, CA the mean share of all tests so far, IFR the share of tests
passed before that fail now, pass@1 the share of dialogues that end with all of them passing. Recall
and precision are of the gold dependencies among the blocks of the repository whose code each round
was shown. Tests that need fixtures which the data does not hold are left out, and so are dialogues
whose project cannot be imported here.

With feedback it is the protocol of CoderEval (4.1): the first instruction alone, and after each
round whose tests fail the sentence ``FEEDBACK``; pass@1 is then measured by round.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import treering
from treering.errors import LLMReplyError
from treering.llm.contract import LLM, Message
from treering.memory import Memory
from treering.views.code.index.blocks import CodeBlock
from treering.views.code.parse.pieces import pieces
from treering.views.code.write.generate import code_of, repository_context
from treering_bench.coding.retrieval import as_hits, sources_of, with_rounds
from treering_bench.coding.sandbox import BOUNDARY, require_boundary
from treering_bench.coding.sources import project_folder, source_text
from treering_bench.coding.task import Dependencies
from treering_bench.metrics.rounds import followed
from treering_bench.models import kept_model
from treering_bench.options import RunOptions
from treering_bench.read import json_lines, read_as, sha256_of
from treering_bench.registry import CodeBenchmark
from treering_bench.runner import Group, Measured, Plan, Way, chosen, named_among
from treering_bench.suites.codeif_bench import l2_file

CHILD: Final = "treering_bench.coding.unit_tests_child"
SECONDS: Final = 60.0  # for the tests of a round
PASSED: Final = 3  # tests that the true code must pass
MAX_TOKENS: Final = 600
CONTEXT_TOKENS: Final = 800
ROUNDS: Final = 9  # the paper's

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
    """Dotted names of the definitions that the true code uses."""

    @property
    def id(self) -> str:
        """The function to write."""
        return f"{self.path}::{self.qualified}"

    @property
    def category(self) -> str:
        """None: dialogues are of one kind."""
        return ""

    @property
    def text(self) -> str:
        """The first instruction."""
        return self.instructions[0]

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
    """The folder of the projects, and folders with packages that they need."""

    root: Path
    sites: tuple[Path, ...] = ()

    @property
    def search_path(self) -> str:
        """The import path of code under test and of its runner."""
        own = Path(treering.__file__).parents[1]
        return os.pathsep.join(map(str, (own, *self.sites)))


def dialogues(data: Path, sources: Path) -> Iterator[CodingDialogue]:
    """The dialogues whose function is found in the sources."""
    for row in json_lines(l2_file(data)):
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
    if asked[0] != dialogue.instructions[0]:  # the first one names the function
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
    context, whole = repository_context(blocks, llm.count_tokens, CONTEXT_TOKENS)
    name = dialogue.qualified.rpartition(".")[2]
    messages: list[Message] = []

    def write(instruction: str) -> WrittenRound:
        shown = f"Repo Context\n{context}\n\n" if not messages else ""
        asked = f"{shown}{instruction}\nOutput the whole function {name}, and nothing else."
        messages.append(Message("user", asked))
        reply = llm.complete(messages, max_tokens=MAX_TOKENS, temperature=0.0)
        messages.append(Message("assistant", reply.text))
        return WrittenRound(code_of(reply.text), reply.usage.prompt_tokens, whole)

    return write


def code_memory(memory: Memory, _llm: LLM, dialogue: CodingDialogue, **parts: str) -> Write:
    """``memory.code.generate``; ``parts`` are arguments of ``memory.configure``."""
    memory.configure(**parts)  # type: ignore[arg-type]

    def write(instruction: str) -> WrittenRound:
        generated = memory.code.generate(instruction, definition=dialogue.id, budget=CONTEXT_TOKENS)
        return WrittenRound(generated.code, generated.usage.prompt_tokens, generated.context)

    return write


WAYS: Final[Mapping[str, Callable[[Memory, LLM, CodingDialogue], Write]]] = {
    "full": full_conversation,
    "memory": code_memory,
    "codemem": partial(code_memory, preset="codemem"),
    "codemem-ctxmem": partial(code_memory, preset="codemem", context="static"),
    "codemem-ctxast": partial(code_memory, preset="codemem", context="added"),
    "codemem-sessast": partial(code_memory, preset="codemem", detector="none"),
}
DEFAULT_WAYS: Final = ("full", "memory")

FEEDBACK: Final = "Your answer is incorrect. Please regenerate."
"""The user's reply to code that fails (CodeMEM, appendix C)."""


def with_feedback(dialogue: CodingDialogue, rounds: int) -> CodingDialogue:
    """The first instruction of a dialogue, and feedback in all rounds after it."""
    asked = (dialogue.instructions[0], *[FEEDBACK] * (rounds - 1))
    return replace(dialogue, instructions=asked, tests=(dialogue.tests[0],) * rounds)


@dataclass(slots=True)
class PlayedRounds:
    """The outcomes of all tests so far after each round, and the cost and context of each."""

    outcomes: list[list[bool]] = field(default_factory=list)
    figures: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    code: list[str] = field(default_factory=list)

    def metrics(self) -> dict[str, float]:
        """IA, CA, IFR, dependencies and cost: means over the rounds that have them, and each."""
        for number, score in enumerate(followed(self.outcomes), 1):
            self.figures["IA"][number] = score.ia
            self.figures["CA"][number] = score.ca
            if score.ifr is not None:
                self.figures["IFR"][number] = score.ifr
        return {**with_rounds(self.figures), "pass@1": float(all(self.outcomes[-1]))}

    def solved(self, rounds: int) -> dict[str, float]:
        """Pass@1 by round of a task that was played until it was solved."""
        at = len(self.outcomes) if all(self.outcomes[-1]) else rounds + 1
        by_round = {f"pass@1, round {n}": float(at <= n) for n in range(1, rounds + 1)}
        return {"pass@1": float(at <= rounds), **with_rounds(self.figures), **by_round}


def play(
    sources: ProjectSources,
    dialogue: CodingDialogue,
    llm: LLM,
    way: str,
    rounds: int,
    *,
    until_solved: bool = False,
) -> Measured:
    """One dialogue, or its rounds ``until_solved``. Raise LLMUnavailable."""
    played, parts = PlayedRounds(), {}
    with tempfile.TemporaryDirectory(prefix="treering-bench-") as folder:
        root = Path(folder) / dialogue.project
        shutil.copytree(sources.root / dialogue.project, root)
        (root / dialogue.path).write_text(dialogue.hole(), encoding="utf-8")
        with Memory.open(Path(folder) / "memory.db", llm=llm) as memory:
            memory.code.index(root)
            write = WAYS[way](memory, llm, dialogue)
            if way != "full":
                now = memory.configure()
                parts = {"judge": now.judge, "detector": now.detector, "context": now.context}
            for at, instruction in enumerate(dialogue.instructions[:rounds], 1):
                _play_round(sources, dialogue, write, instruction, at, played)
                if until_solved and all(played.outcomes[-1]):
                    break
    metrics = played.solved(rounds) if until_solved else played.metrics()
    return Measured(metrics, {**parts, "code": played.code})


def _play_round(
    sources: ProjectSources,
    dialogue: CodingDialogue,
    write: Write,
    instruction: str,
    number: int,
    played: PlayedRounds,
) -> None:
    begun = time.monotonic()
    try:
        answer = write(instruction)
        text, code = dialogue.filled(answer.code), answer.code
        played.figures["tokens prompt"][number] = answer.tokens
        if dialogue.gold:
            target, hits = Dependencies(dialogue.gold), as_hits(answer.shown)
            played.figures["context recall"][number] = target.found(hits)
            played.figures["context precision"][number] = target.precision(hits)
    except LLMReplyError:  # it did not write the function: every test fails
        text, code = dialogue.hole(), ""
    played.figures["seconds"][number] = time.monotonic() - begun
    played.outcomes.append(_passed(sources, dialogue, text, number))
    played.code.append(code)


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


def plan(
    benchmark: CodeBenchmark, options: RunOptions, opened: ExitStack, replies: Path
) -> Plan[ProjectSources, CodingDialogue]:
    """The plan of a run with a model. It is closed with ``opened``."""
    used = {"llm", "sources", "site", "rounds", "feedback", "replies", "minutes"}
    options.refuse_all_but(f"{benchmark.name} with --llm", used)
    names = {way: way for way in WAYS}
    ways = named_among(options.policy or (), names, DEFAULT_WAYS)
    place = ProjectSources(sources_of(options), tuple(options.site or ()))
    rounds = options.rounds or ROUNDS
    llm = opened.enter_context(kept_model(options.llm, replies, options.minutes, estimating=False))

    def measured(way: str, place: ProjectSources, dialogue: CodingDialogue) -> Measured:
        asked = with_feedback(dialogue, rounds) if options.feedback else dialogue
        return play(place, asked, llm, way, rounds, until_solved=options.feedback)

    return Plan(
        "sessions",
        [Way(way, partial(measured, way)) for way in ways],
        _groups(benchmark, options, place),
        "that can be run here: a project, or something that it needs, is missing",
        {
            "model": llm.model,
            "rounds": rounds,
            "feedback": options.feedback,
            "sources": sha256_of(place.root),
        },
        {"llm": llm},
    )


def _groups(
    benchmark: CodeBenchmark, options: RunOptions, place: ProjectSources
) -> Iterator[Group[ProjectSources, CodingDialogue]]:
    published = list(read_as(benchmark.name, options.data, dialogues(options.data, place.root)))

    def ready() -> Iterator[tuple[str, Sequence[CodingDialogue]]]:
        for dialogue in published:
            if (can_run := usable(place, dialogue)) is not None:
                yield dialogue.project, [can_run]

    for project, some in chosen(
        ready, limit=options.limit, sample=options.sample, seed=options.seed
    ):
        yield Group(project, some, lambda: nullcontext(place))
