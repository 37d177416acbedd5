"""Documents that people have: what they say is found, and where it stands in them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.documents import writing
from tests.embedders import HashingEmbedder
from tests.llm.test_extras import run
from treering import Memory
from treering.errors import InputError
from treering.records import Skipped

FOLDERS = min(8 * int(os.environ.get("TREERING_FAULT_ROUNDS", "1")), 40)
"""Folders of five documents each: few in an ordinary run, forty in `make faults`."""

LEASE = ["The rent is 900 euros.", "Two keys were given to the tenant.", "Cats are allowed."]


def add_lease(memory: Memory, tmp_path: Path, pages: list[str] = LEASE) -> Path:
    path = tmp_path / "lease.pdf"
    path.write_bytes(writing.pdf(pages))
    memory.add(path, source="lease.pdf")
    return path


def test_documents_of_every_kind_are_found_by_what_they_say_with_the_place_where(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "documents"
    paths = writing.save_folders(folder, FOLDERS)
    broken = {}
    for name in ("lease.pdf", "minutes.docx", "budget.xlsx"):
        content = (folder / "0" / name).read_bytes()
        broken[folder / f"broken-{name}"] = content[: len(content) // 3]
    broken[folder / "scan.pdf"] = writing.scan_pdf(2)
    broken[folder / "empty.html"] = b"<script>document.write('hello')</script>"
    for path, content in broken.items():
        path.write_bytes(content)
    receipt = memory.add(folder, source="docs")
    assert len(paths) == 5 * FOLDERS
    assert {skipped.path for skipped in receipt.skipped} == set(map(str, broken))
    assert all(len(skipped.reason) > 10 for skipped in receipt.skipped)
    for number in range(FOLDERS):
        hits = memory.search(f"kumquat{number}", k=8, mode="lexical")
        sources = {hit.source for hit in hits if re.search(rf"kumquat{number}\b", hit.text)}
        names = ("lease.pdf#2", "paper.pdf#1", "minutes.docx", "news.html", "budget.xlsx#Costs")
        assert {f"docs/{number}/{name}" for name in names} <= sources
    texts = [entry.text for entry in memory.entries()]
    assert not any("secretTracker" in text or "<" in text for text in texts)
    assert memory.add(folder, source="docs").added == 0


def test_a_page_of_a_pdf_is_the_source_of_what_it_says(memory: Memory, tmp_path: Path) -> None:
    add_lease(memory, tmp_path)
    hit = memory.search("who has the keys?")[0]
    assert (hit.source, hit.metadata) == ("lease.pdf#2", {"page": 2})
    assert [entry.source for entry in memory.entries()] == [f"lease.pdf#{n}" for n in (1, 2, 3)]


def test_the_name_of_a_document_stands_for_its_pages_and_a_page_for_itself(
    memory: Memory, tmp_path: Path
) -> None:
    add_lease(memory, tmp_path)
    memory.add("Unrelated keys.", source="lease.pdf#x")  # by hand: no part of the document
    assert len(list(memory.entries(source="lease.pdf"))) == 3
    assert len(memory.search("keys", source="lease.pdf")) == 3
    assert [hit.source for hit in memory.search("keys", source="lease.pdf#3")] == ["lease.pdf#3"]


def test_a_document_is_forgotten_as_a_whole_or_by_the_page(memory: Memory, tmp_path: Path) -> None:
    path = add_lease(memory, tmp_path)
    assert memory.forget(source="lease.pdf#1").sources == ("lease.pdf#1",)
    assert memory.forget(source="lease.pdf").sources == ("lease.pdf#2", "lease.pdf#3")
    assert not list(memory.entries())
    assert memory.add(path, source="lease.pdf").added == 3


def test_a_forgotten_page_stays_away_until_the_document_changes_or_is_forgotten(
    memory: Memory, tmp_path: Path
) -> None:
    path = add_lease(memory, tmp_path)
    written = path.stat().st_mtime
    memory.forget(source="lease.pdf#2")
    assert memory.add(path, source="lease.pdf").added == 0
    path.write_bytes(writing.pdf([*LEASE, "Dogs are not."]))
    os.utime(path, (written, written))  # a page dates from its file: later, all would be new
    assert memory.add(path, source="lease.pdf").added == 2
    assert {entry.text for entry in memory.entries()} == {*LEASE, "Dogs are not."}


def test_a_document_with_a_copy_moves_once_with_its_folder(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "lease.pdf").write_bytes(writing.pdf(LEASE))
    memory.add(folder)
    moved = folder.rename(tmp_path / "archive")
    (moved / "zcopy.pdf").write_bytes((moved / "lease.pdf").read_bytes())
    receipt = memory.add(moved)
    assert (receipt.moved, receipt.added, receipt.gone) == (1, 0, ())
    assert [one.reason for one in receipt.skipped] == ["a copy of archive/lease.pdf"]
    parts = {f"archive/lease.pdf#{page}" for page in (1, 2, 3)}
    assert {entry.source for entry in memory.entries()} == parts


def test_a_changed_document_replaces_the_pages_that_changed(memory: Memory, tmp_path: Path) -> None:
    path = add_lease(memory, tmp_path)
    first, written = next(memory.entries()).id, path.stat().st_mtime
    path.write_bytes(writing.pdf([LEASE[0], "Three keys were given."]))
    os.utime(path, (written, written))  # a page dates from its file: later, all would be new
    receipt = memory.add(path, source="lease.pdf")
    assert (receipt.added, receipt.unchanged, receipt.removed) == (1, 1, 2)
    assert [entry.text for entry in memory.entries()] == [LEASE[0], "Three keys were given."]
    assert next(memory.entries()).id == first
    assert memory.stats().sources == 2
    again = memory.add(path, source="lease.pdf")
    assert (again.added, again.unchanged) == (0, 2)


def test_an_export_keeps_which_pages_are_of_one_document(
    memory: Memory, open_memory: Open, tmp_path: Path
) -> None:
    path = add_lease(memory, tmp_path)
    other = open_memory(tmp_path / "other.db")
    other.import_(memory.export())
    assert len(list(other.entries(source="lease.pdf"))) == 3
    assert other.add(path, source="lease.pdf").unchanged == 3


def test_a_page_does_not_replace_a_file_that_has_its_name(memory: Memory, tmp_path: Path) -> None:
    namesake = tmp_path / "lease.pdf#2"
    namesake.write_text("My own notes.")
    memory.add(namesake, source="lease.pdf#2")
    with pytest.raises(InputError, match=r"holds entries that .*lease.pdf#2 brought"):
        add_lease(memory, tmp_path)
    assert [entry.text for entry in memory.entries()] == ["My own notes."]


def test_pages_that_are_pictures_are_named_and_the_others_taken_in(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "mixed.pdf"
    path.write_bytes(writing.scan_pdf(1, ["The first page has text."]))
    receipt = memory.add(path)
    assert receipt.added == 1
    assert receipt.skipped == (Skipped(f"{path}#2", "the page is a picture without text"),)


def test_columns_are_read_one_after_the_other(memory: Memory, tmp_path: Path) -> None:
    left = [f"left {number}" for number in range(9)]
    right = [f"right {number}" for number in range(9)]
    path = tmp_path / "columns.pdf"
    path.write_bytes(writing.columns_pdf("Title", left, right))
    memory.add(path)
    assert next(memory.entries()).text.split("\n") == ["Title", *left, *right]


def test_chapters_of_a_book_come_in_reading_order(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "book.epub"
    path.write_bytes(writing.book(["It began.", "It went on.", "It ended."]))
    memory.add(path, source="book.epub")
    texts = {entry.source: entry.text for entry in memory.entries()}
    assert texts["book.epub#2"] == "# The book\n\nIt went on."
    assert list(texts) == ["book.epub#1", "book.epub#2", "book.epub#3"]


def test_a_news_page_is_its_story_without_tags_scripts_and_menus(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "news.html"
    path.write_text(writing.news_page("Flood", "The river rose.", "spy"))
    memory.add(path, source="news.html")
    text = next(memory.entries()).text
    assert text == (
        "# Flood | The Gazette\n\n# Flood\n\nBy **Ana Reis**\n\nThe river rose.\n\n"
        "- first point\n- second point\n\n"
        "| Day | Level |\n| --- | --- |\n| Monday | 3.20 m |\n| Tuesday | 4.10 m |"
    )


ELEMENTS = {
    "<p hidden>": False,
    "<p aria-hidden=true>": False,
    '<p style="display:none">': False,
    '<p style="color: red; Visibility : HIDDEN">': False,
    '<p style="display: none !important">': False,
    '<div style="display: none"><p style="display: block">': False,
    '<p style="background: url(none)">': True,
    '<p style="--display: none">': True,
    '<p class="late">': True,
}
"""Elements, and whether the text in them is read."""

PAGES = {
    element: "<head><style>.late { display: none }</style></head>"
    f'<body style="display:none"><p>before</p>{element}kumquat</p></div><p>after</p>'
    for element in ELEMENTS
}
BLOCKS = [
    "<details><summary>first</summary>second</details>",
    "<main>first</main>second",
    "<header>first</header><footer>second</footer>",
    "<fieldset><legend>first</legend>second</fieldset>",
    "<figure>first</figure>second",
    "<address>first</address>second",
    "first<aside>second</aside>",
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The texts of pages by their markup, all read at once by one process."""
    folder = tmp_path_factory.mktemp("pages") / "pages"
    folder.mkdir()
    markups = [*PAGES.values(), *BLOCKS]
    for number, markup in enumerate(markups):
        (folder / f"{number}.html").write_text(markup)
    with Memory.open(folder.with_name("life.db"), embedder=HashingEmbedder()) as memory:
        memory.add(folder, source="pages")
        texts = {entry.source: entry.text for entry in memory.entries()}
    return {markup: texts[f"pages/{number}.html"] for number, markup in enumerate(markups)}


@pytest.mark.parametrize(("element", "is_seen"), ELEMENTS.items())
def test_elements_that_a_page_hides_are_left_out(
    pages: dict[str, str], element: str, is_seen: bool
) -> None:
    words = pages[PAGES[element]].split()
    assert words == ["before", *["kumquat"] * is_seen, "after"]


@pytest.mark.parametrize("markup", BLOCKS)
def test_blocks_of_a_page_do_not_stick_together(pages: dict[str, str], markup: str) -> None:
    assert pages[markup] == "first\n\nsecond"


@pytest.mark.parametrize(("name", "text"), [("page.html", "<p>hello</p>"), ("t.csv", "a,b\n1,2\n")])
def test_what_is_added_as_code_stays_as_it_is_written(
    memory: Memory, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    memory.add(tmp_path / name, kind="code")
    assert next(memory.entries()).text == text


def test_word_keeps_headings_and_tables(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "minutes.docx"
    path.write_bytes(writing.word("Minutes", ["We met."], [["Who", "What"], ["Ana", "soup"]]))
    memory.add(path)
    text = next(memory.entries()).text
    assert text == "# Minutes\n\nWe met.\n\n| Who | What |\n| --- | --- |\n| Ana | soup |"


def test_a_document_without_a_suffix_is_known_by_its_first_bytes(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "lease"
    path.write_bytes(writing.pdf(["The rent is 900 euros."]))
    memory.add(path, source="lease")
    assert next(memory.entries()).source == "lease#1"


def test_what_is_no_document_says_what_could_be_read(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "wifi.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    with pytest.raises(InputError, match=r"wifi.png is not text; treering reads .*PDF, Word"):
        memory.add(path)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        *(("x.pdf", "pypdfium2"), ("x.docx", "mammoth")),
        *(("x.html", "markdownify"), ("x.ods", "python_calamine")),
    ],
)
def test_without_the_extra_the_error_names_it(name: str, module: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"content")
    code = (
        "from pathlib import Path; from treering import Memory;"
        f"Memory.open({str(tmp_path / 'm.db')!r}).add(Path({str(tmp_path / name)!r}))"
    )
    done = run([module], code)
    assert f"{module} is not installed; run: pip install 'treering[documents]'" in done.stderr


def test_without_the_extra_a_folder_is_taken_in_but_for_its_documents(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "lease.pdf").write_bytes(b"%PDF-1.4")
    (folder / "note.md").write_text("A note.")
    code = (
        "from pathlib import Path; from treering import Memory;"
        f"r = Memory.open({str(tmp_path / 'm.db')!r}).add(Path({str(folder)!r}));"
        "print(r.added, r.skipped[0].reason)"
    )
    done = run(["pypdfium2"], code)
    message = "pypdfium2 is not installed; run: pip install 'treering[documents]'"
    assert done.stdout.startswith(f"1 {message}"), done.stderr
