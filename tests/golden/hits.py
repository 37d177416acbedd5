"""The ten best hits of each question: as searches find them now, and as stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from math import isclose
from pathlib import Path
from typing import Any

from tests.golden.corpus import FOLDER, SPACES, Question, export, label, questions
from treering import Hit, Memory
from treering.embed.contract import Embedder

FILE = FOLDER / "hits.jsonl"
DECIMALS = 6

TOLERANCE = 1.5e-6
"""A millionth, and half of the last decimal that is stored. Relative above 1."""

Answer = dict[str, Any]
"""The labels of hits, best first, and the terms of each by name; a term of zeros is left out."""


def search_all(folder: Path, embedder: Embedder) -> Iterator[tuple[Question, Answer]]:
    """All questions with their hits."""
    with ExitStack() as stack:
        memories: dict[str, Memory] = {}
        for space in SPACES:
            memory = Memory.open(folder / "golden.db", space=space, embedder=embedder)
            memories[space] = stack.enter_context(memory)
            if memory.import_(export(space)).pending:
                memory.settle()  # raises the error of a text without a vector
        memories["rounds"].configure(chat_unit="rounds")
        for question in questions():
            hits = memories[question.space].search(question.text, k=10, **question.options)
            yield question, _answer(hits)


def load_hits() -> list[Answer]:
    """The stored hits, in the order of the questions."""
    return [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def save_hits(answers: list[tuple[Question, Answer]]) -> int:
    """Store hits; return how many questions have others than before.

    Lines that are within the tolerance stay as they are, whatever the processor.
    """
    before = {hits["question"]: hits for hits in load_hits()} if FILE.exists() else {}
    lines, changed = [], 0
    for question, hits in answers:
        old = before.get(str(question))
        is_same = old is not None and not difference(old, hits)
        changed += not is_same
        lines.append(json.dumps(old if is_same else {"question": str(question)} | hits))
    FILE.write_text("\n".join(lines) + "\n", "utf-8")
    return changed


def difference(then: Answer, now: Answer) -> str:
    """The first change of the hits or terms of a question; an empty text if there is none."""
    for place, (old, new) in enumerate(zip(then["hits"], now["hits"], strict=False), start=1):
        if old != new:
            return f"hit {place} was {old}, is {new}"
    if len(then["hits"]) != len(now["hits"]):
        return f"there were {len(then['hits'])} hits, there are {len(now['hits'])}"
    nothing = [0.0] * len(now["hits"])
    for name in dict.fromkeys([*then["terms"], *now["terms"]]):
        values = zip(then["terms"].get(name, nothing), now["terms"].get(name, nothing), strict=True)
        for place, (old, new) in enumerate(values, start=1):
            if not isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
                return f"{name} of hit {place}, {now['hits'][place - 1]}, was {old}, is {new}"
    return ""


def _answer(hits: list[Hit]) -> Answer:
    names = dict.fromkeys(name for hit in hits for name in hit.why.terms)
    terms = {
        name: [round(hit.why.terms.get(name, 0.0), DECIMALS) for hit in hits] for name in names
    }
    return {
        "hits": [_label(hit) for hit in hits],
        "terms": {name: values for name, values in terms.items() if any(values)},
    }


def _label(hit: Hit) -> str:
    """Such as ``friends/12``, or ``friends/12+480`` for a fragment that begins there."""
    place = label(hit.entry_id) + (f"+{hit.start}" if hit.start else "")
    return f"{place} and {hit.summary_of - 1} more" if hit.node is not None else place
