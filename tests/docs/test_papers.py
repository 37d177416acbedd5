"""The page on the papers names every preset, and existing modules."""

from __future__ import annotations

import re

from tests.docs.pages import DOCS, ROOT
from treering.memory import Memory
from treering.views.presets import PRESETS

PAGE = (DOCS / "explanation" / "papers.md").read_text("utf-8")
MODULE = re.compile(r"`((?:search|split|embed|llm|views|chat|treering_bench)/[\w/.*]*)`")


def test_the_page_names_every_preset() -> None:
    rows = {line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")}
    assert rows == PRESETS.keys() - {"default"}


def test_the_docstring_of_configure_names_every_preset() -> None:
    assert Memory.configure.__doc__ is not None
    assert all(f"``{name}``" in Memory.configure.__doc__ for name in PRESETS)


def test_every_module_of_the_page_exists() -> None:
    for name in sorted(set(MODULE.findall(PAGE))):
        folder = "benchmarks" if name.startswith("treering_bench") else "treering"
        assert list((ROOT / folder).glob(name.rstrip("/"))), name
