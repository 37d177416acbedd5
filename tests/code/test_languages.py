"""Every language and every capture of its query that the guard reads: what each makes of a node."""

from __future__ import annotations

from treering.views.code.parse.language import LANGUAGES, query
from treering.views.code.parse.parts import read_definition
from treering.views.code.parse.syntax import Capture, Syntax, syntax_root

SOURCES: dict[str, str] = {
    "python": (
        "import os\n@cached\ndef f(a, *rest, b=2):\n    'Doc.'\n    # why\n    if a < 0:\n"
        "        raise ValueError('no')\n    with lock:\n        a.n = 3\n        x = g(a, t=5)\n"
        "    try:\n        h()\n    finally:\n        k()\n"
        "    return [i for i in a if i > 3]\n"
    ),
    "javascript": (
        "import { g } from 'x';\nclass A {\n  @cached f(a) {\n    'Doc';\n    // why\n"
        "    if (a < 0) { throw new RangeError('no'); }\n    this.n = 3; const x = g(a);\n"
        "    try { h(); } finally { k(); }\n    return a;\n  }\n}\n"
    ),
    "java": (
        "import a.b;\nclass A { @Cached int f(int a, int... rest) {\n  // why\n"
        '  if (a < 0) { throw new Bad("no"); }\n  synchronized (lock) { this.n = 3; }\n'
        "  int x = g(a);\n  try { h(); } finally { k(); }\n  return a;\n} }\n"
    ),
    "go": (
        'package a\nimport "os"\nfunc f(a int) int {\n  // why\n  if a < 0 { panic(Bad("no")) }\n'
        "  defer mu.Unlock()\n  c.n = 3\n  x := g(a)\n  h()\n  return a\n}\n"
    ),
    "rust": (
        "use a::b;\nfn f(a: i32) -> i32 {\n  // why\n"
        '  if a < 0 { panic!("no"); }\n  self.n = 3;\n  let x = g(a, "t");\n  h();\n'
        "  return a;\n}\n"
    ),
    "c": (
        '#include "a.h"\nint f(int a) {\n  // why\n  if (a < 0) { return -1; }\n  p->n = 3;\n'
        '  int x = g(a, "t");\n  h();\n  return x;\n}\n'
    ),
    "cpp": (
        '#include "a.h"\nint f(int a) {\n  // why\n  if (a < 0) { throw Bad("no"); }\n  p->n = 3;\n'
        "  int x = g(a);\n  h();\n  return x;\n}\n"
    ),
    "csharp": (
        "using A;\nclass B { [Cached] int f(int a) {\n  // why\n"
        '  if (a < 0) { throw new Bad("no"); }\n  lock (this.gate) { this.n = 3; }\n'
        "  var x = g(a, t: 5);\n  try { h(); } finally { k(); }\n  return a;\n} }\n"
    ),
    "ruby": (
        "class A\n  def f(a)\n    # why\n    raise Bad, 'no' if a < 0\n    @n = 3\n"
        "    x = g(a)\n    h(a)\n    begin\n      j(a)\n    ensure\n      k(a)\n    end\n"
        "    return a\n  end\nend\n"
    ),
    "php": (
        "<?php\nuse A\\B;\n#[Cached]\nfunction f($a, ...$rest) {\n  // why\n"
        "  if ($a < 0) { throw new Bad('no'); }\n  $this->n = 3;\n  $x = g($a, t: 5);\n"
        "  try { h(); } finally { k(); }\n  return $a;\n}\n"
    ),
}
SOURCES["typescript"] = SOURCES["tsx"] = SOURCES["javascript"].replace("f(a)", "f(a: number)")

EVERYWHERE: tuple[Capture, ...] = (
    "assignment", "binder", "block", "branch", "call", "comment", "name", "outlives", "return",
    "setting", "step", "string",
)  # fmt: skip
BESIDE: dict[str, tuple[Capture, ...]] = {
    "python": (
        "decorator", "docstring", "ending", "import", "member", "option",
        "raise", "raised", "scope",
    ),
    "javascript": ("decorator", "docstring", "ending", "import", "raise", "raised"),
    "typescript": ("decorator", "docstring", "ending", "import", "raise", "raised"),
    "tsx": ("decorator", "docstring", "ending", "import", "raise", "raised"),
    "java": ("decorator", "ending", "import", "member", "raise", "raised", "scope"),
    "go": ("import", "raise", "raised", "scope"),
    "rust": ("import", "raise", "raised"),
    "c": ("import",),
    "cpp": ("import", "raise", "raised"),
    "csharp": ("decorator", "ending", "import", "member", "option", "raise", "raised", "scope"),
    "ruby": ("ending", "raise", "raised"),
    "php": (
        "decorator", "ending", "import", "member", "option", "raise", "raised",
    ),
}  # fmt: skip


def captured(language: str) -> set[str]:
    compiled = query(language, "guard")
    return {compiled.capture_name(at) for at in range(compiled.capture_count)}


def test_each_language_has_the_captures() -> None:
    for language in LANGUAGES:
        syntax = Syntax(syntax_root(SOURCES[language].encode(), language), language)
        captures = {*EVERYWHERE, *BESIDE[language]}
        stack, there = [syntax.root], set[str]()
        while stack:
            node = stack.pop()
            there |= {capture for capture in captures if syntax.has(node, capture)}
            stack.extend(node.named_children)
        assert there == captures


def test_an_error_under_a_condition_is_a_guard() -> None:
    for language in [name for name in LANGUAGES if name != "c"]:
        parts = read_definition(SOURCES[language], "f", language) or ()
        (guard,) = (part for part in parts if part.kind == "guard")
        condition = guard.text.partition(" if ")[2].strip("( )")
        assert condition.removeprefix("$ ") == "p0 < 0"


def test_what_is_done_returned_and_kept_is_read() -> None:
    for language in LANGUAGES:
        parts = read_definition(SOURCES[language], "f", language) or ()
        kinds = {part.kind for part in parts}
        assert {"branch", "call", "effect", "return", "setting", "step"} <= kinds
        settings = {part.text for part in parts if part.kind == "setting"} - {"b = 2"}
        assert all(text.endswith("n = 3") for text in settings)


def test_a_query_names_no_capture_that_nothing_reads() -> None:
    for language in LANGUAGES:
        known = {*EVERYWHERE, *(one for some in BESIDE.values() for one in some)}
        helping = {"panics", "raises"}  # what predicates look at
        assert captured(language) - helping <= known
