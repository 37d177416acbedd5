"""Store the hits that searches find now: ``python -m tests.golden``."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

from tests.golden.hits import save_hits, search_all
from tests.golden.vectors import StoredVectors
from treering.embed.minilm import MiniLM

TIE = 1e-5
"""Scores nearer than this may change places on another processor."""

if __name__ == "__main__":
    embedder = StoredVectors(MiniLM())
    with tempfile.TemporaryDirectory() as folder:
        answers = list(search_all(Path(folder), embedder))
    embedder.save()
    changed = save_hits(answers)
    for question, hits in answers:
        scores = [sum(of_hit) for of_hit in zip(*hits["terms"].values(), strict=True)]
        if any(0 < abs(first - second) < TIE for first, second in pairwise(scores)):
            print(f"nearly equal scores, word it differently: {question}")
    print(f"{len(answers)} questions, {changed} of them changed")
