"""A whole round with a language model (CodeMEM, figure 2). The code it writes is never run here.

Judge and context memory, note and session memory, generation, detection, and generation once more
where the draft undoes something: each a function, so that a round reads as the figure does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from treering.code.blocks import CodeBlock
from treering.code.changes import DefinitionChange, in_class, pieces
from treering.code.context_memory import ContextMemory, Judgement
from treering.code.details import Come
from treering.code.detect import judge
from treering.code.guard import arrivals, brought, piece_of
from treering.code.left_out import told
from treering.code.reply import code_of
from treering.code.session import SAME_INTENT, SessionBlock, Similarity
from treering.errors import LLMReplyError
from treering.llm.contract import LLM, Message, Reply, Usage
from treering.llm.prompts import load

CODE_TOKENS = 1500
"""Room for a function of some 150 lines."""
NOTE_TOKENS = 120
"""Two sentences."""
CONTEXT_BUDGET = 2000
"""Tokens of repository context in a prompt: FragRel's 2K."""

_NOTHING = "(none)"


@dataclass(frozen=True, slots=True)
class Written:
    """The definition that a round writes: where it belongs and what it is called."""

    path: str
    qualified: str
    language: str
    header: str = ""
    """The signature of the class that a method is in."""

    @property
    def name(self) -> str:
        """The last part of its name."""
        return self.qualified.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Loss:
    """An earlier instruction that new code is likely to undo, and what of it is missing."""

    instruction: str
    missing: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join([self.instruction, *(f"missing: {one}" for one in self.missing)])


@dataclass(frozen=True, slots=True)
class Generated:
    """What a round wrote, what it was shown, and what the detector said.

    ``context`` are the blocks whose code it was shown; of others it saw the key at most.
    ``undone`` is what the code is likely to undo still; ``draft`` is what was
    written first, where that undid something and was written again. ``note`` is what was noted of
    the round before.
    """

    code: str
    block: SessionBlock
    judgement: Judgement
    context: tuple[CodeBlock, ...]
    memory: tuple[SessionBlock, ...]
    undone: tuple[Loss, ...]
    draft: str = ""
    note: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def regenerated(self) -> bool:
        """Whether the first draft undid something."""
        return bool(self.draft)


@dataclass(frozen=True, slots=True)
class RepositoryContext:
    """What a prompt shows of a repository, and the blocks that it shows with their code."""

    text: str
    whole: tuple[CodeBlock, ...]


class Asking(Protocol):
    """A model that is asked, with what it costs booked under an operation."""

    def __call__(self, operation: str, prompt: str, max_tokens: int) -> Reply:
        """The reply to one prompt. Raises LLMError."""
        ...


def asking(llm: LLM, pay: Callable[[str, Reply], None]) -> Asking:
    """Ask ``llm`` greedily and book the cost."""

    def ask(operation: str, prompt: str, max_tokens: int) -> Reply:
        reply = llm.complete([Message("user", prompt)], max_tokens=max_tokens, temperature=0.0)
        pay(operation, reply)
        return reply

    return ask


def round_of(
    instruction: str,
    target: Written,
    blocks: Sequence[SessionBlock],
    context: ContextMemory,
    ask: Asking,
    similarity: Similarity,
    shown: Callable[[Sequence[CodeBlock]], RepositoryContext],
) -> Generated:
    """One round: ``blocks`` is the definition's sequence so far, oldest first, perhaps empty.

    ``shown`` makes of the context memory's blocks what the prompt has.

    Raises InputError, LLMError; LLMReplyError when the reply does not hold the definition.
    """
    judgement = context.begin(instruction)
    usage = Usage()
    note = ""
    if blocks and blocks[-1].instruction and not blocks[-1].note:
        reply = ask("code note", note_prompt(blocks[-1], instruction), NOTE_TOKENS)
        note, usage = reply.text.strip(), usage + reply.usage
        blocks = [*blocks[:-1], replace(blocks[-1], note=note)]
    memory = working(blocks, similarity)
    repository = shown(context.blocks)
    reply = ask("code", _prompt(repository.text, memory, (), "", instruction), CODE_TOKENS)
    code, usage = _code(reply, target), usage + reply.usage
    lost, draft = losses(blocks, instruction, code), ""
    if lost:
        prompt = _prompt(repository.text, memory, lost, code, instruction)
        reply = ask("code", prompt, CODE_TOKENS)
        draft, code, usage = code, _code(reply, target), usage + reply.usage
        lost = losses(blocks, instruction, code)
    context.end(code, target.language)
    block = SessionBlock(target.qualified, instruction, code, target.language, path=target.path)
    return Generated(code, block, judgement, repository.whole, memory, lost, draft, note, usage)


def losses(blocks: Sequence[SessionBlock], instruction: str, code: str) -> tuple[Loss, ...]:
    """What ``code`` is likely to undo of the rounds ``blocks``, from texts alone.

    Two detectors: the guard, which speaks of what is surely taken back, and the scorer, which
    weighs what each instruction asked for. A false alarm costs one more reply, no more.
    """
    if not blocks:
        return ()
    found: dict[str, Loss] = {}
    change = DefinitionChange(piece_of(blocks[-1]), piece_of(replace(blocks[-1], code=code)))
    for one in told(change, brought(blocks), arrivals([change]), Come.of([change])):
        found.setdefault(one.instruction, Loss(one.instruction, one.missing))
    verdict = judge(blocks, instruction, code)
    for finding in verdict.findings if verdict.alarm else ():
        asked, parts = finding.case.instruction, finding.case.parts
        missing = tuple(dict.fromkeys(f"{part.kind} {part.text}" for part in parts))
        found.setdefault(asked, Loss(asked, missing))
    return tuple(found.values())


def working(blocks: Sequence[SessionBlock], similarity: Similarity) -> tuple[SessionBlock, ...]:
    """The last block and those of like instruction before it (eq. 13)."""
    if not blocks:
        return ()
    last = blocks[-1]
    asked = [block for block in blocks[:-1] if block.instruction and last.instruction]
    linked = [m for m in asked if similarity(last.instruction, m.instruction) >= SAME_INTENT]
    return (*linked, last)


def note_prompt(block: SessionBlock, following: str) -> str:
    """What the model is asked to note of a block, now that the next instruction is known."""
    return load("codemem_note").fill(
        instruction=block.instruction,
        change="\n".join(_changed(block)) or block.code,
        next_instruction=following,
    )


def repository_context(
    blocks: Sequence[CodeBlock], count_tokens: Callable[[str], int], budget: int
) -> RepositoryContext:
    """The values of blocks, in order, as far as they fit; the keys of the others."""
    shown: list[str] = []
    whole: list[CodeBlock] = []
    for block in blocks:
        value = f"# {block.path}\n{block.value}"
        for text in (value, block.key):
            if count_tokens("\n\n".join([*shown, text])) <= budget:
                shown.append(text)
                whole += [block] if text is value else []
                break
    return RepositoryContext("\n\n".join(shown), tuple(whole))


def _prompt(
    repository: str,
    memory: Sequence[SessionBlock],
    lost: Sequence[Loss],
    draft: str,
    instruction: str,
) -> str:
    told = [_told(block, whole=block is memory[-1]) for block in memory]
    if lost:
        told.append(f"A draft that must not be used as it is:\n{draft}")
        told += [_lost(one) for one in lost]
    return load("codemem_generate").fill(
        repo_context=repository or _NOTHING,
        memory_blocks="\n\n".join(told) or _NOTHING,
        instruction=instruction,
    )


def _told(block: SessionBlock, whole: bool) -> str:
    """A block in a prompt; of linked ones only what they changed."""
    lines = [f"Instruction: {block.instruction or '(the code as it was found)'}"]
    lines += [f"Note: {block.note}"] if block.note else []
    lines += [f"Outcome: {block.outcome}"] if block.outcome else []
    lines += ["Code:", block.code] if whole else ["Change:", *_changed(block)]
    return "\n".join(lines)


def _changed(block: SessionBlock) -> Iterator[str]:
    for sign, some in (("-", block.change.deleted), ("+", block.change.added)):
        for one in sorted(some, key=lambda statement: statement.first_line):
            yield f"{sign} {one.text}"


def _lost(loss: Loss) -> str:
    """A requirement that the draft undoes (eq. 15)."""
    first = f"The draft undoes this earlier instruction, which still holds: {loss.instruction}"
    return "\n".join([first, *(f"Missing: {one}" for one in loss.missing)])


def _code(reply: Reply, target: Written) -> str:
    """The definition in a reply, as code that parses by itself."""
    found = pieces(target.path, code_of(reply.text))
    named = [one for one in found.values() if one.qualified.rpartition(".")[2] == target.name]
    if not named:
        raise LLMReplyError(
            f"{reply.model} was asked for {target.qualified} and did not write it; it wrote "
            f"{reply.text[:200]!r}. Say in the instruction what it is called"
        )
    piece = next((one for one in named if one.qualified == target.qualified), named[-1])
    if target.header and not piece.header:
        return in_class(target.header, piece.code, target.language)
    return piece.code
