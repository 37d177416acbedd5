"""Every statement names the space of the rows that it names by number: keys begin with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import treering
from treering.journal import schema, storage
from treering.journal.contract import Dialect
from treering.journal.postgres.statements import PostgresDialect, translate
from treering.journal.sqlite.database import SqliteDatabase

ROOT: Final = Path(treering.__file__).parent

OF_THE_WHOLE: Final = {
    *("model", "space", "storage", "serve_closed", "serve_key", "treering_version"),
    *("secret", "tombstone"),
}
"""Tables of the whole memory. A key of a server is looked up before anybody knows its space, and
tombstones outlive theirs."""

OF_ALL_SPACES: Final = {
    "SELECT count(*) FROM entry",  # a check of the whole memory, which goes on space by space
    "SELECT DISTINCT space FROM entry",
    "SELECT (SELECT count(*) FROM space), (SELECT count(*) FROM entry),"  # figures of a server
    " (SELECT count(*) FROM work),"
    " (SELECT max(added) FROM entry WHERE seq = (SELECT max(seq) FROM entry)),"
    " (SELECT max(entries) FROM space), (SELECT max(bytes) FROM space)",
    # a server looks which spaces have new work
    "SELECT name, revision, (SELECT count(*) FROM work WHERE space = s.id) FROM space s",
    *(  # copies of shared entries may be in any space
        f"SELECT s.name, e.id FROM space s JOIN entry e ON e.space = s.id WHERE s.name <> {mark}"
        f" AND e.id {of}"
        for mark, of in (("?", "IN (SELECT value FROM json_each(?))"), ("%s", "= ANY (%s)"))
    ),
    """SELECT views FROM space WHERE instr(views, '"tables"') > 0""",  # scrubbed with the memory
    "DELETE FROM vector_data WHERE data = zeroblob(length(data))",  # before all is written anew
    *storage._USED.values(),
}
COMPOSED: Final = {"stored.read", "store._replacements", "store._load", "sources._FILE_SOURCE"}
"""Functions whose callers give the condition: what they send is looked at on a database."""

GIVEN_BY_DEFAULT: Final = {"body", "label", "vector_data"}
"""Heaps, which have no space in a file: a server takes that of the transaction for a new row."""

OF_SPACE: Final = "(of the space)"
"""Stands for what a dialect says of a heap."""

NUMBER: Final = r"(?:id|seq|entry|fragment|source|version|memo|block|older|newer|shown|reply)\b"
ELSEWHERE: Final = re.compile(
    r"…|string_agg|pg_|nearest|unnest|generate_series|set_config|to_regclass|treering_"
)
"""What is of PostgreSQL alone, or is put together only when it is sent."""

SPACE_READ: Final = {"storage.end_scrub", "store._mentioning"}
"""What reads all of a space on purpose."""

STATEMENT: Final = re.compile(r"(SELECT|UPDATE|DELETE|INSERT|WITH)\b")
WORD: Final = re.compile(r"\b(SELECT|UPDATE|DELETE|INSERT|WITH|FROM|WHERE|JOIN|AND|ORDER BY)\b")
"""One of a statement, or of a part of one that another module puts into its own."""

_LITERAL: Final = re.compile(r"'(?:[^']|'')*'")
_TABLE: Final = re.compile(
    r"\b(?P<verb>FROM|JOIN|INTO|UPDATE)\s+\"?(?P<table>\w+)\"?(?:\s+(?:AS\s+)?(?P<alias>"
    r"(?!(?:ON|WHERE|SET|JOIN|LEFT|ORDER|GROUP|UNION|LIMIT|CROSS|VALUES|SELECT|AND|FOR|INDEXED)\b)\w+))?"
)
_GROUNDED: Final = re.compile(r"\bspace(?: = (?:%s|\?|\d+|…)| IN \()|(?:%s|\?) = \w+\.space\b")


@cache
def keyed() -> frozenset[str]:
    """The tables of PostgreSQL whose rows are of a space."""
    script = schema.script("treering.journal.postgres")
    return frozenset({*re.findall(r"CREATE TABLE (\w+)", script), "nearest"} - OF_THE_WHOLE)


def without_space(sql: str) -> list[str]:
    """The tables, by alias, of which a statement does not say the space."""
    sql = _LITERAL.sub("''", translate(sql).sql if "?" in sql else sql)
    missing = [] if _GROUNDED.search(sql) else ["all"]
    bare = 0
    tables = _tables(sql)
    for match in tables:
        name = match["alias"] or match["table"]
        if match["verb"] == "INTO":
            columns = sql[match.end() :].split(")")[0]
            if "space" not in columns and match["table"] not in GIVEN_BY_DEFAULT:
                missing.append(name)
            elif missing == ["all"]:
                missing = []
        elif match["alias"] or re.search(rf"\b{name}\.space\b", sql):
            if not re.search(rf"\b{name}\.space (?:=|IN)|= {name}\.space\b", sql):
                missing.append(name)
        else:
            bare += 1
    if bare > len(re.findall(r"(?<![.\w])space (?:=|IN|, )", sql)):
        missing.append("one without an alias")
    return missing if tables else []


def _tables(sql: str) -> list[re.Match[str]]:
    return [match for match in _TABLE.finditer(sql) if match["table"] in keyed()]


@cache
def modules() -> Mapping[Path, ast.Module]:
    """The modules that have a word of a statement; to parse all takes seconds."""
    texts = {file: file.read_text("utf-8") for file in sorted(ROOT.rglob("*.py"))}
    return {file: ast.parse(text) for file, text in texts.items() if WORD.search(text)}


@cache
def constants() -> Mapping[str, str]:
    """The texts that modules give names to, by name."""
    texts: dict[str, str] = {}
    for file, module in modules().items():
        for node in module.body:
            target = getattr(node, "target", None)
            if isinstance(node, ast.Assign):
                target = node.targets[0]
            value = getattr(node, "value", None)
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant | ast.JoinedStr):
                text = _text(value, file, {})
                texts[f"{file.stem}.{target.id}"] = texts[f"{file}:{target.id}"] = text
    return texts


def _text(node: ast.expr, file: Path, names: Mapping[str, str]) -> str:
    """A text with what stands for values in it: the text of a name, or an ellipsis."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.JoinedStr)
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            name = ast.unparse(part.value)
            if name.endswith("of_space"):  # of the dialect
                parts.append(OF_SPACE)
            else:
                parts.append(names.get(name, names.get(f"{file}:{name}", "…")))
    return "".join(parts)


@cache
def statements() -> Sequence[tuple[str, str]]:
    """Every statement of the package on tables with a space, with where it stands."""
    return list(_statements())


def _statements() -> Iterator[tuple[str, str]]:
    for file, module in modules().items():
        if file.stem == "fresh":
            continue  # of files alone
        for part in module.body:
            name = getattr(part, "name", "") or ast.unparse(part).split(" ")[0].rstrip(":")
            place = f"{file.stem}.{name}"
            if place not in COMPOSED:
                yield from ((place, text) for text in _texts(part, file))


def _texts(part: ast.stmt, file: Path) -> Iterator[str]:
    inner: set[int] = set()
    for node in ast.walk(part):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inner:
            inner.update(map(id, ast.walk(node)))
            text = " ".join(_text(node, file, constants()).split())
            if STATEMENT.match(text):
                yield text.replace("%s", "?")


def test_a_file_finds_rows_by_their_number_although_statements_name_the_space(
    tmp_path: Path,
) -> None:
    wrong: dict[str, list[str]] = {}
    with closing(SqliteDatabase(tmp_path / "life.db")) as database, database.read() as reader:
        for place, text in statements():
            sql = text.replace(OF_SPACE, Dialect.in_heap_of_space)
            if place in SPACE_READ or ELSEWHERE.search(sql) or not _tables(sql):
                continue
            marks = ["[1]"] * sql.count("?")
            plan = [str(row[3]) for row in reader.rows(f"EXPLAIN QUERY PLAN {sql}", marks)]
            if steps := [step for at, step in enumerate(plan) if _reads_a_space(step, sql, at)]:
                wrong[sql] = steps
    assert not wrong


def test_a_file_finds_entries_of_a_family_of_sources_by_these(tmp_path: Path) -> None:
    """Not by all entries of a space, though these come in the order that is asked for."""
    plans: dict[str, str] = {}
    with closing(SqliteDatabase(tmp_path / "life.db")) as database, database.read() as reader:
        for _, text in statements():
            if re.search(r"\bFROM entry e JOIN source s\b.*\bs\.family = ", text):
                marks = ["[1]"] * text.count("?")
                first = next(iter(reader.rows(f"EXPLAIN QUERY PLAN {text}", marks)))
                plans[text] = str(first[3])
    assert plans
    assert all(" source_by_family (" in step for step in plans.values()), plans


@pytest.mark.parametrize("table", ["claim", "reply"])
def test_a_file_finds_what_is_out_of_date_by_its_time(tmp_path: Path, table: str) -> None:
    """At every request that has a key, so not by all that were kept in a day."""
    sql = f"DELETE FROM {table} WHERE space = ? AND at < ?"
    with closing(SqliteDatabase(tmp_path / "life.db")) as database, database.read() as reader:
        assert sql in {text for _, text in statements()}
        step = str(next(iter(reader.rows(f"EXPLAIN QUERY PLAN {sql}", ["1", "1"])))[3])
    assert f"{table}_by_time (space=? AND at<?)" in step


def _reads_a_space(step: str, sql: str, at: int) -> bool:
    """Whether a step of a plan reads all of a space of what the statement names by number.

    The first step may: what other tables are joined by is not known yet.
    """
    match = re.match(r"SEARCH (\w+) USING .*\(space=\?\)", step)
    if match is None:
        return False
    given = r"(?:= \?|IN \()" if at == 0 else "(?:=|IN)"
    alone = rf"|(?<![.\w]){NUMBER} {given}" if len(_tables(sql)) == 1 else ""
    return re.search(rf"{match[1]}\.{NUMBER} {given}{alone}", sql) is not None


def test_a_statement_that_does_not_say_the_space_is_found() -> None:
    cases = [
        "SELECT text FROM body WHERE id = ?",
        "SELECT seq FROM entry WHERE source = ? AND seq IN (SELECT entry FROM fragment"
        " WHERE space = ?)",
        "SELECT e.id FROM entry e JOIN source s ON s.id = e.source WHERE e.space = ?",
        "SELECT e.id FROM entry e JOIN source s ON s.space = e.space AND s.id = e.source",
        "UPDATE memo SET pinned = ? WHERE id = ?",
        "DELETE FROM leaf WHERE fragment = ?",
        "INSERT INTO memo_line (memo, entry, covered) VALUES (?, ?, ?)",
    ]
    for sql in cases:
        assert without_space(sql)


def test_every_statement_says_of_which_space_its_rows_are() -> None:
    assert sum(bool(_tables(text)) for _, text in statements()) > 200
    wrong = {
        (place, text): missing
        for place, text in statements()
        if text not in OF_ALL_SPACES
        and (missing := without_space(text.replace(OF_SPACE, PostgresDialect.in_heap_of_space)))
    }
    assert not wrong
