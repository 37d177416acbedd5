"""Context memory across rounds: judge, merge, select (CodeMEM, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from treering.errors import InputError
from treering.llm.contract import LLM, Message, Usage
from treering.llm.prompts import load
from treering.llm.structured import ask_structured
from treering.views.choices import ContextName
from treering.views.code.index.blocks import CodeBlock, best_blocks, blocks_named
from treering.views.code.index.code_index import CodeIndex
from treering.views.code.parse.parser import parse
from treering.views.settings import SpaceSettings

_JUDGE_TOKENS = 400
"""A mode, one sentence and a few names; more is rambling."""
_WORD = re.compile(r"[^\W\d]\w*")

Decision = Literal["ADD", "KEEP"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a round needs more of the repository, in the form the judge prompt asks for."""

    mode: Decision
    action: str = ""
    target_context: tuple[str, ...] = ()


class Judge(Protocol):
    """Decides at the start of a round (eq. 3)."""

    def decide(self, instructions: Sequence[str], keys: Sequence[str]) -> Judgement:
        """ADD or KEEP for the instructions so far, the current one last, given the keys held."""
        ...


class LLMJudge:
    """The judge of appendix E: a language model sees instructions and keys."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.usage = Usage()

    def decide(self, instructions: Sequence[str], keys: Sequence[str]) -> Judgement:
        """Raises LLMError; LLMReplyError when the reply is neither ADD nor KEEP."""
        prompt = load("codemem_judge").fill(
            instructions="\n".join(instructions),
            existing_repository_context="\n\n".join(keys) or "(empty)",
        )
        reply = ask_structured(
            self._llm, [Message("user", prompt)], Judgement, max_tokens=_JUDGE_TOKENS
        )
        self.usage += reply.usage
        return reply.value


class NameJudge:
    """A judge without a model: do the keys cover the names of the instruction?

    ``known`` tells whether a word is the name of something in the repository; only such words can
    be missing.
    """

    def __init__(self, is_name: Callable[[str], bool]) -> None:
        self._known = is_name

    def decide(self, instructions: Sequence[str], keys: Sequence[str]) -> Judgement:
        """KEEP if something is held and every name of the last instruction occurs in the keys."""
        held = {word for key in keys for word in _WORD.findall(key)}
        names = dict.fromkeys(_WORD.findall(instructions[-1]))
        missing = tuple(name for name in names if self._known(name) and name not in held)
        if keys and not missing:
            return Judgement("KEEP", "the context names all that the instruction names")
        return Judgement("ADD", "look up what the instruction is about", missing)


Retrieve = Callable[[str], Sequence[CodeBlock]]
"""Blocks of the repository for a query, best first: those that ADD merges in."""


class ContextMemory:
    """The blocks at hand during a conversation about code.

    ``kind`` leaves parts of it out, as the paper's ablations do: see ``choices.CONTEXTS``.
    """

    def __init__(
        self,
        retrieve: Retrieve,
        judge: Judge,
        blocks: Iterable[CodeBlock] = (),
        kind: ContextName = "selected",
        instructions: Sequence[str] = (),
    ) -> None:
        self._retrieve = retrieve
        self._judge = judge
        self._kind = kind
        self._blocks = {block.place: block for block in blocks}
        self._instructions = list(instructions)

    @property
    def blocks(self) -> tuple[CodeBlock, ...]:
        """The held blocks, in the order they came."""
        return tuple(self._blocks.values())

    @property
    def keys(self) -> tuple[str, ...]:
        """The blocks at hand as ``PATH::NAME``."""
        return tuple(self._blocks)

    def begin(self, instruction: str) -> Judgement:
        """Start a round: judge, and merge in the blocks that ADD retrieves (eq. 3, 4).

        Raises InputError for an empty instruction, and what the judge raises; the memory is then as
        it was.
        """
        if not instruction.strip():
            raise InputError(
                "the instruction is empty; say what to generate or change", param="instruction"
            )
        instructions = [*self._instructions, instruction]
        judgement = self._judgement(instructions)
        if judgement.mode == "ADD":
            query = "\n".join([*instructions, *judgement.target_context])
            self._blocks |= {block.place: block for block in self._retrieve(query)}
        self._instructions = instructions
        return judgement

    def _judgement(self, instructions: Sequence[str]) -> Judgement:
        if self._kind != "static":
            return self._judge.decide(instructions, [block.key for block in self.blocks])
        if len(instructions) == 1:
            return Judgement("ADD", "a static context is retrieved once")
        return Judgement("KEEP", "a static context stays as it is")

    def end(self, code: str, language: str | None) -> None:
        """End a round: keep the blocks whose APIs the generated code calls (eq. 2, 5)."""
        if self._kind != "selected":
            return
        called = {call.name for call in parse(code, language).calls}
        self._blocks = {
            key: block for key, block in self._blocks.items() if not called.isdisjoint(block.apis)
        }


def name_judge(index: CodeIndex | None) -> NameJudge:
    """A ``NameJudge`` that knows the definitions of an index."""
    names = {definition.name for _, definition in index.definitions()} if index else set[str]()
    return NameJudge(names.__contains__)


def open_context(
    index: CodeIndex | None,
    settings: SpaceSettings,
    judge: Judge,
    kind: ContextName = "selected",
    keys: Iterable[str] = (),
    instructions: Sequence[str] = (),
) -> ContextMemory:
    """A context memory over an index. It holds the blocks ``keys``, each ``PATH::NAME``."""

    def retrieve(query: str) -> Sequence[CodeBlock]:
        if index is None:
            return ()
        count, alpha = settings.documents, settings.block_alpha
        return best_blocks(index, query, count, alpha, aside=settings.aside)

    held = [block for key in keys for block in (blocks_named(index, key) if index else ())]
    return ContextMemory(retrieve, judge, held, kind, instructions)
