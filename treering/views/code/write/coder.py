"""``memory.code.generate``: rounds with a model, with a context memory for each definition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from treering.errors import InputError, UnknownName
from treering.llm.contract import LLM, Message, Reply
from treering.views.code.index.code_index import CodeIndex
from treering.views.code.parse.language import language_of
from treering.views.code.parse.outline import CodeDefinition
from treering.views.code.parse.pieces import pieces
from treering.views.code.rounds import recorded
from treering.views.code.rounds.history import Checkout
from treering.views.code.rounds.rounds import Rounds
from treering.views.code.rounds.session import SessionBlock, Similarity
from treering.views.code.write.context_memory import LLMJudge, name_judge, open_context
from treering.views.code.write.generate import (
    GeneratedCode,
    RoundParts,
    WritingTarget,
    repository_context,
    write_round,
)
from treering.views.settings import SpaceSettings


@dataclass(frozen=True, slots=True)
class BilledModel:
    """A memory's language model, opened on first use, and the ledger of its costs."""

    llm: Callable[[], LLM]
    pay: Callable[[str, Reply], None]


class Coder:
    """Writes code in rounds and records them, with the keys of the context memory."""

    def __init__(self, rounds: Rounds, model: BilledModel, similarity: Similarity) -> None:
        self._rounds = rounds
        self._model = model
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

        Raises InputError, UnknownName, LLMError.
        """
        sequences = recorded.sequences(self._rounds.every(), checkout.names or None)
        key = _key(definition, sequences, index)
        earlier = checkout.rounds_here(key, sequences.get(key, []))
        blocks = recorded.sequence(earlier)
        target, there = _target(key, blocks, index)
        if not blocks and there:
            blocks = (SessionBlock(target.qualified, "", there, target.language, path=target.path),)
        llm = self._model.llm()
        judge = LLMJudge(llm) if settings.judge == "llm" else name_judge(index)
        with_context = [record for record in earlier if record.context is not None]
        context = open_context(
            index,
            settings,
            judge,
            settings.context,
            keys=with_context[-1].context or () if with_context else (),
            instructions=[record.block.instruction for record in with_context],
        )
        self._rounds.begin()

        def ask(operation: str, prompt: str, max_tokens: int) -> Reply:
            reply = llm.complete([Message("user", prompt)], max_tokens=max_tokens, temperature=0.0)
            self._model.pay(operation, reply)
            return reply

        shown = partial(repository_context, count_tokens=llm.count_tokens, budget=budget)
        parts = RoundParts(context, ask, self._similarity, shown, settings.detector, settings.alike)
        result = write_round(instruction, target, blocks, parts)
        written = replace(
            result.block, at=datetime.now(UTC), repository=checkout.names, branch=checkout.branch
        )
        found = "" if earlier else there
        block = self._rounds.add(written, found, context.keys, earlier, result.note)
        return replace(result, block=block)


def _key(definition: str, recorded_keys: Iterable[str], index: CodeIndex | None) -> str:
    """The definition that is meant: a known one, or a new one as ``PATH::NAME``."""
    there = (
        {f"{path}::{defined.qualified}" for path, defined in index.definitions()}
        if index
        else set()
    )
    try:
        return recorded.find_key(definition, {*recorded_keys, *there})
    except UnknownName:
        path, mark, name = definition.partition("::")
        if not mark or not name:
            raise
    if not recorded.is_inside(path) or language_of(path) is None:
        raise InputError(f"{path!r} is not the path of a source file in a known language")
    return definition


def _target(
    key: str, blocks: Sequence[SessionBlock], index: CodeIndex | None
) -> tuple[WritingTarget, str]:
    """The place of a definition, and its code in the index, if it is there."""
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
