"""``memory.code.generate``: a whole round with a language model (CodeMEM, figure 2).

Judge and context memory, note and session memory, generation, detection, and a second generation
where the draft undoes something. The code that is written is never run here.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from treering.errors import InputError, LLMReplyError, UnknownName
from treering.llm.account import ModelAccount
from treering.llm.contract import Message, Reply, Usage
from treering.llm.prompts import load
from treering.views.choices import SpaceSettings
from treering.views.code.guard.check import Reversal, likely_reversals, printed_reversals
from treering.views.code.index.blocks import CodeBlock, best_blocks, blocks_named
from treering.views.code.index.code_index import CodeIndex
from treering.views.code.parse.language import LANGUAGES, language_of
from treering.views.code.parse.pieces import in_class, pieces
from treering.views.code.rounds import recorded
from treering.views.code.rounds.history import Checkout, changes_of, piece_of
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.code.rounds.rounds import Rounds
from treering.views.code.rounds.session import SessionBlock, Similarity, working_memory
from treering.views.code.write.context_memory import (
    ContextMemory,
    Judgement,
    llm_judge,
    name_judge,
)

CODE_TOKENS = 1500
"""Room for a function of some 150 lines."""
NOTE_TOKENS = 120
"""Two sentences."""
CONTEXT_BUDGET = 2000
"""Tokens of repository context in a prompt: FragRel's 2K."""

_NOTHING = "(none)"
_FENCED = re.compile(r"^[ \t]*```[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


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
class _Target:
    """The definition that a round writes: its place, and the signature of the class it is in."""

    path: str
    qualified: str
    language: str
    header: str


class Coder:
    """Writes code in rounds and records them, with the keys of the context memory."""

    def __init__(self, rounds: Rounds, account: ModelAccount, similarity: Similarity) -> None:
        self._rounds = rounds
        self._account = account
        self._similarity = similarity

    def write(
        self,
        instruction: str,
        definition: str,
        settings: SpaceSettings,
        index: CodeIndex | None,
        checkout: Checkout,
        budget: int,
    ) -> GeneratedCode:
        """One round on a definition, recorded; ``checkout`` is where its code is worked on.

        Raises InputError, UnknownName, LLMError; LLMReplyError when the reply does not hold the
        definition.
        """
        sequences = recorded.sequences(self._rounds.every(), checkout.names or None)
        key = _find_key(definition, sequences, index)
        earlier = checkout.rounds_here(key, sequences.get(key, []))
        blocks = recorded.sequence(earlier)
        target, there = _target(key, blocks, index)
        if not blocks and there:
            blocks = (SessionBlock(target.qualified, "", there, target.language, path=target.path),)
        context = self._context(earlier, settings, index)
        self._rounds.begin()
        result = self._round(instruction, target, blocks, context, settings, budget)
        written = replace(
            result.block,
            at=datetime.now(UTC),
            repository=checkout.repository,
            branch=checkout.branch,
        )
        code_found = "" if earlier else there
        block = self._rounds.add(written, code_found, context.keys, earlier, result.note)
        return replace(result, block=block)

    def _context(
        self, earlier: Sequence[RecordedBlock], settings: SpaceSettings, index: CodeIndex | None
    ) -> ContextMemory:
        """The context memory as the last round with one left it."""

        def retrieve(query: str) -> Sequence[CodeBlock]:
            count, alpha = settings.documents, settings.block_alpha
            return best_blocks(index, query, count, alpha, aside=settings.aside) if index else ()

        names = {definition.name for _, definition in index.definitions()} if index else set[str]()
        judge = name_judge(names.__contains__)
        if settings.judge == "llm":
            judge = llm_judge(self._account.llm(), partial(self._account.pay, "code judge"))
        past = [record for record in earlier if record.context is not None]
        keys = past[-1].context or () if past else ()
        blocks = [block for key in keys for block in (blocks_named(index, key) if index else ())]
        instructions = [record.block.instruction for record in past]
        return ContextMemory(retrieve, judge, blocks, settings.context, instructions)

    def _round(
        self,
        instruction: str,
        target: _Target,
        blocks: Sequence[SessionBlock],
        context: ContextMemory,
        settings: SpaceSettings,
        budget: int,
    ) -> GeneratedCode:
        """One round: ``blocks`` is the definition's sequence so far, oldest first."""
        judgement = context.begin(instruction)
        usage, note = Usage(), ""
        if blocks and blocks[-1].instruction and not blocks[-1].note:
            reply = self._ask("code note", _note_prompt(blocks[-1], instruction), NOTE_TOKENS)
            note, usage = reply.text.strip(), usage + reply.usage
            blocks = [*blocks[:-1], replace(blocks[-1], note=note)]
        memory = working_memory(blocks, self._similarity, settings.alike)
        count = self._account.llm().count_tokens
        shown, whole = repository_context(context.blocks, count, budget)

        def lost_by(code: str) -> tuple[Reversal, ...]:
            if settings.detector == "printed":
                return printed_reversals(
                    blocks, instruction, code, self._similarity, settings.alike
                )
            if settings.detector == "rules" and blocks:
                draft = piece_of(replace(blocks[-1], code=code))
                return likely_reversals(draft, changes_of(blocks))
            return ()

        reply = self._ask("code", _prompt(shown, memory, (), "", instruction), CODE_TOKENS)
        code, usage = _read_code(reply, target), usage + reply.usage
        lost, draft = lost_by(code), ""
        if lost:
            reply = self._ask("code", _prompt(shown, memory, lost, code, instruction), CODE_TOKENS)
            draft, code, usage = code, _read_code(reply, target), usage + reply.usage
            lost = lost_by(code)
        context.end(code, target.language)
        block = SessionBlock(target.qualified, instruction, code, target.language, path=target.path)
        return GeneratedCode(code, block, judgement, whole, memory, lost, draft, note, usage)

    def _ask(self, operation: str, prompt: str, max_tokens: int) -> Reply:
        request = [Message("user", prompt)]
        reply = self._account.llm().complete(request, max_tokens=max_tokens, temperature=0.0)
        self._account.pay(operation, reply)
        return reply


def repository_context(
    blocks: Sequence[CodeBlock], count_tokens: Callable[[str], int], budget: int
) -> tuple[str, tuple[CodeBlock, ...]]:
    """The text of blocks, in order, as far as their values fit, else their keys.

    Also return the blocks whose values fit.
    """
    shown: list[str] = []
    whole: list[CodeBlock] = []
    for block in blocks:
        value = f"# {block.path}\n{block.value}"
        for text in (value, block.key):
            if count_tokens("\n\n".join([*shown, text])) <= budget:
                shown.append(text)
                whole += [block] if text is value else []
                break
    return "\n\n".join(shown), tuple(whole)


def code_of(reply: str) -> str:
    """The longest fenced block of a reply, or all of it where nothing is fenced.

    The last fence may be missing: a reply that was cut off is still code.
    """
    blocks = _FENCED.findall(reply)
    return max(blocks, key=len) if blocks else reply


def _find_key(definition: str, keys: Iterable[str], index: CodeIndex | None) -> str:
    """The definition that is meant: a known one, or a new one as ``PATH::NAME``."""
    indexed = index.definitions() if index else ()
    try:
        there = {f"{path}::{defined.qualified}" for path, defined in indexed}
        return recorded.find_key(definition, {*keys, *there})
    except UnknownName:
        path, mark, name = definition.partition("::")
        if not mark or not name:
            raise
    if not recorded.is_inside(path) or language_of(path) is None:
        raise InputError(f"{path!r} is not the path of a source file in a known language")
    return definition


def _target(
    key: str, blocks: Sequence[SessionBlock], index: CodeIndex | None
) -> tuple[_Target, str]:
    """The place of a definition, and its code in the index, if it is there."""
    path, _, qualified = key.partition("::")
    language = language_of(path) or blocks[-1].language
    file = index.files.get(path) if index else None
    piece, header = None, ""
    owner = qualified.rpartition(".")[0]
    if owner:
        last = owner.rpartition(".")[2]
        first = blocks[-1].code.partition("\n")[0].rstrip(":{ ") if blocks else ""
        header = first if last in first else f"class {last}"
    if file is not None:
        signatures = {each.qualified: each.signature for each in file.parsed.definitions}
        header = signatures.get(owner, header)
        piece = pieces(path, file.parsed.source.decode(errors="replace")).get(key)
    return _Target(path, qualified, language, header), piece.code if piece else ""


def _note_prompt(block: SessionBlock, following: str) -> str:
    """The prompt for the note of a block, now that the next instruction is known."""
    return load("codemem_note").fill(
        instruction=block.instruction,
        change="\n".join(_change_lines(block)) or block.code,
        next_instruction=following,
    )


def _prompt(
    repository: str,
    memory: Sequence[SessionBlock],
    lost: Sequence[Reversal],
    draft: str,
    instruction: str,
) -> str:
    """The prompt for code; ``lost`` are requirements that a draft undoes (eq. 15)."""
    sections = [_block_text(block, whole=block is memory[-1]) for block in memory]
    if lost:
        sections.append(f"A draft that must not be used as it is:\n{draft}")
    for loss in lost:
        first = f"The draft undoes this earlier instruction, which still holds: {loss.instruction}"
        missing = [f"Missing: {line.text}" for line in loss.then]
        # A rule may name nothing that is gone, only what that instruction had removed.
        back = [] if missing else [f"There again: {line.text}" for line in loss.now]
        sections.append("\n".join([first, *missing, *back]))
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


def _read_code(reply: Reply, target: _Target) -> str:
    """The definition in a reply, as code that parses alone."""
    name = target.qualified.rpartition(".")[2]
    written = pieces(target.path, code_of(reply.text)).values()
    named = [piece for piece in written if piece.qualified.rpartition(".")[2] == name]
    if not named:
        raise LLMReplyError(
            f"{reply.model} should write {target.qualified} and did not; it wrote "
            f"{reply.text[:200]!r}. Say in the instruction what it is called"
        )
    piece = next((piece for piece in named if piece.qualified == target.qualified), named[-1])
    if target.header and not piece.header:
        code = piece.code
        if LANGUAGES[target.language].methods_in == "indent":
            code = textwrap.indent(textwrap.dedent(code), "    ")
        return in_class(target.header, code, target.language)
    return piece.code
