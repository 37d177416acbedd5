"""Tree against flat retrieval at equal budget: which share of an answer's words is in a context.

Every way to retrieve gives a context of so many tokens. FairytaleQA tells local questions from
those that need several sections, LoCoMo single-hop from multi-hop ones: these are narrow and broad.
For QuALITY the answer is the right option. No model is asked, unless one writes the summaries.
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from treering.embed.contract import Embedder
from treering.llm.contract import LLM
from treering.llm.settings import NONE
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering.records import Hit
from treering.search.terms import terms
from treering.text import with_speaker
from treering.views.tree.settings import Route
from treering_bench.read import json_items, json_lines, only_file
from treering_bench.report import table
from treering_bench.run import Progress
from treering_bench.stats import paired_difference

FLAT_HITS = 40  # more than fit the largest budget
LEVEL_HITS = 10  # the paper's k at each level of a traversal
TREE_HITS = 200

_LOCOMO_BREADTHS = {1: "broad", 3: "broad", 2: "narrow", 4: "narrow"}
_FAIRYTALE_BREADTHS = {"local": "narrow", "summary": "broad"}
_MARKUP = re.compile(r"<[^>]+>")
_SESSION = re.compile(r"session_\d+")


@dataclass(frozen=True, slots=True)
class WordQuestion:
    """A question, the group it is reported in, and its reference answers."""

    text: str
    group: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """One memory: what is added to it, and what is asked of it."""

    name: str
    add: Callable[[Memory], None]
    questions: list[WordQuestion] = field(default_factory=list)


# ------------------------------------------------------------------ corpora


def fairytales(path: Path) -> Iterator[Corpus]:
    """All stories in one memory."""
    stories = list(json_lines(path / "stories.jsonl"))

    def add(memory: Memory) -> None:
        for story in stories:
            for section in story["sections"]:
                memory.add(section["text"], source=story["story"], kind="text")

    questions = [
        WordQuestion(
            row["question"], _FAIRYTALE_BREADTHS[row["local_or_sum"]], tuple(row["answers"])
        )
        for row in json_lines(path / "questions.jsonl")
    ]
    yield Corpus("fairytaleqa", add, questions)


def locomo(path: Path) -> Iterator[Corpus]:
    """Each conversation a memory of its own, each session of it one session."""
    for number, chat in enumerate(json_items(only_file(path, "locomo*.json"))):
        talk = chat["conversation"]
        questions = [
            WordQuestion(row["question"], _LOCOMO_BREADTHS[row["category"]], (str(row["answer"]),))
            for row in chat["qa"]
            if row["category"] in _LOCOMO_BREADTHS
        ]

        def add(memory: Memory, talk: dict[str, Any] = talk) -> None:
            for name, turns in talk.items():
                if _SESSION.fullmatch(name):
                    memory.add(
                        [
                            {"role": "user", "name": turn["speaker"], "content": turn["text"]}
                            for turn in turns
                        ],
                        source="chat",
                        session=name,
                    )

        yield Corpus(f"locomo/{number}", add, questions)


def quality(path: Path) -> Iterator[Corpus]:
    """Each article a memory."""
    return _books("quality", path / "articles.jsonl", path / "questions.jsonl")


def narrativeqa(path: Path) -> Iterator[Corpus]:
    """Each story a memory."""
    return _books("narrativeqa", path / "stories.jsonl", path / "questions.jsonl")


def _books(name: str, texts: Path, questions: Path) -> Iterator[Corpus]:
    by_book: dict[Any, list[WordQuestion]] = defaultdict(list)
    for row in json_lines(questions):
        options = row.get("options")
        answer = options[row["answer"]] if options else row["answer"]
        by_book[row["doc"]].append(WordQuestion(row["question"], "all", (answer,)))
    for row in json_lines(texts):

        def add(memory: Memory, text: str = row["text"]) -> None:
            memory.add(_MARKUP.sub(" ", text), source="text", kind="text")

        yield Corpus(f"{name}/{row['doc']}", add, by_book[row["doc"]])


CORPORA: Mapping[str, Callable[[Path], Iterator[Corpus]]] = {
    "fairytaleqa": fairytales,
    "locomo": locomo,
    "quality": quality,
    "narrativeqa": narrativeqa,
}


# ------------------------------------------------------------------ ways to retrieve


def _flat_dense(memory: Memory, query: str, budget: int) -> str:
    """Cosine over the originals: the flat memory of the paper."""
    return fill(map(_spoken, memory.search(query, k=FLAT_HITS, mode="dense", relations=())), budget)


def _flat_default(memory: Memory, query: str, budget: int) -> str:
    """The default search: words, meaning and relations, originals only."""
    return fill(map(_spoken, memory.search(query, k=FLAT_HITS)), budget)


def _collapsed(memory: Memory, query: str, budget: int) -> str:
    """The paper's collapsed retrieval."""
    nodes = memory.tree.search(query, k=FLAT_HITS, method="collapsed")
    return fill((node.text for node in nodes), budget)


def _traversal(memory: Memory, query: str, budget: int) -> str:
    """The paper's traversal retrieval, the nodes by score."""
    nodes = memory.tree.search(query, k=LEVEL_HITS, method="traversal")
    nodes.sort(key=lambda node: -(node.score or 0.0))
    return fill((node.text for node in nodes), budget)


def _related(memory: Memory, query: str, budget: int) -> str:
    """Summaries and originals by words, meaning and relations, the tree among them."""
    return fill((node.text for node in memory.tree.search(query, k=FLAT_HITS)), budget)


def _related_leaves(memory: Memory, query: str, budget: int) -> str:
    """As ``related``, but only originals are shown: what the tree relation alone does."""
    nodes = memory.tree.search(query, k=TREE_HITS)
    return fill((node.text for node in nodes if node.leaf), budget)


def _mixed(memory: Memory, query: str, budget: int) -> str:
    """A context of mixed altitudes."""
    return str(memory.context(query, budget=budget, altitude="mixed"))


def _texts(memory: Memory, query: str, budget: int) -> str:
    """A context of texts alone: what one of mixed altitudes is to be compared with."""
    return str(memory.context(query, budget=budget, altitude="texts"))


def _first(memory: Memory, _query: str, budget: int) -> str:
    """The beginning of all that was added, as much of it as fits."""
    return fill((entry.text for entry in memory.entries()), budget)


def _everything(memory: Memory, _query: str, _budget: int) -> str:
    """All that was added, whatever the budget: more than any context can hold."""
    return "\n".join(entry.text for entry in memory.entries())


WAYS: Mapping[str, Callable[[Memory, str, int], str]] = {
    "flat_dense": _flat_dense,
    "flat_default": _flat_default,
    "collapsed": _collapsed,
    "traversal": _traversal,
    "related": _related,
    "related_leaves": _related_leaves,
    "mixed": _mixed,
    "texts": _texts,
    "first": _first,
    "everything": _everything,
}


def _spoken(hit: Hit) -> str:
    return with_speaker(hit.text, hit.speaker)


def fill(texts: Iterable[str], budget: int) -> str:
    """Texts in order until the budget is used up. The last is cut after a word."""
    taken: list[str] = []
    left = budget
    for text in texts:
        words = text.split(" ")
        # Cut in proportion to what is too much, and at least one word, until the rest fits.
        while words and (cost := estimate_tokens(" ".join(words))) > left:
            del words[max(min(int(len(words) * left / cost), len(words) - 1), 0) :]
        taken.append(" ".join(words))
        left -= estimate_tokens(taken[-1])
        if len(taken[-1]) < len(text):
            break
    return "\n".join(taken)


# ------------------------------------------------------------------ measuring


@dataclass(frozen=True, slots=True)
class Planting:
    """How texts are cut and the tree grows; None as a memory does it by default.

    ``fragment`` is such as ``512 tokens``, the others are those of ``memory.tree.replant``.
    """

    fragment: str | None = None
    route: Route | None = None
    summary_tokens: int | None = None
    base: float | None = None
    rate: float | None = None

    def prepare(self, memory: Memory) -> None:
        """Set it in a memory that is still empty. Raises InputError."""
        if self.fragment is not None:
            memory.configure(fragment=self.fragment)
        given = asdict(self)
        del given["fragment"]
        if any(value is not None for value in given.values()):
            memory.tree.replant(**given)


@dataclass(frozen=True, slots=True)
class WordOptions:
    """The measurements of each corpus."""

    ways: tuple[str, ...]
    budgets: tuple[int, ...]
    sample: int
    """Questions of each group of a corpus, at most."""
    planting: Planting = Planting()


Shares = dict[tuple[str, str, int], list[float]]
"""The share of each question's words, by group, way and budget."""


@dataclass(slots=True)
class WordShares:
    """The shares of all questions, and what the trees' summaries cost over all corpora."""

    shares: Shares = field(default_factory=lambda: defaultdict(list))
    made_by: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def count_tree(self, memory: Memory) -> None:
        """Add how many summaries a memory's tree has, by maker, and what they cost."""
        for maker, summaries in memory.tree.stats().made_by.items():
            self.made_by[maker] = self.made_by.get(maker, 0) + summaries
        for spent in memory.stats().spent:
            self.calls += spent.calls
            self.prompt_tokens += spent.prompt_tokens
            self.completion_tokens += spent.completion_tokens


def word_shares(
    corpora: Iterable[Corpus],
    options: WordOptions,
    embedder: Embedder,
    summaries: LLM | None,
    progress: Progress,
) -> WordShares:
    """Remember each corpus, grow its tree, and see what every way finds for each question."""
    measured = WordShares()
    done = total = 0
    for corpus in corpora:
        questions = _sampled(corpus.questions, options.sample)
        total += len(questions)
        with (
            TemporaryDirectory(prefix="treering-bench-") as folder,
            Memory.open(
                Path(folder) / "memory.db", embedder=embedder, llm=summaries or NONE
            ) as memory,
        ):
            progress(done, total, f"adding {corpus.name}")
            options.planting.prepare(memory)
            corpus.add(memory)
            progress(done, total, f"summaries of {corpus.name}")
            memory.tree.settle()
            measured.count_tree(memory)
            for question in questions:
                _note_shares(memory, corpus, question, options, measured.shares)
                done += 1
                progress(done, total, corpus.name)
    return measured


def _note_shares(
    memory: Memory, corpus: Corpus, question: WordQuestion, options: WordOptions, shares: Shares
) -> None:
    group = f"{corpus.name.split('/')[0]} {question.group}"
    for budget in options.budgets:
        for way in options.ways:
            context = WAYS[way](memory, question.text, budget)
            shares[group, way, budget].append(word_recall(context, question.answers))


def word_recall(context: str, answers: Sequence[str]) -> float:
    """The share of an answer's content words that the context has, best of the answers.

    NaN if no answer has a content word.
    """
    present = set(terms(context)[:, 0].tolist())
    wordings = (set(terms(answer)[:, 0].tolist()) for answer in answers)
    recalls = (len(words & present) / len(words) for words in wordings if words)
    return max(recalls, default=float("nan"))


def _sampled(questions: Sequence[WordQuestion], most: int) -> list[WordQuestion]:
    """At most so many questions of each group, always the same ones."""
    groups: dict[str, list[WordQuestion]] = defaultdict(list)
    for question in random.Random(0).sample(questions, len(questions)):
        if len(groups[question.group]) < most:
            groups[question.group].append(question)
    return [question for group in groups.values() for question in group]


def word_table(shares: Shares, reference: str | None = None) -> str:
    """A Markdown table in percent: a row a way, a column a group of questions and a budget.

    With a ``reference``, a way, each figure is followed by its paired difference from that way.
    """
    columns = sorted({(group, budget) for group, _, budget in shares})
    ways = list(dict.fromkeys(way for _, way, _ in shares))
    sizes = [int(np.isfinite(shares[group, ways[0], budget]).sum()) for group, budget in columns]
    heads = [f"{g} {b} (n={size})" for (g, b), size in zip(columns, sizes, strict=True)]
    rows = [[way, *(_cell(shares, g, way, b, reference) for g, b in columns)] for way in ways]
    return table(["way", *heads], rows)


def _cell(shares: Shares, group: str, way: str, budget: int, reference: str | None) -> str:
    values = shares[group, way, budget]
    if reference in (None, way):
        return _percent(values)
    pairs = zip(values, shares[group, str(reference), budget], strict=True)
    finite = [pair for pair in pairs if np.isfinite(pair).all()]
    if not finite:
        return _percent(values)
    difference = paired_difference(*zip(*finite, strict=True))
    mean, low, high = (100 * x for x in (difference.mean, difference.low, difference.high))
    return f"{_percent(values)}, {mean:+.1f} [{low:+.1f}, {high:+.1f}]"


def word_figures(measured: WordShares) -> dict[str, Any]:
    """By group, way and budget the means (None without content words) and all questions' shares.

    Beside them what the summaries cost.
    """
    figures: dict[str, Any] = {}
    questions: dict[str, dict[str, dict[str, list[float | None]]]] = {}
    for (group, way, budget), values in measured.shares.items():
        finite = [value for value in values if np.isfinite(value)]
        mean = round(float(np.mean(finite)), 4) if finite else None
        figures.setdefault(group, {}).setdefault(way, {})[str(budget)] = mean
        questions.setdefault(group, {}).setdefault(way, {})[str(budget)] = [
            round(value, 4) if np.isfinite(value) else None for value in values
        ]
    cost = {
        name: getattr(measured, name)
        for name in ("made_by", "calls", "prompt_tokens", "completion_tokens")
    }
    return {**figures, "questions": questions, "summaries": cost}


def shares_of(figures: Mapping[str, Any]) -> Shares:
    """The shares of all questions, read from figures that were saved."""
    return {
        (group, way, int(budget)): [math.nan if value is None else value for value in values]
        for group, ways in figures["questions"].items()
        for way, budgets in ways.items()
        for budget, values in budgets.items()
    }


def _percent(values: Sequence[float]) -> str:
    finite = [value for value in values if np.isfinite(value)]
    return f"{100 * np.mean(finite):.1f}" if finite else "–"
