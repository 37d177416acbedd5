"""ARCHITECTURE.md and CONTRIBUTING.md match the code: map, files, walks, SQLite's own SQL."""

from __future__ import annotations

import re

from tests.test_structure import ROOT, SHELLS, first_level, imports

MAP = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PATH = re.compile(r"`((?:treering|tests|docs|tools)/[^`\s:]*|[A-Za-z]+\.(?:md|toml))`")
TEST = re.compile(r"(tests/\S+\.py)::(\w+)")
DIALECT = re.compile(
    r"json_(?:type|extract|quote)\(|json_each\((?!\?\))|last_insert_rowid|INSERT OR |sqlite_\w+ "
    r"| IS [a-z]+\.[a-z]+|PRAGMA|\bSELECT\b.*\browid\b"
)
"""What only SQLite understands; ``json_each(?)`` every engine does, see the contract."""
SQLITE_ALONE = {"journal/contract.py"}
"""Modules with words of SQLite outside its own package: the class ``Dialect``."""


def table(name: str) -> list[list[str]]:
    """The cells of the rows of a table of the page."""
    text = MAP.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n")]
    return [row for row in rows if row[0].startswith("`")]


def packages() -> set[str]:
    """The packages of the first level, and each view's."""
    folders = {file.parent for file in (ROOT / "treering").glob("*/__init__.py")}
    folders |= {file.parent for file in (ROOT / "treering" / "views").glob("*/__init__.py")}
    return {folder.relative_to(ROOT).as_posix() for folder in folders}


def test_every_package_is_on_the_map_and_there() -> None:
    mapped = [row[0].strip("`") for row in table("map")]
    assert set(mapped) == packages() | {"treering/*.py"}
    assert len(mapped) == len(set(mapped))


def test_every_folder_and_file_of_tests_is_on_the_map_and_there() -> None:
    tests = ROOT / "tests"
    there = {file.parent for file in tests.glob("*/test_*.py")} | set(tests.glob("test_*.py"))
    of_the_page = {tests / "test_map.py", tests / "test_structure.py"}
    mapped = {path for row in table("map") for path in PATH.findall(row[-1])}
    assert mapped == {path.relative_to(ROOT).as_posix() for path in there - of_the_page}


def test_a_package_imports_only_packages_above_it_on_the_map() -> None:
    order = [row[0].strip("`").removeprefix("treering/") for row in table("map")]
    rank = {name: place for place, name in enumerate(order) if "/" not in name}
    upward = [
        (name, target)
        for name, targets in first_level(imports()).items()
        for target in targets
        if name in rank and target in rank and rank[target] > rank[name]
    ]
    assert upward == []
    assert all(rank[shell] > rank["chat"] for shell in SHELLS if shell in rank)


def test_every_file_that_the_pages_name_is_there() -> None:
    paths = {path for path in PATH.findall(PAGE + MAP) if "*" not in path}
    assert len(paths) > 60
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []
    for file, function in TEST.findall(PAGE):
        assert f"def {function}(" in (ROOT / file).read_text("utf-8")


def test_every_walk_has_its_files() -> None:
    walks = PAGE.split("## Five walks")[1].split("\n## ")[0].split("\n### ")[1:]
    named = [walk.partition("\n")[0] for walk in walks]
    assert named == ["A relation", "A view", "A language of code", "An endpoint", "An engine"]
    assert all("- [ ]" in walk and len(PATH.findall(walk)) >= 4 for walk in walks)


def test_every_target_of_make_that_the_page_names_is_there() -> None:
    targets = (ROOT / "Makefile").read_text("utf-8")
    named = set(re.findall(r"`make ([a-z-]+)`", PAGE))
    assert {"quick", "test"} <= named
    assert all(f"\n{target}:" in targets for target in named)


def test_what_only_sqlite_understands_is_in_its_own_modules() -> None:
    used = {
        file.relative_to(ROOT).as_posix(): words
        for file in sorted((ROOT / "treering").rglob("*.py"))
        if file.parent.name not in {"postgres", "sqlite"}
        and file.relative_to(ROOT / "treering").as_posix() not in SQLITE_ALONE
        and (words := DIALECT.findall(file.read_text("utf-8")))
    }
    assert used == {}
