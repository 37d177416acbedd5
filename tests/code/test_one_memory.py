"""Talk, recorded rounds and code as one memory: joined by names, marked when the code changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code.working import commit, repository, write
from treering import Memory
from treering.views.code.rounds.changes import names_in

PARSER = """\
import net


def parse(url):
    return decode(net.get(url))


def decode(page):
    return page
"""
RETRYING = PARSER.replace(
    "    return decode(net.get(url))",
    "    try:\n        return decode(net.get(url))\n"
    "    except net.Busy:\n        return parse(url)",
)
ASKED = "Retry when the server is busy."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repository", parser=PARSER)


def test_a_name_of_code_is_told_from_a_word() -> None:
    cases = [
        ("why does parse() retry twice?", {"parse"}),
        ("We should parse the file and close it.", set()),
        ("the function is slow, so is `close`", {"close"}),
        ("fetch_url and HttpClient, see client.py", {"fetch_url", "HttpClient"}),
        ("Cart.total, Cart::add and Cart#drop", {"Cart.total", "Cart.add", "Cart.drop"}),
        ("Look at example.com and e.g. this.", set()),
    ]
    for text, names in cases:
        assert names_in(text) == names


def test_a_question_finds_what_was_said_done_and_what_stands_there(
    memory: Memory, root: Path
) -> None:
    memory.add([{"role": "user", "content": "parse() died on Friday, the server was busy."}])
    memory.add([{"role": "user", "content": "We eat at noon."}])
    write(root, parser=RETRYING)
    memory.code.record(ASKED, root=root)
    memory.code.index(root)
    found = memory.code.about("why does parse() retry twice?", k=2)
    assert "Friday" in found.talk[0].text
    assert found.rounds[0].instruction == ASKED
    assert found.code[0].definition == "parse"


def test_without_any_code_there_is_still_the_talk(memory: Memory) -> None:
    memory.add("parse() died on Friday.")
    found = memory.code.about("why did parse() die?")
    assert (found.rounds, found.code) == ((), ())
    assert len(found.talk) == 1


def test_what_speaks_of_code_is_marked_once_a_round_changes_it(memory: Memory, root: Path) -> None:
    memory.add("parse() never retries.", source="chat")
    memory.add("Lunch is at noon.", source="lunch")
    write(root, parser=RETRYING)
    (block,) = memory.code.record(ASKED, root=root)
    marks = {hit.source: hit.stale for hit in memory.search("does parse() retry?", k=5)}
    assert marks["chat"] is not None
    assert (marks["chat"].entry_id, marks["chat"].text) == (
        block.id,
        f"parse in parser.py has changed: {ASKED}",
    )
    assert marks["lunch"] is None
    assert marks["code:parser.py"] is None
    assert "possibly out of date" in str(memory.context("does parse() retry?"))
    memory.add("parse() retries now.", source="later")
    assert next(h for h in memory.search("retries now") if h.source == "later").stale is None


def test_what_speaks_of_code_is_marked_once_the_index_finds_it_changed_or_gone(
    memory: Memory, root: Path
) -> None:
    memory.code.index(root)
    memory.add("parse() calls decode() on the page.", source="chat")
    assert memory.search("decode()", k=1)[0].stale is None
    commit(root, "Elsewhere", parser=PARSER.replace("def decode", "def unpack"))
    memory.code.index(root)
    mark = memory.search("decode()", k=1)[0].stale
    assert mark is not None
    assert mark.text in ("decode in parser.py is gone", "parse in parser.py has changed")


def test_rounds_of_one_file_are_paragraphs_of_a_passage(memory: Memory, root: Path) -> None:
    write(root, parser=RETRYING)
    memory.code.record(ASKED, root=root)
    write(root, parser=RETRYING.replace("return page", "return page.decode()"))
    memory.code.record("Decode what the server sent.", root=root)
    context = memory.context("Why does the server retry or decode?", budget=1000)
    assert [len(passage.hits) for passage in context.passages] == [2]
    assert "\n\nDecode what the server sent." in context.passages[0].text


def test_forgetting_a_round_takes_its_mark_away(memory: Memory, root: Path) -> None:
    memory.add("parse() never retries.", source="chat")
    write(root, parser=RETRYING)
    (block,) = memory.code.record(ASKED, root=root)
    memory.forget(block.id)
    assert memory.search("parse()", k=1)[0].stale is None


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ["a" * 32_000, "a.b" * 10_000, "`a(" * 10_000, "::a" * 10_000])
def test_a_long_text_without_words_is_read_in_no_time(text: str) -> None:
    assert len(names_in(text)) <= 1
