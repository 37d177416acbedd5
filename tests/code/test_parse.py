"""Parsing: what is found in each language, and that no text makes it fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.errors import TextEncodingError, UnknownName
from treering.views.code.parse.language import LANGUAGES, language_of
from treering.views.code.parse.outline import NONE, ParsedFile
from treering.views.code.parse.parser import parse

PYTHON = '''\
import os.path as osp
from .shapes import Circle as Round, area
from .all import *


@register
class Drawing(Base):
    """What is drawn."""

    scale = 1

    def __init__(self, pen: Pen):
        self.shape = Round()

    # Draws it.
    # All of it.
    @property
    def draw(self, x=1):
        return self.shape.paint(osp.join(x), area(x))
'''


def qualified(parsed: ParsedFile) -> list[tuple[str, str]]:
    return [(d.qualified, d.kind) for d in parsed.definitions]


def called(parsed: ParsedFile) -> list[str]:
    return [f"{c.receiver}.{c.name}" if c.receiver else c.name for c in parsed.calls]


def test_python_definitions_carry_names_signatures_docs_bases_and_attributes() -> None:
    parsed = parse(PYTHON, "python")
    drawing, init, draw = parsed.definitions
    assert qualified(parsed) == [
        ("Drawing", "class"),
        ("Drawing.__init__", "method"),
        ("Drawing.draw", "method"),
    ]
    assert (drawing.signature, drawing.doc) == ("class Drawing(Base)", "What is drawn.")
    assert (drawing.bases, drawing.attributes) == (("Base",), ("scale", "shape"))
    assert init.signature == "def __init__(self, pen: Pen)"
    assert draw.doc == "# Draws it.\n# All of it."
    assert (drawing.parent, init.parent, draw.owner) == (NONE, 0, "Drawing")
    # The span has the decorators.
    assert (drawing.span.first_line, drawing.span.last_line, draw.span.first_line) == (6, 19, 17)


def test_python_calls_imports_and_bindings() -> None:
    parsed = parse(PYTHON, "python")
    calls = ["register", "Round", "property", "self.shape.paint", "osp.join", "area"]
    assert called(parsed) == calls
    assert [call.scope for call in parsed.calls] == [0, 1, 2, 2, 2, 2]
    assert parsed.imports == (
        ("os.path", "", "osp"),
        (".shapes", "Circle", "Round"),
        (".shapes", "area", ""),
        (".all", "*", ""),
    )
    types = {(binding.variable, binding.type) for binding in parsed.bindings}
    assert types == {("pen", "Pen"), ("self.shape", "Round")}


OTHERS = {
    "javascript": (
        "import {a as b} from './m';\n// Runs.\nexport const f = (x) => { b(x) };\n"
        "class A extends B { go() { this.x = new C(); this.x.run() } }",
        [("f", "function"), ("A", "class"), ("A.go", "method")],
        ["b", "C", "this.x.run"],
        [("./m", "a", "b")],
    ),
    "typescript": (
        "import {a} from './m';\nexport class A<T> extends B { private x: Foo;\n"
        "go(y: Bar): void { y.run(); a() } }\ninterface I { z: number }",
        [("A", "class"), ("A.go", "method"), ("I", "class")],
        ["y.run", "a"],
        [("./m", "a", "")],
    ),
    "tsx": (
        "export const View = () => <div>{draw()}</div>",
        [("View", "function")],
        ["draw"],
        [],
    ),
    "java": (
        "import a.b.C;\nclass A extends B { A() {}\n void f(C c) { c.go(); g(); new D(); } }",
        [("A", "class"), ("A.A", "method"), ("A.f", "method")],
        ["c.go", "g", "D"],
        [("a.b.C", "", "")],
    ),
    "go": (
        'package m\nimport "a/fmt"\ntype Foo struct { a int }\n'
        "func (s *Foo) Bar(x Baz) int { return x.Do(s.a) + g() }\nfunc g() int { return 1 }",
        [("Foo", "class"), ("Foo.Bar", "method"), ("g", "function")],
        ["x.Do", "g"],
        [("a/fmt", "", "")],
    ),
    "rust": (
        "use crate::a::{b, c as d};\nstruct Foo;\n"
        "impl Foo { fn bar(&self) { self.x(); Foo::new(); println!(); } }\nfn main() { b(); }",
        [("Foo", "class"), ("Foo.bar", "method"), ("main", "function")],
        ["self.x", "Foo.new", "println", "b"],
        [("crate::a", "b", ""), ("crate::a", "c", "d")],
    ),
    "c": (
        "#include <x.h>\n#define TWICE(x) (2 * (x))\nstatic int *f(int x) { return g(x); }\n"
        "struct S { int a; };",
        [("TWICE", "function"), ("f", "function"), ("S", "class")],
        ["g"],
        [("x.h", "", "")],
    ),
    "cpp": (
        '#include "x.h"\nnamespace n { class A { int f(int x); }; }\n'
        "int n::A::f(int x) { B b; b.go(); A::stop(); return g(); }",
        [("n.A", "class"), ("A.f", "method")],
        ["b.go", "A.stop", "g"],
        [("x.h", "", "")],
    ),
    "csharp": (
        "using X.Y;\nnamespace N { class A : B { int x; void F(C c) { c.Go(); new D(); G(); } } }",
        [("N.A", "class"), ("N.A.F", "method")],
        ["c.Go", "D", "G"],
        [("X.Y", "", "")],
    ),
    "ruby": (
        "require_relative 'x'\nclass A < B\n def f(x)\n  y = C.new(1)\n  y.go(2)\n  g()\n end\nend",
        [("A", "class"), ("A.f", "method")],
        ["require_relative", "C", "y.go", "g"],
        [("x", "", "")],
    ),
    "php": (
        "<?php\nuse App\\Tax\\Rate;\nclass A extends B { function f($a) {\n"
        "$this->g($a); $r = new Rate($a); h($r); } }",
        [("A", "class"), ("A.f", "method")],
        ["$this.g", "Rate", "h"],
        [("App\\Tax", "Rate", "")],
    ),
}


def test_each_language_yields_definitions_calls_and_imports() -> None:
    for language in OTHERS:
        text, definitions, calls, imports = OTHERS[language]
        parsed = parse(text, language)
        assert qualified(parsed) == definitions
        assert called(parsed) == calls
        assert [*parsed.imports] == imports


def test_every_language_is_tested_and_found_by_its_suffixes() -> None:
    assert set(LANGUAGES) == {"python", *OTHERS}
    for language in LANGUAGES.values():
        assert {language_of(f"a{suffix}") for suffix in language.suffixes} == {language.name}
    assert language_of("notes.txt") is None


def test_broken_code_yields_what_can_be_had() -> None:
    parsed = parse("def whole():\n    return helper()\n\ndef broken(:\n  !!", "python")
    assert qualified(parsed)[0] == ("whole", "function")
    assert called(parsed)[0] == "helper"


def test_without_a_language_the_lines_are_the_nodes() -> None:
    parsed = parse("one\n\ntwo", None)
    assert (len(parsed.tree), parsed.definitions) == (3, ())
    spans = zip(parsed.tree.start.tolist(), parsed.tree.end.tolist(), strict=True)
    assert [parsed.source[a:b] for a, b in spans] == [b"one\n\ntwo", b"one", b"two"]


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"cobol.*python"):
        parse("x", "cobol")


def test_lone_surrogates_are_refused() -> None:
    with pytest.raises(TextEncodingError):
        parse("x = '\ud800'", "python")


@given(st.text(), st.sampled_from([*LANGUAGES, None]))
def test_any_text_parses_to_a_tree_whose_parents_come_first(
    text: str, language: str | None
) -> None:
    try:
        parsed = parse(text, language)
    except TextEncodingError:
        return
    tree = parsed.tree
    assert tree.parent[0] == NONE
    assert all(tree.parent[i] < i for i in range(len(tree)))
    assert all(d.span.end <= len(parsed.source) for d in parsed.definitions)
