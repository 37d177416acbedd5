"""Call resolution: which definition a call may mean, as a reader would tell."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings

from tests.code.repositories import SHOP, made_up
from treering.views.code.graph.resolve import (
    MAX_CANDIDATES,
    Resolver,
    module_parts,
    updated_calls,
)
from treering.views.code.parse.language import language_of
from treering.views.code.parse.parser import parse


def resolved(texts: Mapping[str, str], path: str) -> dict[str, list[str]]:
    """The possible definitions of each call of a file, by the call as written."""
    files = {name: parse(text, language_of(name)) for name, text in texts.items()}
    resolver = Resolver(files)
    made = {}
    for call, targets in zip(files[path].calls, resolver.resolve(path), strict=True):
        written = f"{call.receiver}.{call.name}" if call.receiver else call.name
        made[written] = [f"{t.path}:{resolver.definition(t).qualified}" for t in targets]
    return made


def test_calls_are_followed_through_imports_self_modules_and_constructors() -> None:
    cart = resolved(SHOP, "shop/cart.py")
    assert cart["price"] == ["shop/prices.py:price"]
    assert cart["log.note"] == ["shop/log.py:note"]
    assert cart["self.add"] == ["shop/cart.py:Cart.add"]
    assert cart["self.items.append"] == []


def test_a_name_that_a_package_passes_on_is_followed_to_its_origin() -> None:
    found = resolved(SHOP, "tests/test_cart.py")
    assert found["Cart"] == ["shop/cart.py:Cart"]
    assert found["cart.total"] == ["shop/cart.py:Cart.total"]


def test_methods_are_inherited_across_files() -> None:
    texts = {
        "base.py": "class Base:\n    def run(self):\n        pass\n",
        "b.py": "from base import Base\nclass B(Base):\n    def go(self):\n        self.run()\n",
    }
    assert resolved(texts, "b.py") == {"self.run": ["base.py:Base.run"]}


def test_bases_in_a_circle_do_not_hang() -> None:
    text = "class A(B):\n    def f(self):\n        self.g()\nclass B(A):\n    pass\n"
    assert resolved({"a.py": text}, "a.py") == {"self.g": []}


def test_an_inner_function_hides_an_outer_one() -> None:
    text = "def f():\n    pass\ndef g():\n    def f():\n        pass\n    f()\n"
    assert resolved({"a.py": text}, "a.py") == {"f": ["a.py:g.f"]}


def test_python_names_are_not_guessed_without_an_import() -> None:
    assert resolved({"a.py": "f()", "b.py": "def f():\n    pass"}, "a.py") == {"f": []}


def test_an_unknown_receiver_leaves_all_methods_of_a_distinctive_name() -> None:
    texts = {
        "a.py": "x.draw_line()\nx.get()\npen.get()\n",
        "b.py": "class Pen:\n    def draw_line(self): pass\n    def get(self): pass\n",
        "c.py": "class Ink:\n    def draw_line(self): pass\n    def get(self): pass\n",
    }
    assert resolved(texts, "a.py") == {
        "x.draw_line": ["b.py:Pen.draw_line", "c.py:Ink.draw_line"],
        "x.get": [],
        "pen.get": ["b.py:Pen.get"],
    }


def test_a_name_with_too_many_candidates_says_nothing() -> None:
    cls = "class C{i}:\n    def draw_line(self): pass\n"
    few = "".join(cls.format(i=i) for i in range(MAX_CANDIDATES))
    many = few + cls.format(i="x")
    assert len(resolved({"a.py": few + "y.draw_line()"}, "a.py")["y.draw_line"]) == MAX_CANDIDATES
    assert resolved({"a.py": many + "y.draw_line()"}, "a.py")["y.draw_line"] == []


def test_calls_cross_files_in_every_language() -> None:
    cases = [
        (
            ("src/a.js", "import {f} from './b'; f()"),
            "f",
            ("src/b.js", "export function f() {}"),
            "f",
        ),
        (
            ("src/a.ts", "import * as b from './b.js'; b.f()"),
            "b.f",
            ("src/b.ts", "export const f = () => 1"),
            "f",
        ),
        (
            ("x/A.java", "import y.B; class A { void g(B b) { b.f(); } }"),
            "b.f",
            ("y/B.java", "package y; class B { void f() {} }"),
            "B.f",
        ),
        (
            ("main.go", 'package main\nimport "m/b"\nfunc g() { b.F() }'),
            "b.F",
            ("m/b/f.go", "package b\nfunc F() {}"),
            "F",
        ),
        (
            ("src/a.rs", "use crate::b::f;\nfn g() { f(); }"),
            "f",
            ("src/b.rs", "pub fn f() {}"),
            "f",
        ),
        (("a.c", '#include "b.h"\nvoid g() { f(); }'), "f", ("b.c", "void f() {}"), "f"),
        (
            ("a.cpp", '#include "b.h"\nvoid g() { B b; b.f(); }'),
            "b.f",
            ("b.cpp", "class B { void f() {} };"),
            "B.f",
        ),
        (
            ("A.cs", "class A { void G(B b) { b.F(); } }"),
            "b.F",
            ("B.cs", "class B { void F() {} }"),
            "B.F",
        ),
        (("a.rb", "def g\n  f()\nend"), "f", ("b.rb", "def f\nend"), "f"),
    ]
    for caller, written, callee, name in cases:
        found = resolved(dict([caller, callee]), caller[0])
        assert found[written] == [f"{callee[0]}:{name}"]


def test_a_module_is_named_by_its_folder_where_a_file_stands_for_it() -> None:
    assert module_parts("a/b.py") == ("a", "b")
    assert module_parts("a/__init__.py") == ("a",)
    assert module_parts("a/b/c.go") == ("a", "b")


@settings(max_examples=40, deadline=None)
@given(made_up, made_up)
def test_updated_calls_are_those_of_a_resolution_from_scratch(
    before: dict[str, str], after: dict[str, str]
) -> None:
    old = {path: parse(text, "python") for path, text in before.items()}
    new = {
        path: old[path] if before.get(path) == text else parse(text, "python")
        for path, text in after.items()
    }
    known = updated_calls({}, old, {})
    resolver = Resolver(new)
    assert updated_calls(old, new, known) == {path: resolver.resolve(path) for path in new}


def test_candidates_that_stay_equal_are_not_stored_again() -> None:
    old = {path: parse(text, "python") for path, text in SHOP.items()}
    known = updated_calls({}, old, {})
    new = {**old, "late.py": parse("def late():\n    pass\n", "python")}
    found = updated_calls(old, new, known)
    assert all(found[path] is known[path] for path in old)
