"""What holds of the package as a whole: who imports whom, and what things are called."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SHELLS = {"adapters", "agents", "aio", "bulk", "cli", "client", "serve", "tune"}
"""What is built on ``Memory``."""

LAZY = {
    ("memory", "client"),
    ("__main__", "agents"),
    ("__main__", "cli"),
    ("__main__", "serve"),
}
"""Imports of shells inside functions: a memory on a server is opened as one in a file is."""

VAGUE = {"found", "kept", "known", "made", "one", "said", "told", "wanted"}
"""Names that do not say what they hold."""

MAX_VAGUE = 0.01
"""Of all bindings; well-loved code bases have up to half of it."""

IMPORT = re.compile(r"^(?:from [\w.]+ import (?:\([^)]*\)|[^(\n]*$)|import .*$)", re.MULTILINE)
"""An import on a module's own level."""

Imports = Mapping[str, Set[str]]


@cache
def sources() -> dict[str, str]:
    """The texts of all modules by their full names."""
    files = sorted((ROOT / "treering").rglob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    return {
        name.removesuffix(".__init__"): file.read_text("utf-8")
        for name, file in zip(names, files, strict=True)
    }


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax trees of all modules by their full names."""
    return {name: ast.parse(text) for name, text in sources().items()}


@cache
def imports() -> dict[str, set[str]]:
    """What each module imports of the package on its own level: what is below ``if TYPE_CHECKING``
    never runs. Only these lines are parsed, as to parse all takes seconds."""
    return {
        name: _imported(ast.parse("\n".join(IMPORT.findall(text))).body)
        for name, text in sources().items()
    }


def lazy_imports() -> dict[str, set[str]]:
    """Those inside functions, too."""
    return {name: _imported(ast.walk(tree)) for name, tree in modules().items()}


def _imported(nodes: Iterable[ast.AST]) -> set[str]:
    return {target for node in nodes for target in _targets(node)}


def _targets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module == "treering":
        names = [f"treering.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module]
    else:
        names = []
    return (name for name in names if name.startswith("treering."))


def first_level(edges: Imports) -> dict[str, set[str]]:
    """Imports between what is directly in the package: its packages, and its modules."""
    between: dict[str, set[str]] = defaultdict(set)
    for name, targets in edges.items():
        here = _part(name)
        between[here] |= {_part(target) for target in targets} - {here}
    return dict(between)


def _part(name: str) -> str:
    return [*name.split("."), ""][1]


def ring(edges: Imports) -> list[str]:
    """A ring of imports, or an empty list: what is left once all that end nowhere are gone."""
    left = {name: set(targets) for name, targets in edges.items()}
    while ends := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in ends:
            del left[name]
    return sorted(left)


def test_a_ring_is_seen() -> None:
    assert ring({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]
    assert ring({"a": {"b", "c"}, "b": {"c"}}) == []


def test_no_import_of_a_module_is_overlooked() -> None:
    assert imports() == {name: _imported(tree.body) for name, tree in modules().items()}


def test_no_packages_import_each_other_in_a_ring() -> None:
    edges = first_level(imports())
    assert len(edges) > 20
    assert ring(edges) == []


def test_nothing_that_shells_are_built_on_imports_a_shell() -> None:
    edges = first_level(lazy_imports())
    built_on_shells = {
        (name, target)
        for name, targets in edges.items()
        for target in targets & SHELLS
        if name not in SHELLS and name
    }
    assert built_on_shells - LAZY == set()


def test_nothing_imports_the_benchmarks() -> None:
    assert [name for name, text in sources().items() if "treering_bench" in text] == []


def test_no_two_modules_have_a_public_class_of_one_name() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(module)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_names_say_what_they_hold() -> None:
    bindings = [
        (node.id.strip("_"), module)
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    vague: dict[str, int] = defaultdict(int)
    for name, module in bindings:
        vague[module] += name in VAGUE
    worst = sorted(((count, module) for module, count in vague.items() if count), reverse=True)
    assert sum(vague.values()) <= MAX_VAGUE * len(bindings), worst[:10]
