from __future__ import annotations

import json
from html.parser import HTMLParser

from treering.views.tree import draw
from treering.views.tree.draw import Branch

NASTY = '</p><script>alert("1")</script> & "quoted" \\ $title #35; ]'
LEAVES = (
    Branch(2, NASTY, "a<b>.txt", leaf=True),
    Branch(3, "Ana sails.", "log", leaf=True, repeats=1),
)
TREE = [Branch(4, "About Ana", "extractive", leaf=False, children=LEAVES, pending=True)]


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_outline_shows_summaries_leaves_repetitions_and_what_is_pending() -> None:
    lines = draw.outline(TREE).splitlines()
    assert lines[0] == "[2] About Ana (pending)  #4"
    assert lines[2] == "  - Ana sails. (×2)  #3"


def test_nothing_in_a_text_can_act_on_a_terminal() -> None:
    shown = draw.outline([Branch(1, "red \x1b[31m bell \x07 right-to-left \u202e", "", leaf=True)])
    assert shown.isprintable()


def test_the_page_is_self_contained_and_shows_texts_as_texts() -> None:
    page = Page()
    page.feed(draw.page(TREE, "memory <1>"))
    assert page.links == []
    assert page.tags.count("script") == 1  # the page's own
    assert page.tags.count("details") == 1
    assert NASTY in page.text
    assert "memory <1>" in page.text


def test_json_nests_children() -> None:
    (root,) = json.loads(draw.as_json(TREE))
    assert [child["text"] for child in root["children"]] == [NASTY, "Ana sails."]


def test_an_empty_tree_can_be_drawn() -> None:
    assert draw.outline([]) == ""
    assert "<main>" in draw.page([], "memory")
