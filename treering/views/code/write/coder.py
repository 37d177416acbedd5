"""``memory.code.generate``: rounds with a model, with a context memory for each definition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from treering.errors import InputError, UnknownName
from treering.llm.contract import LLM, Reply
from treering.views.choices import ContextName, JudgeName
from treering.views.code.index.code_index import CodeIndex
from treering.views.code.parse.language import language_of
from treering.views.code.parse.outline import CodeDefinition
from treering.views.code.parse.pieces import pieces
from treering.views.code.rounds import recorded
from treering.views.code.rounds.checkout import Checkout
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.code.rounds.rounds import Rounds
from treering.views.code.rounds.session import SessionBlock, Similarity
from treering.views.code.write.choices import WritingChoices
from treering.views.code.write.context_memory import (
    NOTHING_HELD,
    ContextMemory,
    ContextState,
    Judge,
    LLMJudge,
    NameJudge,
)
from treering.views.code.write.generate import (
    GeneratedCode,
    RoundParts,
    WritingTarget,
    asking,
    repository_context,
    round_of,
)


@dataclass(frozen=True, slots=True)
class BilledModel:
    """A memory's language model, opened on first use, and the ledger of what it costs."""

    llm: Callable[[], LLM]
    pay: Callable[[str, Reply], None]


Contexts = Callable[[Judge, ContextName, ContextState], ContextMemory]
"""Makes the context memory of a round from what the rounds before it left."""


class Coder:
    """Writes code in rounds and records them, with what the context memory held."""

    def __init__(self, rounds: Rounds, model: BilledModel, similarity: Similarity) -> None:
        self._rounds = rounds
        self._model = model
        self._similarity = similarity

    def round(
        self,
        instruction: str,
        definition: str,
        choices: WritingChoices,
        index: CodeIndex | None,
        contexts: Contexts,
        budget: int,
        checkout: Checkout,
    ) -> GeneratedCode:
        """One round on a definition, recorded; ``checkout`` is where its code is worked on.

        Raises InputError, UnknownName, LLMError.
        """
        every = self._rounds.every()
        known = recorded.sequences(every, checkout.names or None)
        key = _key(definition, known, index)
        earlier = checkout.rounds_here(key, known.get(key, []))
        blocks = recorded.sequence(earlier)
        target, there = _target(key, blocks, index)
        if not blocks and there:
            blocks = (SessionBlock(target.qualified, "", there, target.language, path=target.path),)
        held = _context_state(earlier)
        context = contexts(self._judge(choices.judge, index), choices.context, held)
        llm = self._model.llm()
        self._rounds.begin()
        ask = asking(llm, self._model.pay)
        shown = partial(repository_context, count_tokens=llm.count_tokens, budget=budget)
        parts = RoundParts(context, ask, self._similarity, shown, choices.detector, choices.alike)
        result = round_of(instruction, target, blocks, parts)
        written, code_found = replace(result.block, at=datetime.now(UTC)), "" if earlier else there
        block = self._rounds.add(written, code_found, checkout, context.keys, earlier, result.note)
        return replace(result, block=block)

    def _judge(self, judge: JudgeName, index: CodeIndex | None) -> Judge:
        if judge == "llm":
            return LLMJudge(self._model.llm())
        names = {definition.name for _, definition in index.definitions()} if index else set[str]()
        return NameJudge(names.__contains__)


def _context_state(earlier: Sequence[RecordedBlock]) -> ContextState:
    """What the context memory held after the last round that had one."""
    rounds = [record for record in earlier if record.context is not None]
    if not rounds:
        return NOTHING_HELD
    return ContextState(
        tuple(record.block.instruction for record in rounds), rounds[-1].context or ()
    )


def _key(definition: str, recorded_keys: Iterable[str], index: CodeIndex | None) -> str:
    """The definition that is meant: a known one, or a new one as ``PATH::NAME``."""
    there = (
        {f"{path}::{defined.qualified}" for path, defined in index.definitions()}
        if index
        else set()
    )
    try:
        return recorded.named(definition, {*recorded_keys, *there})
    except UnknownName:
        path, mark, name = definition.partition("::")
        if not mark or not name:
            raise
    if not recorded.is_inside(path) or language_of(path) is None:
        raise InputError(f"{path!r} is no path of a source file in a language that is known")
    return definition


def _target(
    key: str, blocks: Sequence[SessionBlock], index: CodeIndex | None
) -> tuple[WritingTarget, str]:
    """Where a definition belongs, and its code as it stands in the index, if it does."""
    path, _, qualified = key.partition("::")
    language = language_of(path) or blocks[-1].language
    file = index.files.get(path) if index else None
    definitions = (
        {definition.qualified: definition for definition in file.parsed.definitions} if file else {}
    )
    piece = None
    if file is not None:
        piece = pieces(path, file.parsed.source.decode(errors="replace")).get(key)
    owner = qualified.rpartition(".")[0]
    header = _header(owner, definitions.get(owner), blocks)
    return WritingTarget(path, qualified, language, header), piece.code if piece else ""


def _header(owner: str, owner_class: CodeDefinition | None, blocks: Sequence[SessionBlock]) -> str:
    """The signature of the class that a method is in; empty for a function."""
    if not owner:
        return ""
    if owner_class is not None:
        return owner_class.signature
    first = blocks[-1].code.partition("\n")[0].rstrip(":{ ") if blocks else ""
    return first if owner.rpartition(".")[2] in first else f"class {owner.rpartition('.')[2]}"
