"""What of MemTree can be read in two ways, and how long summaries are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Open
from treering import Memory
from treering.arrays import Floats
from treering.llm.scripted import FakeLLM, Request
from treering.views.choices import SpaceSettings
from treering.views.tree.shape import threshold


class Alike:
    """Every text but a query about cats has the same meaning."""

    name = "alike"
    dimension = 2

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        del query
        rows = [[0.0, 1.0] if "cat" in text else [1.0, 0.0] for text in texts]
        return np.array(rows, dtype=np.float32)


def test_the_maximum_depth_can_be_that_of_the_tree_by_now() -> None:
    current = SpaceSettings(tree_form="current")
    assert threshold(current, 2, deepest=4) == pytest.approx(0.4 * math.exp(0.5 * 2 / 4))
    assert threshold(current, 0, deepest=0) == pytest.approx(0.4)
    # By a max_depth of 16 it would be nearly the base.
    assert threshold(SpaceSettings(), 2) < threshold(current, 2, deepest=4)


def calls_of(open_memory: Open, file: Path, **settings: str) -> tuple[int, Memory]:
    """How often a model is asked for four texts of one meaning, settled one by one."""
    llm = FakeLLM(lambda _: "Boats and boats.")
    memory = open_memory(file, embedder=Alike(), llm=llm)
    memory.configure(tree_depth=2, **settings)  # type: ignore[arg-type]
    for number in range(4):
        memory.add(f"Boats {number}.", source=f"n{number}", kind="text")
        memory.tree.settle()
    return len(llm.requests), memory


def test_as_algorithm_1_is_printed_the_node_that_gets_a_leaf_keeps_its_text(
    open_memory: Open, tmp_path: Path
) -> None:
    merged, _ = calls_of(open_memory, tmp_path / "merged.db")
    kept, memory = calls_of(open_memory, tmp_path / "kept.db", tree_receiver="kept")
    # One summary of four leaves at depth 2: three texts come to it, and nobody passes it.
    assert (merged, kept) == (3, 0)
    [top] = memory.tree.roots()
    assert top.text == "Boats 0."
    assert not top.pending


def test_a_summary_has_as_many_tokens_as_its_depth_allows(open_memory: Open) -> None:
    asked: list[Request] = []

    def reply(request: Request) -> str:
        asked.append(request)
        return "Boats and boats."

    memory = open_memory(embedder=Alike(), llm=FakeLLM(reply, context_window=4096))
    memory.configure(tree_tokens=200, tree_deeper_tokens=67)
    for number in range(3):
        memory.add(f"Boats {number}.", source=f"n{number}", kind="text")
    memory.tree.settle()
    assert sorted({request.max_tokens for request in asked}) == [200, 267]
    asked.clear()
    memory.configure(tree_tokens=0)
    memory.tree.settle()
    assert {request.max_tokens for request in asked} == {819}  # a fifth of the window
