"""CSV and spreadsheets: each piece has the names of its columns, and no row is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents import writing
from treering import Memory
from treering.errors import EmptyText, InputError
from treering.ingest.documents.table import MAX_PIECE_CHARS, csv_rows, pieces

WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=30)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=200))
def test_every_piece_begins_with_the_header_and_no_row_is_lost(
    rows: list[tuple[str, str, str]],
) -> None:
    table = [("name", "city", "amount"), *rows]
    cut = list(pieces(enumerate(table, start=1)))
    assert all(piece.text.startswith("name | city | amount\n") for piece in cut)
    assert all(len(piece.text) <= MAX_PIECE_CHARS for piece in cut)
    lines = [line for piece in cut for line in piece.text.split("\n")[1:]]
    assert lines == [" | ".join(row) for row in rows]
    assert [piece.first for piece in cut[1:]] == [piece.last + 1 for piece in cut[:-1]]


def test_tables_of_many_forms_are_read() -> None:
    cases = [
        ("a,b\n1,2\n", "a | b\n1 | 2"),
        ("a;b\r\n1;2\r\n", "a | b\n1 | 2"),
        ("a\tb\n1\t2", "a | b\n1 | 2"),
        ('a,b\n"x, y","two\nlines"\n', "a | b\nx, y | two lines"),
        ("Budget 2026,,\n\nitem,euros,\nrent,900,\n", "Budget 2026\nitem | euros\nrent | 900"),
        ("1,2\n3,4\n", "1 | 2\n3 | 4"),
        ("city\nPorto\nLisbon\n", "city\nPorto\nLisbon"),
        ("a,b\n", "a | b"),
    ]
    for text, expected in cases:
        assert "\n\n".join(piece.text for piece in pieces(csv_rows([text]))) == expected


def test_a_row_that_is_too_long_names_each_of_its_values() -> None:
    story = "word " * 400
    cut = list(pieces(enumerate([["name", "story"], ["Ana", story], ["Ben", "short"]], start=1)))
    assert cut[0].text == f"name: Ana\nstory: {story.strip()}"
    assert cut[1].text == "name | story\nBen | short"


def test_below_a_very_long_header_each_row_names_its_values() -> None:
    names = [f"a rather long name of column {number}" for number in range(30)]
    row = ["7" if number == 12 else "" for number in range(30)] + ["beyond"]
    cut = list(pieces(enumerate([names, row], start=1)))
    assert [piece.text for piece in cut] == [f"{names[12]}: 7\ncolumn 31: beyond"]


def test_a_hit_in_a_csv_file_has_the_names_of_the_columns_and_the_lines_where_it_stands(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    lines = ["name,city", *(f"person {n},city {n}" for n in range(500)), "Zenobia,Porto"]
    path.write_text("\n".join(lines))
    memory.add(path, source="people.csv")
    hit = memory.search("Zenobia", mode="lexical")[0]
    assert hit.text.startswith("name | city\n")
    first, last = str(hit.metadata["rows"]).split("-")
    assert int(first) < int(last) == 502
    assert hit.text.split("\n")[1] == lines[int(first) - 1].replace(",", " | ")
    assert memory.add(path, source="people.csv").added == 0


def test_each_sheet_is_a_source_of_its_own(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "budget.xlsx"
    path.write_bytes(
        writing.workbook(
            {
                "Q1": [["item", "euros"], ["rent", 900.0], ["flag", True]],
                "Q #2": [["item", "euros"], ["rent", 950.5]],
            }
        )
    )
    memory.add(path, source="budget.xlsx")
    texts = {entry.source: entry.text for entry in memory.entries()}
    assert texts == {
        "budget.xlsx#Q1": "item | euros\nrent | 900\nflag | True",
        "budget.xlsx#Q 2": "item | euros\nrent | 950.5",
    }


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"\n\n,,\n", EmptyText, "has no text in its rows"),
        (b'a,b\n"' + b"x" * 200_000, InputError, "is not a table of CSV: field larger than"),
        (b"a,b\n\xff,1", InputError, "is not utf-8 text"),
    ],
)
def test_a_csv_file_that_cannot_be_read_changes_nothing(
    memory: Memory, tmp_path: Path, content: bytes, error: type[InputError], message: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(error, match=message):
        memory.add(path)
    assert not list(memory.entries())
