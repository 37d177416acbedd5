"""The page in a real headless Chromium, on a memory whose texts try to act on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.embedders import HashingEmbedder
from tests.memo.talk import messages, place
from tests.serve.conftest import MakeKey
from tests.serve.live import serving
from tests.serve.page.conftest import Visit, new_tab, renew
from tests.serve.page.test_routes import shop
from treering import Memory
from treering.journal import ledger
from treering.records import Spent

EVIL = (
    "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script> & zebra"
)
VIEWS = (
    *("search", "search?q=boat", "chat", "tree", "facts", "memos", "entries?add=1"),
    *("code?q=total", "status"),
)

Show = Callable[..., Page]


def filled(path: Path, folder: Path) -> None:
    """A memory with some of everything, and texts that want to be markup."""
    start = datetime(2026, 3, 1, 9, tzinfo=UTC)
    said = [
        one | {"at": start + timedelta(days=number // 2, minutes=number)}
        for number, one in enumerate(messages())
    ]
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        memory.add(said)
        memory.add(EVIL, source="<b>evil</b>", speaker="<i>zebra</i>", metadata={"<u>": EVIL})
        place(memory, "Ines in Porto", "Ines moved to Porto.", 0, 3)
        place(memory, "Boat <b>sail</b>", "The boat needs a sail.", 4, 7)
        memory.code.index(shop(folder))
        memory.tree.settle()
        memory.settle()
        with memory._space.write() as writer:
            ledger.spend(writer, Spent("ask", "served-model", 3, 4200, 70))
        memory.add("One more text, after the tree was settled.", source="late")
        for text, at in (
            ("I live in Berlin.", "2025-01-10"),
            ("I relocated to Porto.", "2026-05-03"),
        ):
            memory.add(text, speaker="Zoe", kind="chat", at=at, source="homes")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that the tests which change nothing share."""
    folder = tmp_path_factory.mktemp("page")
    filled(folder / "life.db", folder / "shop")
    with serving(url=folder / "life.db") as url:
        yield url


@pytest.fixture(scope="module")
def shared_tab(browser: Browser) -> Iterator[Page]:
    with new_tab(browser) as page:
        yield page


@pytest.fixture
def tab(shared_tab: Page) -> Iterator[Page]:
    """One for all tests of this module, which look at one server: a new one for each, which loads
    and compiles the page anew, costs as much as the test."""
    yield shared_tab
    renew(shared_tab)


@pytest.fixture
def show(visit: Visit, address: str) -> Show:
    """Opens views of the shared server, or of another."""

    def shown(view: str = "search", base: str = address) -> Page:
        return visit(base, view)

    return shown


def test_a_search_takes_each_score_apart_into_bars_that_add_up(show: Show) -> None:
    page = show()
    page.get_by_role("searchbox").fill("a new sail for the boat")
    page.keyboard.press("Enter")
    hits = page.locator(".hit")
    expect(hits).to_have_count(10)
    assert "sail" in hits.first.inner_text()
    for number in range(hits.count()):
        hit = hits.nth(number)
        values = [_number(one) for one in hit.locator(".value").all_inner_texts()]
        assert len(values) >= 3
        score = float(hit.locator(".score").inner_text())
        assert sum(values) == pytest.approx(score, abs=0.005 * (len(values) + 1))
        lengths = [one.bounding_box() for one in hit.locator(".bar").all()]
        widths = [box["width"] for box in lengths if box]
        largest = max(map(abs, values))  # as printed: two may be equal there
        assert widths.index(max(widths)) in [
            at for at, value in enumerate(values) if abs(value) == largest
        ]
    assert page.locator(".bar.minus").count() > 0


@pytest.mark.parametrize(("view", "row"), [("entries", ".brief"), ("search?q=Berlin", ".hit")])
def test_what_was_superseded_is_marked_where_it_is_listed(show: Show, view: str, row: str) -> None:
    page = show(f"{view}{'&' if '?' in view else '?'}source=homes")
    older = page.locator(row).filter(has_text="I live in Berlin.")
    expect(older.locator(".against")).to_contain_text("superseded since")
    expect(older.locator(".against")).to_contain_text("I relocated to Porto.")
    expect(page.locator(".against")).to_have_count(1)


def test_a_change_of_facts_has_its_days_and_names_on_bars_up_to_today(show: Show) -> None:
    page = show("facts?subject=zoe")
    older = page.locator(".slots li").filter(has_text="Berlin").locator(".who")
    expect(older).to_have_text("stated Jan 10, 2025, superseded since May 3, 2026")
    bars = page.locator(".lane .span")
    expect(bars).to_have_text(["Berlin", "Porto"])
    first, last, track = (
        each.bounding_box() for each in (bars.first, bars.last, page.locator(".lane .track"))
    )
    assert first
    assert last
    assert track
    assert first["x"] == pytest.approx(track["x"], abs=2)
    assert last["x"] + last["width"] == pytest.approx(track["x"] + track["width"], abs=2)


def test_the_tree_and_the_relations_of_a_hit_are_drawn(show: Show) -> None:
    page = show("search?q=boat new sail&source=chat")
    hit = page.locator(".hit").first
    hit.get_by_text("Tree and relations").click()
    expect(hit.locator(".lineage .mine")).to_contain_text("sail")
    assert hit.locator(".lineage li").count() > 2
    assert hit.locator("svg.graph .edge").count() > 1
    expect(hit.locator(".shared").first).to_contain_text("next to it")
    hit.locator("svg.graph a").first.click()
    expect(page.locator(".text.whole")).to_be_visible()


def test_stored_text_is_shown_and_never_acts(show: Show) -> None:
    page = show("search?q=zebra")
    expect(page.locator(".hit .text").first).to_have_text(EVIL)
    page.get_by_text("Tree and relations").first.click()
    expect(page.locator(".lineage .mine").first).to_contain_text(EVIL)
    assert page.locator("main img, main script, main b, main i, main u").count() == 0
    page.locator(".hit header a").first.click()
    expect(page.locator(".text.whole")).to_have_text(EVIL)
    page.get_by_text("Metadata").click()
    expect(page.locator("pre")).to_contain_text("<u>")
    for view in ("tree", "memos", "entries"):
        show(view)
        assert page.locator("main img, main script, main b, main i, main u").count() == 0


def test_the_tree_opens_and_closes_by_keyboard_down_to_its_leaves(show: Show) -> None:
    page = show("tree")
    branch = page.locator("details").first
    branch.locator("> summary").focus()
    page.keyboard.press("Enter")
    expect(branch.locator("> .branches > *").first).to_be_visible()
    assert branch.locator(".leaf, details").count() >= 2
    page.keyboard.press("Enter")
    expect(branch.locator("> .branches")).not_to_be_visible()
    page.keyboard.press("Enter")
    while branch.locator("details:not([open])").count():
        branch.locator("details:not([open]) > summary").first.click()
        expect(branch.locator("details[open] > .branches:empty")).to_have_count(0)
    texts = branch.locator(".leaf")
    assert texts.count() == int(branch.locator("> summary .count").inner_text())


def test_memos_stand_on_a_time_line_and_open_to_their_lines(show: Show) -> None:
    page = show("memos")
    topics = page.locator(".topic")
    assert topics.all_inner_texts() == ["Ines in Porto", "Boat <b>sail</b>"]
    lefts = [one.bounding_box() for one in page.locator(".lane .span").all()]
    assert lefts[0] is not None
    assert lefts[1] is not None
    assert lefts[0]["x"] < lefts[1]["x"]
    topics.nth(1).press("Enter")
    expect(topics.nth(1)).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".lines li")).to_have_count(4)
    expect(page.locator(".lines li").first).to_contain_text("my boat needs a new sail")


def test_the_code_graph_leads_from_definition_to_definition(show: Show) -> None:
    page = show("code?q=total of the items")
    page.locator(".hit header a", has_text=re.compile(r"^Cart$")).first.click()
    page.get_by_role("link", name="Cart.total", exact=True).first.click()
    expect(page.locator(".columns h3")).to_have_text(["Called by (2)", "Calls (2)"])
    assert page.locator("svg.graph .edge").count() == 4
    page.locator("svg.graph a[href$='name=price']").click()
    expect(page.locator("main h2")).to_have_text("price")
    expect(page.locator(".columns li")).to_have_count(1)
    expect(page.locator(".columns li a")).to_have_text("Cart.total")


def test_pending_work_is_told_in_words_and_done_when_somebody_says_so(
    tmp_path: Path, show: Show
) -> None:
    with Memory.open(tmp_path / "boats.db", embedder=HashingEmbedder()) as memory:
        for text in ("The boat needs a new sail.", "The boat needs a new mast."):
            memory.add(text, source="boat")
        memory.tree.roots()
    with serving(url=tmp_path / "boats.db") as url:
        page = show("status", base=url)
        expect(page.locator(".work li")).to_have_text(["1 summary to be written"])
        page.get_by_role("button", name="Do it now").click()
        expect(page.locator("main")).to_contain_text("Nothing is left to be done.")


def test_an_entry_is_forgotten_only_after_a_look_at_what_it_touches(
    browser: Browser, tmp_path: Path, show: Show
) -> None:
    filled(tmp_path / "life.db", tmp_path / "shop")
    with serving(url=tmp_path / "life.db") as url:
        page = show("search?q=boat new sail&source=chat", base=url)
        page.locator(".hit header a").first.click()
        expect(page.locator(".text.whole")).to_contain_text("my boat needs a new sail")
        expect(page.locator(".places .leaf")).to_have_count(1)
        expect(page.locator("section strong")).to_have_text(["Boat <b>sail</b>"])
        page.get_by_role("button", name="Forget this entry…").click()
        warning = page.locator(".warn")
        expect(warning).to_contain_text("Forget 1 entry for good?")
        expect(warning).to_contain_text("1 leaf of the tree")
        expect(warning).to_contain_text("1 memo rests on it: Boat <b>sail</b>")
        expect(page.get_by_role("button", name="Keep")).to_be_focused()
        page.keyboard.press("Enter")
        expect(warning).to_have_count(0)
        page.get_by_role("button", name="Forget this entry…").click()
        page.get_by_role("button", name="Forget for good").click()
        expect(page.locator(".forgetting")).to_contain_text("Forgot 1 entry")
        show("entries?source=chat", base=url)
        expect(page.locator(".brief")).to_have_count(11)
    assert b"my boat needs a new sail" not in (tmp_path / "life.db").read_bytes()


def test_a_server_with_keys_asks_for_one_and_keeps_it_for_the_tab(
    browser: Browser, path: Path, make_key: MakeKey
) -> None:
    with Memory.open(path, space="ann", embedder=HashingEmbedder()) as memory:
        memory.add("Ann likes tea.")
    key = make_key("ann")
    page = browser.new_page()
    with serving(url=path) as url:
        page.goto(f"{url}/#/search?q=tea")
        for tried in ("tr_wrong", key):
            expect(page.get_by_role("dialog")).to_be_visible()
            page.get_by_label("Key", exact=True).fill(tried)
            page.get_by_role("button", name="Open").click()
        expect(page.locator(".hit .text")).to_have_text("Ann likes tea.")
        page.reload()
        expect(page.locator(".hit .text")).to_have_text("Ann likes tea.")
        assert key not in page.url
    page.close()


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_phone(show: Show, view: str) -> None:
    page = show()
    page.set_viewport_size({"width": 360, "height": 640})
    show(view)
    if view == "memos":
        page.locator(".topic").first.click()
        expect(page.locator(".lines li").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_text_can_be_read_in_light_and_dark(show: Show, view: str, theme: str) -> None:
    page = show(view)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    poor = page.evaluate(CONTRASTS)
    assert poor == []


def test_everything_is_in_reach_of_the_keyboard(show: Show) -> None:
    page = show("tree")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    show("status")
    page.reload()  # so that Tab begins at the top, not where the keyboard was last
    names = []
    for _ in range(10):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert names == [
        *("Skip to content", "treering", "Search", "Chat", "Tree", "Facts", "Memos", "Entries"),
        *("Code", "Status"),
    ]  # fmt: skip


def _number(shown: str) -> float:
    return float(shown.replace("−", "-"))


CONTRASTS = """() => {
  const channel = (value) =>
    (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(channel);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$|transparent/.test(color)) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const said = [...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if (!said || !element.checkVisibility()) continue;
    if (element.closest("svg, noscript, :disabled")) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(ground(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return poor;
}"""
