"""A benchmark's task inside a memory: the pieces added, and passages found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Any, TypeVar, cast

from treering.chat.prompt import ChatPrompt
from treering.embed.contract import Embedder
from treering.errors import InputError, UnknownName
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering.records import KINDS, Filter, Hit, Kind, Spent
from treering.search.searcher import Search
from treering.text import with_speaker
from treering.views.choices import Choices
from treering.views.presets import preset_of
from treering.views.tree.node import TreeNode
from treering_bench.embedding import VectorCache
from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

DEPTH = 100
"""Hits that a ranking is asked for: 2,000 tokens of the shortest turns."""

UNIT = "unit"  # the metadata key that carries a piece's evidence unit through the memory

_CONFIGURED = Choices.__annotations__.keys()

CountTokens = Callable[[str], int]
T = TypeVar("T")


def count_words(text: str) -> int:
    """The words of a text, by which FragRel's budgets count."""
    return len(text.split())


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage with the raw scores and the time that baselines weigh it by.

    ``embedded`` is its text as it was embedded: with the speaker, without the day.
    """

    passage: RetrievedPassage
    embedded: str
    bm25: float
    cosine: float
    at: datetime | None


class TaskSpace:
    """One task, remembered. Searching goes through the memory, but for the scores of baselines.

    ``most`` is how many passages a baseline ranks: as many as the memory's own search shows.
    """

    def __init__(
        self,
        memory: Memory,
        task: Task,
        embedder: Embedder,
        count: CountTokens = estimate_tokens,
    ) -> None:
        self.task = task
        self.embedder = VectorCache(embedder, texts=True)
        self.count = cache(count)  # policies find the same passages over and over
        self._memory = memory
        self._last: tuple[TaskQuestion, list[ScoredPassage]] | None = None
        self._values: dict[str, Any] = {}
        self._summarised: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._opened = ExitStack()
        self._depth = self.most = DEPTH
        self._added = 0

    def close(self) -> None:
        """Close what policies opened."""
        self._opened.close()

    def once(self, name: str, make: Callable[[ExitStack], T]) -> T:
        """The result of ``make``, called on the first use of ``name``; closed with the space."""
        if name not in self._values:
            self._values[name] = make(self._opened)
        value: T = self._values[name]
        return value

    def configure(self, preset: str | None, settings: Mapping[str, Any]) -> None:
        """Let the memory do as a preset says, and as single settings on top say; called before
        anything is remembered.

        Raises UnknownName, and InputError if the preset is for content of another kind.
        """
        kinds = preset_of(preset).kinds if preset else KINDS
        if self.kind not in kinds:
            raise InputError(
                f"the preset {preset!r} is for {' and '.join(kinds)}, and this benchmark is of "
                f"{self.kind}s"
            )
        if strange := [name for name in settings if name not in _CONFIGURED]:
            there = ", ".join(sorted(_CONFIGURED))
            raise UnknownName(f"no setting {strange[0]!r}; there are {there}")
        configured = self._memory.configure(preset, **cast("Choices", settings))
        if "k" in settings or (preset and "k" in preset_of(preset).choices):
            self._depth = self.most = configured.k or DEPTH  # else as many as fill a budget
            if configured.chat_unit == "rounds":
                self.most *= 2  # a round is two messages, of which baselines rank each

    def remember(self, before: str = "") -> None:
        """Add the documents that are not added yet, one source each, up to the one ``before``
        which a question is asked, or all.
        """
        while self._added < len(self.task.documents):
            document = self.task.documents[self._added]
            if document.source == before:
                return
            self._memory.add(
                [_message(piece, document) for piece in document.pieces],
                source=document.source,
                kind="chat" if document.chat else "text",
            )
            self._added += 1

    def search(self, question: TaskQuestion, **how: Any) -> list[RetrievedPassage]:
        """The best fragments for a question; ``how`` goes to ``Memory.search``.

        Where it asks for summaries or memos, the memory has made them all before.
        """
        if how.get("level", self._memory.configure().level) != "texts":
            self._summarise()
        if "topic" in how.get("relations", ()):
            self.once("memos", lambda _: self._memoise())
        hits = self._memory.search(question.text, k=self._depth, **how)
        return [self._passage(hit) for hit in hits]

    def traverse(self, question: TaskQuestion, k: int) -> list[RetrievedPassage]:
        """The k best nodes at every level of the tree among the children of the last k (MemTree's
        traversal), best first."""
        self._summarise()
        self._memory.configure(method="traversal")
        hits = self._memory.search(question.text, k=k, level="all", mode="dense", relations=())
        self._memory.configure(method="collapsed")
        return [self._passage(hit) for hit in hits]

    def scored(self, question: TaskQuestion) -> list[ScoredPassage]:
        """Every fragment with its raw scores for a question, in reading order.

        Kept for the last question, which several baselines ask one after the other.
        """
        if self._last is None or self._last[0] != question:
            views = self._memory._views
            views.catch_up()
            # Not ``Memory.search``: by a preset's settings that may rank whole rounds.
            search = Search(question.text, Filter(), "hybrid", {})
            hits = views.searcher.search(search, self._fragments)
            in_order = sorted(map(self._scored, hits), key=lambda scored: scored.passage.place)
            self._last = question, in_order
        return self._last[1]

    def context(self, question: TaskQuestion, budget: int, **how: Any) -> RetrievedPassage:
        """``Memory.context`` for a question, as one passage; ``how`` goes there too."""
        context = self._memory.context(question.text, budget=budget, count_tokens=self.count, **how)
        units: dict[str, None] = {}
        sources: dict[str, None] = {}
        for passage in context.passages:
            for hit in passage.hits:
                units.update(dict.fromkeys(self._units(hit)))
                sources.update(dict.fromkeys(self._sources(hit)))
        return RetrievedPassage(tuple(units), context.tokens, str(context), (), tuple(sources))

    def grown_tree(self) -> tuple[list[TreeNode], list[Spent]]:
        """The nodes of the tree, once all its summaries are made, and the cost of making them."""
        self._summarise()
        spent = self._memory.stats().spent
        return self._memory.tree.nodes(), [cost for cost in spent if cost.operation == "tree"]

    def chat_prompt(self, question: TaskQuestion, policy: str, budget: int) -> ChatPrompt:
        """``Memory.chat_prompt`` of a chat policy for a question in the last conversation."""
        if policy == "nodes":
            self._summarise()
        if policy == "memo":
            self.once("memos", lambda _: self._memoise())
        return self._memory.chat_prompt(
            question.text,
            policy=policy,
            source=self.task.documents[-1].source,
            budget=budget,
            count_tokens=self.count,
        )

    def chat_passage(self, question: TaskQuestion, policy: str, budget: int) -> RetrievedPassage:
        """A chat policy's prompt as one passage; its units are those that it shows whole."""
        prompt = self.chat_prompt(question, policy, budget)
        whole = [unit for unit, ids in self._entries.items() if ids <= prompt.whole]
        touched = [unit for unit, ids in self._entries.items() if ids & prompt.entries]
        return RetrievedPassage(tuple(whole), prompt.tokens, str(prompt), (), tuple(touched))

    @property
    def _entries(self) -> Mapping[str, frozenset[str]]:
        """The ids of each unit's entries."""

        def collect(_: ExitStack) -> Mapping[str, frozenset[str]]:
            ids: dict[str, set[str]] = defaultdict(set)
            for entry in self._memory.entries():
                ids[str(entry.metadata[UNIT])].add(entry.id)
            return {unit: frozenset(some) for unit, some in ids.items()}

        return self.once(f"entries of {self._added} documents", collect)

    def position(self, question: TaskQuestion) -> float | None:
        """The place of a question's first evidence among all pieces, from 0 to 1."""
        places = (n for n, piece in enumerate(self.pieces) if question.evidence & {*piece.units})
        first = next(places, None)
        return None if first is None else round(first / len(self.pieces), 4)

    @property
    def kind(self) -> Kind:
        """The kind of the task's documents: a benchmark has chats or texts, not both."""
        return "chat" if any(document.chat for document in self.task.documents) else "text"

    def _summarise(self) -> None:
        self.once("summaries", lambda _: self._memory.tree.settle())

    def _memoise(self) -> None:
        if self.kind != "chat":
            raise InputError("memos are of chats, and these are texts; leave `topic` out")
        self._memory.memos.settle()

    def _units(self, hit: Hit) -> tuple[str, ...]:
        """The evidence units of a hit; a summary covers those of the texts that it quotes whole."""
        if hit.node is None:
            return (str(hit.metadata[UNIT]),)
        return self._below(hit.node, hit.text)[0]

    def _sources(self, hit: Hit) -> tuple[str, ...]:
        """The evidence units of all texts that a summary was made of; none for a text."""
        return () if hit.node is None else self._below(hit.node, hit.text)[1]

    def _below(self, node: int, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The units that a summary quotes whole, and all that it was made of."""
        if node not in self._summarised:
            leaves = self._memory.tree.leaves(node)
            units = {
                entry: str(self._memory.get(entry).metadata[UNIT])
                for leaf in leaves
                for entry in leaf.entry_ids
            }
            quoted = (units[e] for leaf in leaves if leaf.text in text for e in leaf.entry_ids)
            self._summarised[node] = (
                tuple(dict.fromkeys(quoted)),
                tuple(dict.fromkeys(units.values())),
            )
        return self._summarised[node]

    @cached_property
    def _fragments(self) -> int:
        return self._memory.stats().fragments

    @cached_property
    def pieces(self) -> Sequence[RetrievedPassage]:
        """Everything that was added, in reading order."""
        everything = [piece for document in self.task.documents for piece in document.pieces]
        shown = [_shown(piece.text, piece.speaker, piece.at) for piece in everything]
        return [
            RetrievedPassage((piece.unit,), self.count(text), text, (place,))
            for place, (piece, text) in enumerate(zip(everything, shown, strict=True))
        ]

    @cached_property
    def now(self) -> datetime | None:
        """The time of the latest piece: when questions that name no time are asked."""
        times = [p.at for document in self.task.documents for p in document.pieces if p.at]
        return max(times, default=None)

    @cached_property
    def _order(self) -> dict[str, int]:
        """The place of each source in reading order."""
        return {document.source: n for n, document in enumerate(self.task.documents)}

    def _scored(self, hit: Hit) -> ScoredPassage:
        why = hit.why
        text = with_speaker(hit.text, hit.speaker)
        return ScoredPassage(self._passage(hit), text, why.bm25 or 0.0, why.cosine or 0.0, hit.at)

    def _passage(self, hit: Hit) -> RetrievedPassage:
        text = _shown(hit.text, hit.speaker, hit.at)
        place = (self._order[hit.source], hit.position, hit.start)
        units, sources = self._units(hit), self._sources(hit)
        return RetrievedPassage(units, self.count(text), text, place, sources)


def _message(piece: DocumentPiece, document: Document) -> dict[str, Any]:
    message: dict[str, Any] = {"content": piece.text, "metadata": {UNIT: piece.unit}}
    if document.chat:
        message["session"] = document.source
    if document.chat and piece.role:
        message["role"] = piece.role
    if piece.speaker:
        message["name"] = piece.speaker
    if piece.at:
        message["at"] = piece.at
    return message


def _shown(text: str, speaker: str | None, at: datetime | None) -> str:
    """A piece as every policy shows it to a model: with its day and who said it."""
    day = f"({at:%Y-%m-%d}) " if at else ""
    who = f"{speaker}: " if speaker else ""
    return f"{day}{who}{text}"
