from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import treering

ROOT = Path(__file__).parents[1]


def test_the_public_names_are_sorted_and_importable() -> None:
    assert treering.__all__ == sorted(treering.__all__)
    for name in treering.__all__:
        assert getattr(treering, name).__name__ == name
    assert set(treering.__all__) <= set(dir(treering))


def test_a_name_that_is_not_public_is_told() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        getattr(treering, "Nothing")  # noqa: B009


PROGRAM = """
import sys, treering
assert "numpy" not in sys.modules

from tests.embedders import HashingEmbedder
with treering.Memory.open(sys.argv[1], embedder=HashingEmbedder()) as memory:
    memory.add("I live in Porto now.")
    assert not (loaded := {*sys.argv[2:]} & {*sys.modules}), loaded
    assert memory.search("Porto")
    assert "scipy" not in sys.modules  # which would double the time of a first search
"""
HEAVY = (
    *("asyncio", "onnxruntime", "pydantic", "scipy", "tokenizers", "tree_sitter", "typer"),
    *("treering.chat.conversation", "treering.ingest.transcripts.contract", "treering.views.fit"),
    *("treering.views.code.graph", "treering.views.code.guard", "treering.views.code.parse.parser"),
)
"""What takes long to import, and neither opening a memory nor adding to it needs."""


def test_the_package_loads_no_numerics_and_an_add_nothing_heavy_that_it_does_not_need(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "life.db"), *HEAVY]
    done = subprocess.run(command, cwd=ROOT, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
