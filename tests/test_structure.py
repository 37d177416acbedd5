"""What holds of the package as a whole: who imports whom, and what things are called."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SHELLS = {"adapters", "agents", "aio", "bench", "bulk", "cli", "client", "serve", "tune"}
"""What is built on ``Memory``."""

LAZY = {("memory", "client"), ("__main__", "agents"), ("__main__", "cli")}
"""Imports of shells inside functions: a memory on a server is opened as one in a file is."""

VAGUE = {"found", "kept", "known", "made", "one", "said", "told", "wanted"}
"""Names that do not say what they hold."""

MAX_VAGUE = 0.01
"""Of all bindings; well-loved code bases have up to half of it."""

Imports = Mapping[str, Set[str]]


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax trees of all modules by their full names."""
    files = sorted((ROOT / "treering").rglob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    return {
        name.removesuffix(".__init__"): ast.parse(file.read_text("utf-8"))
        for name, file in zip(names, files, strict=True)
    }


def imports(*, lazy: bool) -> dict[str, set[str]]:
    """What each module imports of the package; ``lazy``: inside functions, too."""
    return {
        name: {target for node in _nodes(tree, lazy) for target in _targets(node)}
        for name, tree in modules().items()
    }


def _nodes(tree: ast.Module, lazy: bool) -> Iterator[ast.AST]:
    """Statements on the module's own level; what is below ``if TYPE_CHECKING`` never runs."""
    return ast.walk(tree) if lazy else iter(tree.body)


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


def test_no_packages_import_each_other_in_a_ring() -> None:
    edges = first_level(imports(lazy=False))
    assert len(edges) > 20
    assert ring(edges) == []


def test_nothing_that_shells_are_built_on_imports_a_shell() -> None:
    edges = first_level(imports(lazy=True))
    built_on_shells = {
        (name, target)
        for name, targets in edges.items()
        for target in targets & SHELLS
        if name not in SHELLS and name
    }
    assert built_on_shells - LAZY == set()


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
