"""Links between the pages lead to files and headings, and the index lists every page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tests.docs.pages import DOCS, ROOT

PAGES = sorted(DOCS.rglob("*.md"))
ALL = (*sorted(ROOT.glob("*.md")), *PAGES)

_FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")
_PATH = re.compile(r"`((?:treering|tests|tools|benchmarks|deploy)/[\w/.-]+)`")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.M)
_MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)|[`*]")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def links(page: Path) -> list[str]:
    """Return the targets of a page's links, except those to other sites."""
    text = _CODE.sub("", _FENCE.sub("", page.read_text("utf-8")))
    return [target for target in _LINK.findall(text) if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page, which forges and mkdocs derive from headings."""
    made: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", page.read_text("utf-8"))):
        plain = _MARKUP.sub(r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        made.add(slug if slug not in made else f"{slug}-1")
    return made


def broken(page: Path) -> list[str]:
    """Return the broken links of a page."""
    wrong = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not other.exists() or (anchor and anchor not in anchors(other)):
            wrong.append(target)
    return wrong


def test_links_lead_to_existing_files_and_headings() -> None:
    for page in ALL:
        assert broken(page) == []


def test_paths_of_the_repository_exist() -> None:
    for page in ALL:
        paths = _PATH.findall(page.read_text("utf-8"))
        assert [path for path in paths if not (ROOT / path).exists()] == []


def test_pages_install_an_extra_from_a_checkout() -> None:
    """Before a release, nothing else has it; settings.md explains the form of messages, too."""
    pages = [page for page in ALL if page.name != "settings.md"]
    assert not [name(page) for page in pages if "install 'treering[" in page.read_text("utf-8")]


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](#one) [b](#two) [c](none.md) [d](page.md#one) `[e](none.md)`\n")
    assert broken(page) == ["#two", "none.md"]


def test_every_page_is_in_the_index_and_in_the_site() -> None:
    index = [(DOCS / target).resolve() for target in links(DOCS / "index.md")]
    site = [(DOCS / page).resolve() for page in paths(yaml.safe_load(mkdocs())["nav"])]
    for listed in (index, site[1:]):
        in_docs = [page for page in listed if DOCS in page.parents]
        assert sorted(in_docs) == [page for page in PAGES if page.name != "index.md"]
    assert [page for page in index if DOCS in page.parents] == site[1:], "in one order"


def test_the_readme_leads_to_the_first_hour_the_index_and_every_part_of_the_reference() -> None:
    targets = set(links(ROOT / "README.md"))
    assert {"docs/start.md", "docs/index.md"} <= targets
    assert {name(page) for page in (DOCS / "reference").glob("*.md")} <= targets


def mkdocs() -> str:
    return (ROOT / "mkdocs.yml").read_text("utf-8")


def paths(nav: Any) -> list[str]:
    """Return the pages of a navigation, in order."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [path for part in parts for path in paths(part)]
