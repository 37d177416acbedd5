"""What files are for: code comes before tests and lists of words, and patterns choose files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code.repositories import write_files
from tests.raised import raises
from treering import Memory
from treering.errors import InputError, UnknownName
from treering.views.code.index.paths import ASIDE, files_at, is_asked_for, purpose_of

BUSY = {
    "src/store.py": """\
def write(connection, row):
    for attempt in range(3):
        try:
            return connection.insert(row)
        except Busy:  # the database is busy: retry
            wait(attempt)
""",
    "tests/test_store.py": """\
def test_a_write_is_retried_when_the_database_is_busy(database):
    # The database is busy, and the write is to retry until the database is busy no more.
    database.busy()
    assert write(database, retry=True)
""",
    "data/vocab.txt": "busy\ndatabase\nretry\nwhen\n",
    "docs/store.md": "# Storing\n\nWrites retry when the database is busy.\n",
    "src/other.py": "def add(first, second):\n    return first + second\n",
}


@pytest.fixture
def busy(memory: Memory, tmp_path: Path) -> Memory:
    memory.code.index(write_files(tmp_path / "repo", BUSY))
    return memory


def test_a_path_tells_what_its_file_is_for() -> None:
    cases = [
        ("src/store.py", "code"),
        ("src/testing_tools.py", "code"),
        ("latest.py", "code"),
        ("tests/helpers.py", "test"),
        ("tests/data/rows.json", "test"),
        ("src/test_store.py", "test"),
        ("pkg/store_test.go", "test"),
        ("web/store.spec.ts", "test"),
        ("app/StoreTest.java", "test"),
        ("conftest.py", "test"),
        ("docs/store.md", "text"),
        ("data/vocab.txt", "text"),
    ]
    for path, purpose in cases:
        assert purpose_of(path) == purpose


def test_code_comes_before_the_tests_and_lists_that_say_the_same(busy: Memory) -> None:
    hits = busy.code.search("retry when the database is busy")
    assert hits[0].path == "src/store.py"
    assert hits[0].why.terms["aside"] == 0
    test = next(hit for hit in hits if hit.path.startswith("tests/"))
    whole = test.score - test.why.terms["aside"]
    assert whole > hits[0].score  # it would be the first
    assert test.why.terms["aside"] == pytest.approx((ASIDE - 1) * (whole - hits[-1].score))


def test_a_question_for_a_test_finds_the_test(busy: Memory) -> None:
    hits = busy.code.search("the test that a write is retried when the database is busy")
    assert hits[0].path == "tests/test_store.py"


def test_a_question_that_names_a_file_or_documentation_asks_for_it() -> None:
    assert is_asked_for("where is the documentation of writing")("docs/store.md")
    assert is_asked_for("the vocab of the model")("data/vocab.txt")
    assert not is_asked_for("retry when busy")("data/vocab.txt")


def test_code_that_goes_into_a_test_needs_other_tests(busy: Memory) -> None:
    hits = busy.code.search("retry when the database is busy", near="tests/test_store.py")
    assert hits[0].path == "tests/test_store.py"
    assert hits[0].why.terms["aside"] == 0


def test_patterns_choose_the_files_that_may_be_found(busy: Memory) -> None:
    found = {hit.path for hit in busy.code.search("database", paths=["src/"])}
    others = {hit.path for hit in busy.code.search("database", paths=["!tests/", "!*.txt"])}
    assert found == {"src/store.py", "src/other.py"}
    assert others == {"src/store.py", "src/other.py", "docs/store.md"}


def test_patterns_without_a_file_are_an_error_that_says_so(busy: Memory) -> None:
    with pytest.raises(UnknownName, match="no indexed file is at lib/"):
        busy.code.search("database", paths=["lib/"])


@pytest.mark.parametrize("patterns", ["src/", [""], [], ["!"]])
def test_what_is_no_list_of_patterns_is_refused(patterns: list[str]) -> None:
    with raises(InputError, param="paths"):
        files_at(["src/store.py"], patterns)
