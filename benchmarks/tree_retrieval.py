"""Tree against flat retrieval at equal budget, without a language model or with one.

    python -m benchmarks.tree_retrieval DATA [--sets NAME ...] [--sample 100] [--budget 150 400 ...]

DATA holds ``fairytaleqa``, ``locomo``, ``quality`` and ``narrativeqa``. Every policy gives a
context of at most ``--budget`` tokens; what is measured is the share of the reference answer's
content words found in it (the best of several references). FairytaleQA tells local questions
from those that need several sections (summary), LoCoMo single-hop from multi-hop ones: these are
narrow and broad. For QuALITY the reference is the right option, for NarrativeQA the answer.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from treering.embed.minilm import MiniLM
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering.relate.contract import Floats
from treering.score.terms import terms

LOCOMO_CATEGORIES = {1: "broad", 3: "broad", 2: "narrow", 4: "narrow"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the group it is reported in, and its reference answers."""

    text: str
    group: str
    answers: tuple[str, ...]


@dataclass(slots=True)
class Corpus:
    """One space: what is added, and what is asked of it."""

    name: str
    add: Callable[[Memory], None]
    questions: list[Question] = field(default_factory=list)


class Remembering:
    """MiniLM that embeds a question once for all policies."""

    name = "minilm"
    dimension = 384

    def __init__(self) -> None:
        self._model = MiniLM()
        self._known: dict[str, Floats] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """As MiniLM."""
        if not query:
            return self._model.embed(texts)
        for text in texts:
            if text not in self._known:
                self._known[text] = self._model.embed([text])[0]
        return np.stack([self._known[text] for text in texts])


Policy = Callable[[Memory, str, int], str]


def flat_dense(memory: Memory, query: str, budget: int) -> str:
    """Cosine over the originals: the flat memory of the paper."""
    hits = memory.search(query, k=40, mode="dense", relations=())
    return fill((f"{hit.speaker}: {hit.text}" if hit.speaker else hit.text for hit in hits), budget)


def flat_default(memory: Memory, query: str, budget: int) -> str:
    """The default search: words, meaning and relations, originals only."""
    hits = memory.search(query, k=40)
    return fill((f"{hit.speaker}: {hit.text}" if hit.speaker else hit.text for hit in hits), budget)


def collapsed(memory: Memory, query: str, budget: int) -> str:
    """The paper's collapsed retrieval."""
    return fill((one.text for one in memory.tree.search(query, k=40, method="collapsed")), budget)


def traversal(memory: Memory, query: str, budget: int) -> str:
    """The paper's traversal retrieval, k = 10 a level, the nodes by score."""
    found = memory.tree.search(query, k=10, method="traversal")
    found.sort(key=lambda node: -(node.score or 0.0))
    return fill((one.text for one in found), budget)


def related(memory: Memory, query: str, budget: int) -> str:
    """Summaries and originals by words, meaning and relations, the tree among them."""
    return fill((one.text for one in memory.tree.search(query, k=40)), budget)


def related_leaves(memory: Memory, query: str, budget: int) -> str:
    """As ``related``, but only originals are shown: what the tree relation alone does."""
    nodes = memory.tree.search(query, k=200)
    return fill((one.text for one in nodes if one.leaf), budget)


def mixed(memory: Memory, query: str, budget: int) -> str:
    """A context of mixed altitudes."""
    return str(memory.context(query, budget=budget, altitude="mixed"))


POLICIES: dict[str, Policy] = {
    policy.__name__: policy
    for policy in (flat_dense, flat_default, collapsed, traversal, related, related_leaves, mixed)
}


def fill(texts: Iterator[str], budget: int) -> str:
    """Texts in their order until the budget is used up; the last is cut after a word."""
    taken: list[str] = []
    left = budget
    for text in texts:
        words = text.split(" ")
        while words and (cost := estimate_tokens(" ".join(words))) > left:
            del words[max(min(int(len(words) * left / cost), len(words) - 1), 0) :]
        taken.append(" ".join(words))
        left -= estimate_tokens(taken[-1])
        if len(taken[-1]) < len(text):
            break
    return "\n".join(taken)


def recall(context: str, answers: Sequence[str]) -> float:
    """The share of an answer's content words that the context has, best of the answers."""
    said = set(terms(context)[:, 0].tolist())
    found = []
    for answer in answers:
        wanted = set(terms(answer)[:, 0].tolist())
        if wanted:
            found.append(len(wanted & said) / len(wanted))
    return max(found, default=float("nan"))


def lines(path: Path) -> list[dict[str, Any]]:
    """JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def fairytales(data: Path) -> Iterator[Corpus]:
    """All stories in one space."""
    stories = lines(data / "fairytaleqa/stories.jsonl")

    def add(memory: Memory) -> None:
        for story in stories:
            for part in story["sections"]:
                memory.add(part["text"], source=next(iter(story.values())), kind="text")

    groups = {"local": "narrow", "summary": "broad"}
    asked = [
        Question(one["question"], groups[one["local_or_sum"]], tuple(one["answers"]))
        for one in lines(data / "fairytaleqa/questions.jsonl")
    ]
    yield Corpus("fairytaleqa", add, asked)


def locomo(data: Path) -> Iterator[Corpus]:
    """Each conversation a space, each session one of its own."""
    for number, chat in enumerate(json.loads((data / "locomo/locomo5.json").read_text("utf-8"))):
        talk = chat["conversation"]
        asked = [
            Question(one["question"], LOCOMO_CATEGORIES[one["category"]], (str(one["answer"]),))
            for one in chat["qa"]
            if one["category"] in LOCOMO_CATEGORIES
        ]

        def add(memory: Memory, talk: dict[str, Any] = talk) -> None:
            for name, turns in talk.items():
                if re.fullmatch(r"session_\d+", name):
                    memory.add(
                        [
                            {"role": "user", "name": t["speaker"], "content": t["text"]}
                            for t in turns
                        ],
                        source="chat",
                        session=name,
                    )

        yield Corpus(f"locomo/{number}", add, asked)


def books(data: Path, folder: str, texts: str) -> Iterator[Corpus]:
    """Each article or story a space."""
    asked: dict[Any, list[Question]] = defaultdict(list)
    for one in lines(data / folder / "questions.jsonl"):
        options = one.get("options")
        answer = options[one["answer"]] if options else one["answer"]
        asked[one["doc"]].append(Question(one["question"], "all", (answer,)))
    for one in lines(data / folder / texts):

        def add(memory: Memory, text: str = one["text"]) -> None:
            memory.add(re.sub(r"<[^>]+>", " ", text), source="text", kind="text")

        yield Corpus(f"{folder}/{one['doc']}", add, asked[one["doc"]])


def corpora(data: Path, chosen: Sequence[str], longest: int) -> Iterator[Corpus]:
    """The corpora of the data sets chosen."""
    if "fairytaleqa" in chosen:
        yield from fairytales(data)
    if "locomo" in chosen:
        yield from locomo(data)
    if "quality" in chosen:
        yield from books(data, "quality", "articles.jsonl")
    if "narrativeqa" in chosen:
        stories = {
            one["doc"]: len(one["text"]) for one in lines(data / "narrativeqa/stories.jsonl")
        }
        for corpus in books(data, "narrativeqa", "stories.jsonl"):
            if stories[corpus.name.split("/", 1)[1]] <= longest:
                yield corpus


def main() -> None:
    """Print a table: a row a policy, a column a group of questions."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="*", default=["fairytaleqa", "locomo", "quality"])
    parser.add_argument(
        "--sample", type=int, default=100, help="questions of a group of a corpus, at most"
    )
    parser.add_argument("--longest", type=int, default=300_000, help="characters of a story")
    parser.add_argument("--budget", type=int, nargs="*", default=[150, 400, 1000])
    parser.add_argument("--only", nargs="*", help="names of corpora, such as quality/1")
    parser.add_argument("--policies", nargs="*", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--llm", help="writes the summaries, such as a path of a GGUF file")
    options = parser.parse_args()
    embedder = Remembering()
    scores: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for corpus in corpora(options.data, options.sets, options.longest):
        if options.only and corpus.name not in options.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            memory = Memory.open(Path(folder) / "memory.db", embedder=embedder, llm=options.llm)
            started = time.perf_counter()
            corpus.add(memory)
            added = time.perf_counter()
            memory.tree.settle()
            settled = time.perf_counter()
            stats = memory.tree.stats()
            shape = stats.shape
            print(
                f"{corpus.name}: {shape.leaves} leaves, {shape.nodes} nodes,"
                f" depth {shape.max_depth}, add {added - started:.1f} s,"
                f" settle {settled - added:.1f} s,"
                f" {stats.calls_per_leaf:.2f} calls and {stats.tokens_per_leaf:.0f} tokens a leaf",
                flush=True,
            )
            for question in sampled(corpus.questions, options.sample):
                group = f"{corpus.name.split('/')[0]} {question.group}"
                for budget in options.budget:
                    for name in options.policies:
                        context = POLICIES[name](memory, question.text, budget)
                        scores[group, name, budget].append(recall(context, question.answers))
            memory.close()
    show(scores)


def sampled(questions: Sequence[Question], most: int) -> list[Question]:
    """At most so many questions of each group, always the same ones."""
    groups: dict[str, list[Question]] = defaultdict(list)
    for question in random.Random(0).sample(questions, len(questions)):
        if len(groups[question.group]) < most:
            groups[question.group].append(question)
    return [question for group in groups.values() for question in group]


def show(scores: dict[tuple[str, str, int], list[float]]) -> None:
    """A Markdown table in percent."""
    groups = sorted({(group, budget) for group, _, budget in scores})
    names = list(dict.fromkeys(name for _, name, _ in scores))
    heads = [
        f"{group} {budget} (n={int(np.isfinite(scores[group, names[0], budget]).sum())})"
        for group, budget in groups
    ]
    print("| policy | " + " | ".join(heads) + " |")
    print("|---|" + "---|" * len(heads))
    for name in names:
        row = [f"{100 * np.nanmean(scores[group, name, budget]):.1f}" for group, budget in groups]
        print(f"| {name} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
