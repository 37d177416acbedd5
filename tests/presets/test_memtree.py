"""MemTree from the command line, beside section 3.1 as it reads, in a few lines of numpy."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Treering
from tests.embedders import HashingEmbedder
from tests.presets.conftest import Endpoint
from treering.arrays import Floats

SENTENCES = [
    f"{sentence}. "
    for sentence in (
        "Ana sails her boat to the harbour",
        "Ana paints the boat at the harbour",
        "Ben bakes bread in the oven",
        "The harbour is full of boats and Ana",
        "Ben burns bread in the old oven",
        "The oven of Ben bakes rye bread",
        "Rain falls on the mountain road",
        "Snow falls on the mountain road",
        "Ana buys rope for the old boat",
        "Ben buys rye flour for bread",
        "The mountain road is closed by snow",
        "Ana lost an anchor near the harbour",
        "Rain falls into the boat of Ana",
        "The bread of Ben is wet",
        "A ship passes the harbour in rain",
    )
]
"""Of five to eight words, so that each is a chunk of 8 words."""


def embed(texts: list[str]) -> Floats:
    rows = HashingEmbedder().embed(texts)
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def merged(current: str, new: str) -> str:
    """The stand-in's summary: the words of both texts that come most often."""
    words = Counter(re.findall(r"\w+", f"{current} {new}".lower()))
    return " ".join(sorted(words, key=lambda word: (-words[word], word))[:9])


def summarise(prompt: str) -> str:
    """What the stand-in answers to the prompt of A.1.2."""
    new, rest = prompt.split("[New Information]\n")[1].split("\n\n[Existing Information")
    return merged(rest.split("entries)]\n")[1].split("\n\n[ Output Summary ]")[0], new)


@dataclass
class Node:
    """A node of the tree of section 3.1."""

    content: str
    children: list[Node] = field(default_factory=list)

    def outline(self) -> object:
        """The tree below, for comparison."""
        return self.content, [child.outline() for child in self.children]


@dataclass
class OnlineTree:
    """Section 3.1 and A.1.3 as they read; ``calls`` are (n, new, current) of each aggregation."""

    root: Node = field(default_factory=lambda: Node(""))
    calls: list[tuple[int, str, str]] = field(default_factory=list)

    def insert(self, text: str) -> None:
        vector = embed([text])[0]
        node, passed = self.root, [self.root]
        while node.children:
            cosines = embed([child.content for child in node.children]) @ vector
            threshold = 0.4 * math.exp(0.5 * (len(passed) - 1) / 16)
            if cosines.max() < threshold:
                break
            node = node.children[int(cosines.argmax())]
            passed.append(node)
        if not node.children and node is not self.root:  # a leaf becomes a parent of two
            node.children.append(Node(node.content))
        counts = [len(above.children) for above in passed]
        node.children.append(Node(text))
        for above, count in zip(passed[1:], counts[1:], strict=True):
            self.calls.append((count, text, above.content))
            above.content = merged(above.content, text)

    def nodes(self) -> list[Node]:
        """All nodes but the root."""
        there, stack = [], [*self.root.children]
        while stack:
            there.append(node := stack.pop())
            stack += node.children
        return there


@pytest.fixture
def online() -> OnlineTree:
    tree = OnlineTree()
    for sentence in SENTENCES:
        tree.insert(sentence)
    return tree


def shown(drawn: str) -> list[object]:
    """The outline of the tree as ``treering tree --json`` prints it."""

    def outline(node: dict[str, list[dict[str, object]]]) -> object:
        return node["text"], [outline(child) for child in node["children"]]  # type: ignore[arg-type]

    return [outline(json.loads(line)) for line in drawn.splitlines()]


@pytest.fixture
def grown(treering: Treering, endpoint: Endpoint, tmp_path: Path) -> Callable[..., None]:
    """Adds the story under a preset, one sentence a chunk, and settles."""
    endpoint.rule = lambda prompt: summarise(prompt) if "[New Information]" in prompt else "Ana."
    (tmp_path / "story.txt").write_text("".join(SENTENCES))

    def grow(*configured: str) -> None:
        assert treering("configure", *configured, "--fragment", "8 words").exit_code == 0
        assert treering("add", "story.txt").exit_code == 0
        assert treering("settle").exit_code == 0

    return grow


def test_a_document_grows_the_tree_and_makes_the_calls_of_section_3_1(
    treering: Treering, endpoint: Endpoint, grown: Callable[..., None], online: OnlineTree
) -> None:
    grown("memtree")
    assert shown(treering("tree", "--json").stdout) == [
        child.outline() for child in online.root.children
    ]
    assert max(len(node.children) for node in online.nodes()) > 1
    expected = Counter(
        (f"(from {count} previous entries)", f"[New Information]\n{new}\n", f"]\n{current}\n")
        for count, new, current in online.calls
    )
    made = Counter(
        next((key for key in expected if all(part in prompt for part in key)), prompt)
        for prompt in endpoint.prompts
        if "[New Information]" in prompt
    )
    assert made == expected


def test_a_model_that_fails_delays_the_tree_and_changes_nothing_of_it(
    treering: Treering, endpoint: Endpoint, grown: Callable[..., None], online: OnlineTree
) -> None:
    works, calls = endpoint.rule, iter(range(100))
    endpoint.rule = lambda prompt: "" if next(calls) == 7 else works(prompt)
    treering("configure", "memtree", "--fragment", "8 words")
    treering("add", "story.txt")
    assert treering("settle").exit_code != 0
    found = treering("search", "A ship passes the harbour", "--json").stdout
    assert "A ship passes" in found  # before it has a place in the tree
    assert "texts to be put into the tree" in treering("stats").stdout
    assert treering("settle").exit_code == 0
    assert shown(treering("tree", "--json").stdout) == [
        child.outline() for child in online.root.children
    ]


def test_without_a_model_the_tree_is_grown_by_the_sentences_it_has(
    treering: Treering, grown: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREERING_LLM_BASE_URL")
    monkeypatch.delenv("TREERING_LLM_MODEL")
    grown("memtree")
    figures = json.loads(treering("tree", "stats", "--json").stdout)
    assert figures["shape"]["leaves"] == len(SENTENCES)
    assert figures["made_by"] == {"extractive": figures["shape"]["nodes"] - len(SENTENCES)}
    assert figures["pending"] == 0
