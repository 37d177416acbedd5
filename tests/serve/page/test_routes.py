"""What the page asks for beyond the REST interface, and how its files are served."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.code.repositories import SHOP
from tests.conftest import Open
from tests.memo.talk import messages, place
from tests.serve.conftest import MakeKey, Serve, bearer
from treering.serve.page import route
from treering.views.tree import grow


def test_the_page_allows_nothing_from_elsewhere_and_nothing_inline(client: TestClient) -> None:
    for name in ("/", "/page/app.js", "/page/style.css"):
        answer = client.get(name)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.get("/").headers["content-type"] == "text/html; charset=utf-8"
    assert client.get("/page/none.js").status_code == 404
    assert client.get("/page/../app.py").status_code == 404


def test_no_file_of_the_page_reads_markup_from_a_text() -> None:
    files = resources.files("treering.serve.page").joinpath("static").iterdir()
    texts = {file.name: file.read_text("utf-8") for file in files}
    assert {"index.html", "app.js", "style.css"} <= texts.keys()
    for name, text in texts.items():
        for acting in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert acting not in text, name
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), name
        assert "https://" not in text, name


def test_with_keys_the_page_is_open_and_what_it_shows_is_not(
    serve: Serve, make_key: MakeKey
) -> None:
    key = make_key("ann")
    client = serve()
    assert client.get("/").status_code == 200
    assert client.get("/page/api.js").status_code == 200
    for path, status in {
        "entries/x/story": 404,
        "code/neighbours?path=a&definition=b": 404,
        "tree": 200,
        "tree?below=1": 404,
    }.items():
        assert client.get(f"/v1/page/{path}").status_code == 401
        assert client.get(f"/v1/page/{path}", headers=bearer(key)).status_code == status


def test_a_story_tells_where_an_entry_went(open_memory: Open, serve: Serve) -> None:
    memory = open_memory()
    memory.add(messages(6))
    memo = place(memory, "Ines in Porto", "Ines moved to Porto.", 0, 3)
    memory.tree.settle()  # somebody uses the tree
    memory.settle()
    first = next(memory.entries())
    [leaf] = memory.tree.find(first.id)
    found = serve().get(f"/v1/page/entries/{first.id}/story").json()
    assert found["entry"]["text"] == first.text
    [one] = found["places"]
    assert one["leaf"]["number"] == leaf.number
    above = [node.number for node in memory.tree.path(leaf.number)]
    assert [branch["node"]["number"] for branch in one["above"]] == above
    assert [one["id"] for one in found["memos"]] == [memo.id]


def test_the_neighbours_of_a_definition_are_who_calls_it_and_whom_it_calls(
    open_memory: Open, serve: Serve, tmp_path: Path
) -> None:
    open_memory().code.index(shop(tmp_path / "shop"))
    client = serve()

    def around(path: str, definition: str) -> dict[str, Any]:
        where = {"path": path, "definition": definition}
        answer = client.get("/v1/code/neighbours", params=where)
        found: dict[str, Any] = answer.json()
        return {"status": answer.status_code} | found

    found = around("shop/cart.py", "Cart.total")
    assert found["center"]["kind"] == "method"
    assert found["text"].startswith("def total(self):")
    assert {(one["path"], one["definition"], one["calls"]) for one in found["callees"]} == {
        ("shop/prices.py", "price", 1),
        ("shop/prices.py", "vat", 1),
    }
    assert {(one["path"], one["definition"], one["calls"]) for one in found["callers"]} == {
        ("shop/cart.py", "Cart.again", 1),
        ("tests/test_cart.py", "test_total", 1),
    }
    members = around("shop/cart.py", "Cart")["members"]
    assert [one["definition"] for one in members] == [
        "Cart.__init__", "Cart.add", "Cart.total", "Cart.again",
    ]  # fmt: skip
    assert around("none.py", "Cart")["status"] == 404
    assert "it has Cart" in around("shop/cart.py", "Dog")["detail"]


def shop(root: Path) -> Path:
    """The small repository, written out."""
    for name, text in SHOP.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_newest_entries_come_a_page_at_a_time_and_meet_a_filter(
    open_memory: Open, serve: Serve
) -> None:
    memory = open_memory()
    memory.add(messages(5))
    memory.add("Elsewhere.", source="notes")
    client = serve()
    texts: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        query = {"limit": 2, "newest": True} | ({"cursor": cursor} if cursor else {})
        page = client.get("/v1/entries", params=query).json()
        texts += [entry["text"] for entry in page["entries"]]
        cursor = page["next"]
    assert cursor is None
    assert texts == [entry.text for entry in memory.entries()][::-1]
    found = client.get("/v1/entries", params={"newest": True, "source": "notes"}).json()
    assert [entry["text"] for entry in found["entries"]] == ["Elsewhere."]


def test_the_tree_comes_in_parts_and_says_how_many_texts_have_no_place(
    open_memory: Open, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    memory.add(messages(12))
    client = serve()
    assert client.get("/v1/page/tree").json() == {
        "branches": [], "offset": 0, "total": 0, "unplaced": 12,
    }  # fmt: skip
    monkeypatch.setattr(grow, "SHORT_BATCH_VECTORS", 5)
    monkeypatch.setattr(route, "PLACING_S", 1e-6)
    unplaced = [
        client.get("/v1/page/tree", params={"place": True}).json()["unplaced"] for _ in range(3)
    ]
    assert unplaced == [7, 2, 0]
    part = client.get("/v1/page/tree").json()
    assert part["total"] == len(memory.tree.roots())
    assert all(branch["label"] for branch in part["branches"])
    inner = next(branch["node"] for branch in part["branches"] if not branch["node"]["leaf"])
    below = client.get("/v1/page/tree", params={"below": inner["number"]}).json()
    assert below["total"] == len(memory.tree.children(inner["number"]))
    assert client.get("/v1/page/tree", params={"below": 9999}).status_code == 404


@given(st.text(max_size=200))
def test_any_text_becomes_known_elements(text: str) -> None:
    assert {*re.findall(r"<(\w+)", route.format_markdown(text))} <= {
        *("a", "blockquote", "br", "code", "em", "hr", "img", "li", "ol", "p", "pre", "s"),
        *("strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
        *("h1", "h2", "h3", "h4", "h5", "h6"),
    }


def test_only_a_marked_text_is_formatted(client: TestClient) -> None:
    for text, is_marked in {
        "We met at noon.\nThen we left.\n\n<b>The end.": False,
        "We met at *noon*.": True,
    }.items():
        [entry_id] = client.post("/v1/entries", json={"text": text}).json()["ids"]
        shown = client.get(f"/v1/page/entries/{entry_id}/story").json()
        assert (shown["formatted"] is not None) == is_marked
    long = "*<long>* " * 20_000
    formatted = client.post("/v1/page/markdown", json={"text": long}).json()
    assert formatted.startswith("*&lt;long&gt;*")


@pytest.mark.parametrize("mark", ["*", "*_", "~~", "> ", "- ", "["])
def test_marks_in_marks_without_end_are_shown_as_they_are_written(
    client: TestClient, mark: str
) -> None:
    text = f"{mark * 5_000}a{mark[::-1] * 5_000}"
    [entry_id] = client.post("/v1/entries", json={"text": text}).json()["ids"]
    story = client.get(f"/v1/page/entries/{entry_id}/story")
    assert story.status_code == 200
    assert story.json()["entry"]["text"] == text.strip()
