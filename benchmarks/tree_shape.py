"""The paper's structural findings on real text: depth by θ0, path lengths, merged calls, quality.

    python -m benchmarks.tree_shape DATA [--texts 1500]

DATA holds ``locomo``, ``lihua_world`` and ``multihop_rag``. The trees are built from embeddings
alone, and also by the paper's route (``content``), summaries made extractively after every
``--every`` inserts. A path is what the paper pays a language model call for each node of;
``merged`` is how many calls an insert are left when the summaries of ``--every`` inserts are made
together.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from treering.embed.minilm import MiniLM
from treering.llm.tokens import estimate_tokens
from treering.relate.contract import Floats
from treering.tree.aggregate import SUMMARY_TOKENS
from treering.tree.diagnose import depths, odd_one_out, shape
from treering.tree.extract import central_sentences
from treering.tree.family import direction
from treering.tree.otd import otd_revenue
from treering.tree.revenue import revenue, separation
from treering.tree.shape import Inserted, Route, Settings, Tree
from treering.tree.threshold import Threshold

BASES = (0.1, 0.4, 0.8)


def corpora(data: Path, most: int) -> Iterator[tuple[str, list[str]]]:
    """A long chat, a year of chat logs, and news facts, each a list of texts."""
    chat = json.loads((data / "locomo/locomo5.json").read_text("utf-8"))[4]["conversation"]
    turns = [
        f"{turn['speaker']}: {turn['text']}"
        for name, session in chat.items()
        if re.fullmatch(r"session_\d+", name)
        for turn in session
    ]
    yield "locomo", turns[:most]
    logs = (data / "lihua_world/docs.jsonl").read_text("utf-8").split("\n")
    said = [line for log in logs if log for line in json.loads(log)["text"].split("\n")[1:]]
    yield "lihua_world", [line for line in said if line.strip()][:most]
    facts = (data / "multihop_rag/facts.jsonl").read_text("utf-8").split("\n")
    yield "multihop_rag", [json.loads(line)["fact"] for line in facts if line][:most]


def main() -> None:
    """Print a row for each corpus, θ0 and route."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--texts", type=int, default=1500, help="of each corpus, at most")
    parser.add_argument("--every", type=int, default=20, help="inserts between two settlements")
    parser.add_argument("--content", action="store_true", help="also the paper's route (slow)")
    options = parser.parse_args()
    model = MiniLM()
    print(
        "| corpus | θ0 | route | nodes | topics | depth 10/50/90 % | max | branching | path/insert"
        " | merged | revenue/OTD | β 5 % | odd easy | odd hard |\n" + "|---" * 14 + "|"
    )
    for name, texts in corpora(options.data, options.texts):
        vectors = model.embed(texts)
        best = otd_revenue(vectors)
        for base in BASES:
            routes: list[Route] = ["leaves", "content"] if options.content else ["leaves"]
            for route in routes:
                tree = Tree(model.dimension, Settings(Threshold(base=base), route))
                merged, inserted = grow(tree, texts, vectors, model, options.every)
                report(name, base, tree, inserted, merged, best)


def grow(
    tree: Tree, texts: Sequence[str], vectors: Floats, model: MiniLM, every: int
) -> tuple[int, list[Inserted]]:
    """Insert all; return how many summaries were made, and the inserts."""
    said: dict[int, str] = {}
    inserted, dirty, made = [], set[int](), 0
    for index, vector in enumerate(vectors):
        one = tree.insert(vector)
        inserted.append(one)
        said[one.leaf] = texts[index]
        dirty.update(one.path)
        if (index + 1) % every == 0 or index == len(vectors) - 1:
            made += len(dirty)
            if tree.settings.route == "content" and dirty:
                summarise(tree, said, sorted(dirty, key=tree.depth, reverse=True), model)
            dirty.clear()
    return made, inserted


def summarise(tree: Tree, said: dict[int, str], nodes: Sequence[int], model: MiniLM) -> None:
    """Make summaries from the deepest up and let inserts follow them."""
    for node in nodes:
        below = [said[child] for child in tree.children(node)]
        said[node] = central_sentences(below, SUMMARY_TOKENS, estimate_tokens)
    for node, vector in zip(nodes, model.embed([said[node] for node in nodes]), strict=True):
        tree.set_content(node, vector)


def report(
    name: str, base: float, tree: Tree, inserted: Sequence[Inserted], merged: int, best: float
) -> None:
    """One row."""
    found = shape(tree, {})
    low, middle, high = np.percentile(list(depths(tree).values()), [10, 50, 90])
    paths = [len(one.path) for one in inserted]
    odd = odd_one_out(tree, lambda node: direction(tree.total(node)))
    print(
        f"| {name} | {base} | {tree.settings.route} | {found.nodes} | {found.topics} |"
        f" {low:.0f}/{middle:.0f}/{high:.0f} | {found.max_depth} | {found.branching:.2f} |"
        f" {np.mean(paths):.2f} ± {np.std(paths):.2f} | {merged / len(inserted):.2f} |"
        f" {revenue(tree) / best:.3f} | {separation(tree).low:.3f} | {odd.easy:.3f} |"
        f" {odd.hard:.3f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
