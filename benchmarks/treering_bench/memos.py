"""MemoChat's test rows: who writes memos, chooses among them and chats with them best?

``rows`` asks a model by the rows' own prompts, as printed, and scores its replies as they are.
``treering`` asks as treering does: whole conversations by ``partition``, with its checks and its
second try, and choices by the prompt of ``memos.choose``. ``+adapter`` is the model with the
adapter of ``treering tune memos``. The others need no model: a cut after every so many lines, all
options, search. A model has learned something only if it beats these.

Summaries and chats are compared by BERTScore over the bundled embedding model's tokens, unscaled,
so these figures compare with each other and not with table 3 of the paper.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from treering import files
from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.embed.minilm import MiniLM, run_layers
from treering.embed.registry import open_embedder
from treering.llm.contract import LLM, Message, memo_model
from treering.llm.settings import CONTEXT_WINDOW, MEMO_ADAPTER, NONE, existing_gguf, open_llm
from treering.llm.structured import read_json
from treering.memory import Memory
from treering.views.choices import Wording
from treering.views.memos.choose import (
    CHOSEN,
    LEAST_COSINE,
    NONE_OF_THE_OTHERS,
    choose_prompt,
    read_numbers,
)
from treering.views.memos.choose import REPLY_TOKENS as CHOICE_TOKENS
from treering.views.memos.record import one_line
from treering.views.memos.write import partition
from treering_bench.metrics.memos import (
    MatchCounts,
    MemoEntry,
    Similarity,
    bert_score,
    choices,
    summaries,
    topics,
)
from treering_bench.models import KeptModel
from treering_bench.options import RunOptions
from treering_bench.read import json_lines, only_file, read_as
from treering_bench.registry import Benchmark
from treering_bench.runner import Group, Measured, Plan, Way, chosen, named_among

TEMPERATURE: Final = 0.2  # MemoChat, table 2
MAX_OPTIONS: Final = 1_000
REPLY_TOKENS: Final = {"writing": 640, "retrieval": 24, "chatting": 160}
"""By stage. The longest references of the test set have about half as many."""

EVERY: Final = (2, 4, 6, 8, 10)
"""Lines of a part, where a conversation is cut without a look at it."""

WINDOW: Final = 8_192
"""Tokens that a model is taken to have, so that conversations are cut alike with all of them."""

_LINE: Final = re.compile(r"^\(line \d+\) (.*)$", re.MULTILINE)
_OPTION: Final = re.compile(r"^\((\d+)\) (.*)$", re.MULTILINE)
_QUERY: Final = re.compile(r"Query Sentence:\n(.*?)\nTopic Options:", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One row: its prompt, its reference, and its kind, which is its stage and its origin."""

    id: str
    category: str
    text: str
    answer: str

    @property
    def stage(self) -> str:
        """``writing``, ``retrieval`` or ``chatting``."""
        return self.category.partition("_")[0]

    @property
    def lines(self) -> list[str]:
        """The lines of a conversation that is to be cut."""
        return [one_line(line) for line in _LINE.findall(self.text)]

    @property
    def options(self) -> list[str]:
        """The topics to choose from."""
        return [option for _, option in _OPTION.findall(self.text)]

    @property
    def query(self) -> str:
        """The sentence that a topic is chosen for."""
        return str(_QUERY.findall(self.text)[0])


@dataclass(frozen=True, slots=True)
class MemoAnswer:
    """Entries, numbers of options or a chat's reply, by the stage; None for an unreadable reply."""

    entries: Sequence[MemoEntry] | None = None
    options: Sequence[int] | None = None
    reply: str = ""
    fallback: bool = False


Answering = Callable[[Instruction], MemoAnswer | None]
"""None where a way has nothing to say to a stage."""


def _token_vectors(model: MiniLM, text: str) -> Floats:
    """Unit vectors of the tokens of a text, shape (tokens, 384); those around it left out."""
    loaded = model._load()
    hidden = run_layers(loaded.session, [loaded.tokenizer.encode(text)])[0][0, 1:-1]
    norms = np.linalg.norm(hidden, axis=1, keepdims=True)
    unit: Floats = hidden / np.maximum(norms, np.float32(1e-12))
    return unit


def plan(
    benchmark: Benchmark, options: RunOptions, opened: ExitStack, replies: Path
) -> Plan[None, Instruction]:
    """The plan of a run with a model. Models are closed with ``opened``."""
    used = {"llm", "adapter", "wording", "temperature", "embedder", "replies", "minutes"}
    options.refuse_all_but(f"{benchmark.name} with --llm", used)
    environ = {**os.environ, CONTEXT_WINDOW: str(WINDOW)}
    if options.adapter is not None:
        environ[MEMO_ADAPTER] = str(options.adapter)
    model = opened.enter_context(closing(open_llm(options.llm, environ=environ)))
    models = {"": KeptModel(model, replies, minutes=options.minutes)}
    if options.adapter is not None:
        models["+adapter"] = adapted(model, options.adapter, replies, options.minutes)
    temperature = TEMPERATURE if options.temperature is None else options.temperature
    ways = answering(models, open_embedder(options.embedder), options.wording, temperature)
    similarity = bert_score(partial(_token_vectors, MiniLM()))
    names = {name: name for name in ways}
    return Plan(
        "memos",
        [
            Way(name, partial(_measured, ways[name], similarity))
            for name in named_among(options.policy or (), names, names)
        ],
        _groups(benchmark, options),
        "for writing, retrieval or chatting",
        {
            "model": model.model,
            "adapter": models["+adapter"].model if options.adapter else None,
            "temperature": temperature,
            "wording": options.wording,
        },
        {f"llm{name}": kept for name, kept in models.items()},
    )


def adapted(llm: LLM, adapter: Path, replies: Path, minutes: float | None = None) -> KeptModel:
    """A model with its adapter, named by the contents of the file.

    An adapter may be tuned again under the same name, and then has replies of its own. Raise
    LLMNotConfigured for a file that is not one.
    """
    digest = hashlib.sha256(files.read_bytes(existing_gguf(adapter))).hexdigest()
    tuned = memo_model(llm)
    return KeptModel(tuned, replies, minutes=minutes, name=f"{tuned.model}@{digest[:12]}")


def answering(
    models: Mapping[str, LLM], embedder: Embedder, wording: Wording, temperature: float
) -> dict[str, Answering]:
    """All ways to answer a row, by name."""
    ways: dict[str, Answering] = {}
    for name, llm in models.items():
        ways[f"rows{name}"] = partial(_by_row, llm, temperature)
        ways[f"treering{name}"] = partial(_by_treering, llm, wording)
    for size in EVERY:
        ways[f"cut@{size}"] = partial(_cut, size)
    ways["one-topic"] = lambda row: _cut(len(row.lines) or 1, row)
    ways["all-options"] = lambda row: _chosen(row, range(1, len(row.options) + 1))
    ways["first-option"] = lambda row: _chosen(row, [1])
    ways["search"] = partial(_by_search, embedder)
    return ways


def rows(path: Path) -> Iterator[Instruction]:
    """The rows of the test set, every kind in turn, so that the first of them are of each kind."""
    by_kind: dict[str, list[Instruction]] = defaultdict(list)
    for number, row in enumerate(json_lines(only_file(path, "test*.jsonl"))):
        kind = str(row["type"])
        if kind.partition("_")[0] in REPLY_TOKENS:
            answer = str(row["answer"])
            by_kind[kind].append(Instruction(str(number), kind, row["text"], answer))
    for some in zip_longest(*by_kind.values()):
        yield from (row for row in some if row is not None)


def _groups(benchmark: Benchmark, options: RunOptions) -> Iterator[Group[None, Instruction]]:
    read_rows = list(read_as(benchmark.name, options.data, rows(options.data)))
    for task, some in chosen(
        lambda: [("rows", read_rows)],
        limit=options.limit,
        sample=options.sample,
        seed=options.seed,
    ):
        yield Group(task, some, nullcontext)


def _measured(way: Answering, similarity: Similarity, _: None, row: Instruction) -> Measured:
    return scored(row, way(row), similarity)


def scored(row: Instruction, answer: MemoAnswer | None, similarity: Similarity) -> Measured:
    """The metrics of an answer: the matches, to be pooled over rows, and the row's own F1."""
    if answer is None:
        return Measured({})
    if row.stage == "chatting":
        return Measured({"chat BERTScore": similarity(answer.reply, row.answer)})
    if row.stage == "retrieval":
        right = frozenset(read_numbers(row.answer, MAX_OPTIONS) or ())
        counts = {"choice": choices(frozenset(answer.options or ()), right)}
        return Measured({**_figures(counts), "unread": float(answer.options is None)})
    entries, reference = answer.entries or [], read_entries(row.answer) or []
    counts = {
        "topic": topics(entries, reference),
        "range": summaries(entries, reference),
        "border": choices(_borders(entries), _borders(reference)),
    }
    if any(entry.summary for entry in reference):  # TopiOCQA has none
        counts["summary BERTScore"] = summaries(entries, reference, similarity)
    unread = float(answer.entries is None or answer.fallback)
    return Measured({**_figures(counts), "unread": unread})


def _figures(counts: Mapping[str, MatchCounts]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, count in counts.items():
        figures |= {
            f"{name} matched": count.matched,
            f"{name} predicted": float(count.predicted),
            f"{name} reference": float(count.reference),
            f"{name} F1": count.f1,
        }
    return figures


def _borders(entries: Sequence[MemoEntry]) -> frozenset[int]:
    """The first lines of all entries but the first, which begins where the conversation does."""
    return frozenset(entry.start for entry in entries) - {1}


def _by_row(llm: LLM, temperature: float, row: Instruction) -> MemoAnswer:
    """The reply to the row's own prompt, without repair or second try."""
    reply = llm.complete(
        [Message("user", row.text)],
        max_tokens=REPLY_TOKENS[row.stage],
        temperature=temperature,
        seed=0,
    )
    return MemoAnswer(read_entries(reply.text), read_numbers(reply.text, MAX_OPTIONS), reply.text)


def _by_treering(llm: LLM, wording: Wording, row: Instruction) -> MemoAnswer | None:
    if row.stage == "writing":
        written = partition(llm, row.lines, wording)
        entries = [MemoEntry(p.topic, p.summary, p.start, p.end) for p in written.parts]
        return MemoAnswer(entries, fallback=written.is_fallback)
    if row.stage == "retrieval":
        asked = [Message("user", choose_prompt(row.query, row.options))]
        reply = llm.complete(asked, max_tokens=CHOICE_TOKENS, temperature=0.0)
        return MemoAnswer(options=read_numbers(reply.text, len(row.options)))
    return None


def _cut(size: int, row: Instruction) -> MemoAnswer | None:
    if row.stage != "writing":
        return None
    lines = len(row.lines)
    starts = range(1, lines + 1, size)
    return MemoAnswer([MemoEntry("", "", start, min(start + size - 1, lines)) for start in starts])


def _chosen(row: Instruction, options: Sequence[int]) -> MemoAnswer | None:
    return MemoAnswer(options=options) if row.stage == "retrieval" else None


def _by_search(embedder: Embedder, row: Instruction) -> MemoAnswer | None:
    """The best that share a word or a meaning with the query, else "None of the others"."""
    if row.stage != "retrieval":
        return None
    listed = row.options
    noto = next((n for n, o in enumerate(listed, 1) if o.startswith(NONE_OF_THE_OTHERS[:4])), 0)
    with (
        TemporaryDirectory(prefix="treering-bench-") as folder,
        Memory.open(Path(folder) / "bench.db", embedder=embedder, llm=NONE) as memory,
    ):
        for number, option in enumerate(listed, 1):
            if number != noto:
                memory.add(option, source=str(number), kind="text")
        hits = memory.search(row.query, k=CHOSEN, relations=())
    found = {
        int(hit.source)
        for hit in hits
        if (hit.why.bm25 or 0.0) > 0 or (hit.why.cosine or 0.0) >= LEAST_COSINE
    }
    return MemoAnswer(options=sorted(found) or ([noto] if noto else []))


def read_entries(text: str) -> list[MemoEntry] | None:
    """The memo entries in a reply, without unreadable ones; None if it is not a list."""
    try:
        entries = read_json(text)
    except ValueError:
        return None
    if not isinstance(entries, list):
        return None
    return [entry for row in entries if (entry := _entry(row)) is not None]


def _entry(row: Any) -> MemoEntry | None:
    match row:
        case {"start": int(start), "end": int(end), **others}:
            topic, summary = (str(others.get(name, "")) for name in ("topic", "summary"))
            return MemoEntry(topic, summary, start, end)
    return None
