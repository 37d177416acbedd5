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
    """The outline of the tree as ``treering tree --json`` prints it: parents before children."""
    above = [Node("")]
    for node in map(json.loads, drawn.splitlines()):
        del above[node["depth"] :]
        above[-1].children.append(Node(node["text"]))
        above.append(above[-1].children[-1])
    return [child.outline() for child in above[0].children]


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


def cosine_order(nodes: list[Node], query: str) -> list[str]:
    """The contents of nodes, the most similar to the query first."""
    cosines = embed([node.content for node in nodes]) @ embed([query])[0]
    return [nodes[place].content for place in np.argsort(-cosines, kind="stable")]


def prompt_of_a_2_2(question: str, contents: list[str]) -> str:
    """The prompt of A.2.2 as it is printed."""
    shown = "\n\n".join(contents)
    return (
        "Write a high-quality short answer for the given question using only the provided search "
        "results (some of which might be irrelevant).\n\n"
        f"[ Question ]\n{question}\n\n[ Search Results ]\n{shown}\n\n[ Output ]"
    )


QUESTION = "Who sails the boat in the rain?"


def test_an_answer_is_asked_from_the_ten_best_nodes_of_the_collapsed_tree(
    treering: Treering, endpoint: Endpoint, grown: Callable[..., None], online: OnlineTree
) -> None:
    grown("memtree")
    assert treering("ask", QUESTION).stdout == "Ana.\n"
    best = cosine_order(online.nodes(), QUESTION)[:10]
    assert endpoint.prompts[-1] == prompt_of_a_2_2(QUESTION, best)
    shown = json.loads(treering("context", QUESTION, "--json").stdout)
    assert [passage["text"] for passage in shown["passages"]] == best
    assert shown["budget"] == 8192


def test_a_traversal_takes_the_best_of_each_level_and_theta_retrieve_leaves_out_the_rest(
    treering: Treering, endpoint: Endpoint, grown: Callable[..., None], online: OnlineTree
) -> None:
    grown("memtree")
    treering("configure", "--method", "traversal", "--k", "2", "--least", "0.4")
    treering("ask", QUESTION)
    vector, found, level = embed([QUESTION])[0], [], online.root.children
    while level:
        best = sorted(level, key=lambda node: -float(embed([node.content])[0] @ vector))[:2]
        found += best
        level = [child for node in best for child in node.children]
    found = [node for node in found if embed([node.content])[0] @ vector >= 0.4]
    assert 2 < len(found) < len(online.nodes())
    assert endpoint.prompts[-1] == prompt_of_a_2_2(QUESTION, cosine_order(found, QUESTION))


def test_a_budget_bounds_what_is_shown_of_the_nodes(
    treering: Treering, endpoint: Endpoint, grown: Callable[..., None], online: OnlineTree
) -> None:
    grown("memtree")
    treering("configure", "--budget", "20 words")
    treering("ask", QUESTION)
    shown: list[str] = []
    for content in cosine_order(online.nodes(), QUESTION)[:10]:
        if len(" ".join([*shown, content]).split()) <= 20:
            shown.append(content)
    assert len(shown) > 1
    assert endpoint.prompts[-1] == prompt_of_a_2_2(QUESTION, shown)


def test_a_chat_is_answered_from_three_nodes_and_each_round_becomes_a_leaf(
    treering: Treering, endpoint: Endpoint
) -> None:
    works = "Noted, {}."
    endpoint.rule = lambda prompt: (
        summarise(prompt)
        if "[New Information]" in prompt
        else works.format(prompt.split("[ Question ]\n")[1].split("\n")[0][:20])
        if "[ Question ]" in prompt
        else "[]"
    )
    treering("configure", "memtree-chat")
    tree, said = OnlineTree(), [sentence.strip() for sentence in SENTENCES[:8]]
    for sentence in said:
        assert treering("chat", stdin=f"{sentence}\n").exit_code == 0
        asked = [prompt for prompt in endpoint.prompts if "[ Question ]" in prompt][-1]
        nodes = [*tree.nodes()]
        best = cosine_order(nodes, sentence)[:3] if nodes else []
        assert [line for line in best if line in asked] == best
        tree.insert(f"user: {sentence}\nassistant: {works.format(sentence[:20])}")
    assert shown(treering("tree", "--json").stdout) == [
        child.outline() for child in tree.root.children
    ]
