"""A whole round with a language model (CodeMEM, figure 2). The code it writes is never run here.

Judge and context memory, note and session memory, generation, detection, and a second generation
where the draft undoes something: each a function, so that a round reads as the figure does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from treering.errors import LLMReplyError
from treering.llm.contract import Reply, Usage
from treering.llm.prompts import load
from treering.views.choices import DetectorName
from treering.views.code.guard.printed import printed_reversals
from treering.views.code.guard.report import Reversal, likely_reversals
from treering.views.code.index.blocks import CodeBlock
from treering.views.code.parse.pieces import DefinitionChange, in_class, pieces
from treering.views.code.rounds.history import changes_of, piece_of
from treering.views.code.rounds.session import SAME_INTENT, SessionBlock, Similarity, working_memory
from treering.views.code.write.context_memory import ContextMemory, Judgement

CODE_TOKENS = 1500
"""Room for a function of some 150 lines."""
NOTE_TOKENS = 120
"""Two sentences."""
CONTEXT_BUDGET = 2000
"""Tokens of repository context in a prompt: FragRel's 2K."""

_NOTHING = "(none)"


@dataclass(frozen=True, slots=True)
class WritingTarget:
    """The definition that a round writes: its place and its name."""

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
class GeneratedCode:
    """The code of a round, the blocks that it was shown, and the verdict of the detector.

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
    undone: tuple[Reversal, ...]
    draft: str = ""
    note: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def regenerated(self) -> bool:
        """Whether the first draft undid something."""
        return bool(self.draft)


@dataclass(frozen=True, slots=True)
class RepositoryContext:
    """The repository context of a prompt, and the blocks that it shows with their code."""

    text: str
    whole: tuple[CodeBlock, ...]


Ask = Callable[[str, str, int], Reply]
"""Asks a model: the operation that pays, the prompt, and the most tokens. Raises LLMError."""


@dataclass(frozen=True, slots=True)
class RoundParts:
    """The parts of a round. ``shown`` makes what a prompt has of the context memory's blocks."""

    context: ContextMemory
    ask: Ask
    similarity: Similarity
    shown: Callable[[Sequence[CodeBlock]], RepositoryContext]
    detector: DetectorName = "rules"
    alike: float = SAME_INTENT


def write_round(
    instruction: str, target: WritingTarget, blocks: Sequence[SessionBlock], parts: RoundParts
) -> GeneratedCode:
    """One round: ``blocks`` is the definition's sequence so far, oldest first, perhaps empty.

    Raises InputError, LLMError; LLMReplyError when the reply does not hold the definition.
    """
    context, ask = parts.context, parts.ask
    judgement = context.begin(instruction)
    usage = Usage()
    note = ""
    if blocks and blocks[-1].instruction and not blocks[-1].note:
        reply = ask("code note", note_prompt(blocks[-1], instruction), NOTE_TOKENS)
        note, usage = reply.text.strip(), usage + reply.usage
        blocks = [*blocks[:-1], replace(blocks[-1], note=note)]
    memory = working_memory(blocks, parts.similarity, parts.alike)
    repository = parts.shown(context.blocks)
    reply = ask("code", _prompt(repository.text, memory, (), "", instruction), CODE_TOKENS)
    code, usage = _code(reply, target), usage + reply.usage
    lost, draft = _lost_by(parts, blocks, instruction, code), ""
    if lost:
        prompt = _prompt(repository.text, memory, lost, code, instruction)
        reply = ask("code", prompt, CODE_TOKENS)
        draft, code, usage = code, _code(reply, target), usage + reply.usage
        lost = _lost_by(parts, blocks, instruction, code)
    context.end(code, target.language)
    block = SessionBlock(target.qualified, instruction, code, target.language, path=target.path)
    return GeneratedCode(code, block, judgement, repository.whole, memory, lost, draft, note, usage)


def _lost_by(
    parts: RoundParts, blocks: Sequence[SessionBlock], instruction: str, code: str
) -> tuple[Reversal, ...]:
    if parts.detector == "printed":
        return printed_reversals(blocks, instruction, code, parts.similarity, parts.alike)
    return undone_by(blocks, code) if parts.detector == "rules" else ()


def undone_by(blocks: Sequence[SessionBlock], code: str) -> tuple[Reversal, ...]:
    """The rounds of ``blocks`` that ``code`` is likely to undo, from texts alone."""
    if not blocks:
        return ()
    change = DefinitionChange(piece_of(blocks[-1]), piece_of(replace(blocks[-1], code=code)))
    return likely_reversals(change, changes_of(blocks))


def note_prompt(block: SessionBlock, following: str) -> str:
    """The prompt for the note of a block, now that the next instruction is known."""
    return load("codemem_note").fill(
        instruction=block.instruction,
        change="\n".join(_change_lines(block)) or block.code,
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
    lost: Sequence[Reversal],
    draft: str,
    instruction: str,
) -> str:
    sections = [_block_text(block, whole=block is memory[-1]) for block in memory]
    if lost:
        sections.append(f"A draft that must not be used as it is:\n{draft}")
        sections += [_lost(loss) for loss in lost]
    return load("codemem_generate").fill(
        repo_context=repository or _NOTHING,
        memory_blocks="\n\n".join(sections) or _NOTHING,
        instruction=instruction,
    )


def _block_text(block: SessionBlock, whole: bool) -> str:
    """A block in a prompt; of linked ones only what they changed."""
    lines = [f"Instruction: {block.instruction or '(the code as it was found)'}"]
    lines += [f"Note: {block.note}"] if block.note else []
    lines += [f"Outcome: {block.outcome}"] if block.outcome else []
    lines += ["Code:", block.code] if whole else ["Change:", *_change_lines(block)]
    return "\n".join(lines)


def _change_lines(block: SessionBlock) -> Iterator[str]:
    for sign, some in (("-", block.change.deleted), ("+", block.change.added)):
        for statement in sorted(some, key=lambda statement: statement.first_line):
            yield f"{sign} {statement.text}"


def _lost(loss: Reversal) -> str:
    """A requirement that the draft undoes (eq. 15)."""
    first = f"The draft undoes this earlier instruction, which still holds: {loss.instruction}"
    missing = (f"Missing: {part}" for part in loss.missing)
    # A rule may name nothing that is gone, only what that instruction had removed.
    back = () if loss.missing else (f"There again: {line.text}" for line in loss.now)
    return "\n".join([first, *missing, *back])


def _code(reply: Reply, target: WritingTarget) -> str:
    """The definition in a reply, as code that parses alone."""
    by_key = pieces(target.path, code_of(reply.text))
    named = [
        candidate
        for candidate in by_key.values()
        if candidate.qualified.rpartition(".")[2] == target.name
    ]
    if not named:
        raise LLMReplyError(
            f"{reply.model} should write {target.qualified} and did not; it wrote "
            f"{reply.text[:200]!r}. Say in the instruction what it is called"
        )
    piece = next(
        (candidate for candidate in named if candidate.qualified == target.qualified), named[-1]
    )
    if target.header and not piece.header:
        return in_class(target.header, piece.code, target.language)
    return piece.code


_FENCED = re.compile(r"^[ \t]*```[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


def code_of(reply: str) -> str:
    """The longest fenced block of a reply, or all of it where nothing is fenced.

    The last fence may be missing: a reply that was cut off is still code.
    """
    blocks = _FENCED.findall(reply)
    return max(blocks, key=len) if blocks else reply
