"""Context memory across rounds: judge, merge, select (CodeMEM, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from treering.errors import InputError
from treering.llm.contract import LLM, Reply
from treering.llm.prompts import load
from treering.llm.structured import ask_structured
from treering.views.choices import ContextName
from treering.views.code.index.blocks import CodeBlock
from treering.views.code.parse.parser import parse

_JUDGE_TOKENS = 400
"""A mode, one sentence and a few names; more is rambling."""
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a round needs more of the repository, in the form the judge prompt asks for."""

    mode: Literal["ADD", "KEEP"]
    action: str = ""
    target_context: tuple[str, ...] = ()


Judge = Callable[[Sequence[str], Sequence[str]], Judgement]
"""Decides at the start of a round (eq. 3), from the instructions so far, the current one last, and
the keys of the blocks at hand."""


def llm_judge(llm: LLM, on_reply: Callable[[Reply], object] | None = None) -> Judge:
    """The judge of appendix E: a model sees instructions and keys. It raises LLMError."""

    def judge(instructions: Sequence[str], keys: Sequence[str]) -> Judgement:
        prompt = load("codemem_judge").fill(
            instructions="\n".join(instructions),
            existing_repository_context="\n\n".join(keys) or "(empty)",
        )
        return ask_structured(llm, prompt, Judgement, max_tokens=_JUDGE_TOKENS, on_reply=on_reply)

    return judge


def name_judge(is_name: Callable[[str], bool]) -> Judge:
    """A judge without a model: KEEP if the keys say every name of the last instruction.

    ``is_name`` is whether a word is the name of something in the repository.
    """

    def judge(instructions: Sequence[str], keys: Sequence[str]) -> Judgement:
        held = {word for key in keys for word in _WORD.findall(key)}
        names = dict.fromkeys(_WORD.findall(instructions[-1]))
        missing = tuple(name for name in names if is_name(name) and name not in held)
        if keys and not missing:
            return Judgement("KEEP", "the context names all that the instruction names")
        return Judgement("ADD", "look up what the instruction is about", missing)

    return judge


class ContextMemory:
    """The blocks at hand during a conversation about code.

    ``retrieve`` returns the blocks of the repository that ADD merges in for a query. ``kind``
    leaves parts of the memory out, as the paper's ablations do: see ``choices.ContextName``.
    """

    def __init__(
        self,
        retrieve: Callable[[str], Sequence[CodeBlock]],
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
        if self._kind != "static":
            judgement = self._judge(instructions, [block.key for block in self.blocks])
        elif self._instructions:
            judgement = Judgement("KEEP", "a static context stays as it is")
        else:
            judgement = Judgement("ADD", "a static context is retrieved once")
        if judgement.mode == "ADD":
            query = "\n".join([*instructions, *judgement.target_context])
            self._blocks |= {block.place: block for block in self._retrieve(query)}
        self._instructions = instructions
        return judgement

    def end(self, code: str, language: str | None) -> None:
        """End a round: keep the blocks whose APIs the generated code calls (eq. 2, 5)."""
        if self._kind != "selected":
            return
        called = {call.name for call in parse(code, language).calls}
        self._blocks = {
            key: block for key, block in self._blocks.items() if not called.isdisjoint(block.apis)
        }
