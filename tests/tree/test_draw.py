from __future__ import annotations

from treering.views.tree.node import TreeNode, outline

NASTY = "red \x1b[31m bell \x07 right-to-left \u202e"
NODES = [
    TreeNode(4, "About Ana", 2, False, 2, made_by="extractive", pending=True),
    TreeNode(2, NASTY, 3, True, 1, source="a.txt"),
    TreeNode(3, "Ana sails.", 3, True, 1, source="log", repeats=1),
    TreeNode(5, "Ben bakes.", 2, True, 1, source="log"),
]


def test_the_outline_shows_summaries_leaves_repetitions_and_what_is_pending() -> None:
    lines = outline(NODES).splitlines()
    assert lines[0] == "[2] About Ana (pending)  #4"
    assert lines[1].startswith("├── red ")
    assert lines[2:] == ["└── Ana sails. (×2)  #3", "Ben bakes.  #5"]


def test_a_branch_passes_by_the_nodes_below_a_sibling() -> None:
    tree = ((1, "a", 2), (2, "b", 3), (3, "c", 4), (4, "d", 4), (5, "e", 3), (6, "f", 4))
    nodes = [TreeNode(number, text, depth, True, 1) for number, text, depth in tree]
    assert outline(nodes).splitlines() == [
        "a  #1",
        "├── b  #2",
        "│   ├── c  #3",
        "│   └── d  #4",
        "└── e  #5",
        "    └── f  #6",
    ]


def test_nothing_in_a_text_can_act_on_a_terminal() -> None:
    assert outline(NODES[1:2]).isprintable()
