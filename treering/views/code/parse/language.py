"""The languages that can be parsed: file suffixes, grammar package, and one query file each.

A query file (``queries/NAME.scm``) names the parts of a program by capture:

- ``@definition.function``, ``@definition.class`` with ``@name``, and ``@body`` where there is one;
  ``@owner`` where the class of a method is written in its signature (Go, C++);
  ``@bodied`` with ``@body`` where the body is optional; ``@documented`` with ``@doc``;
  ``@derived`` with ``@base``; ``@attribute``
- ``@impl`` (methods of a class written elsewhere) and ``@scope`` (a namespace), with ``@name``
- ``@wrapper`` with ``@wrapped``: nodes of a definition that surround it (decorators, export)
- ``@call`` with ``@callee`` and, if any, ``@receiver``
- ``@import`` with ``@module``, ``@imported``, ``@alias``, ``@wildcard``
- ``@binding`` with ``@variable`` and ``@type``: a variable whose type is known
- ``@comment``

Below the line ``;;; guard`` it names the nodes that a change is compared by (``code.guard``):

- ``@block`` (its children are statements), ``@comment``, ``@string``, ``@docstring``
- ``@raise`` with ``@raised`` (the error), ``@return``, ``@branch``, ``@call``, ``@decorator``
- ``@scope`` (held while its block runs: a lock, a file), ``@ending`` (``finally``), ``@step`` (a
  statement that is nothing but a call), ``@option`` (an argument with a name)
- ``@assignment``, ``@setting`` (an assignment that is compared as a name and its value),
  ``@outlives`` (targets that outlive the call)
- ``@name``, ``@member`` (a name looked up on something else), ``@binder`` (where a definition gives
  names of its own), ``@import``

A new language is its grammar package in ``pyproject.toml``, an entry in ``_ALL`` and a query file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from treering.errors import MissingExtra, UnknownName

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Query


Section = Literal["outline", "guard"]
"""The parts of a query file."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its grammar, its files, and how its names are seen."""

    name: str
    suffixes: tuple[str, ...]
    selves: tuple[str, ...] = ()
    """Receivers that mean the object whose method is running."""
    package: str = ""
    """The distribution of the grammar, where it is not ``tree-sitter-NAME``; its module has the
    same name with underscores."""
    entry: str = "language"
    """The function of the grammar's module that returns it."""
    queries: str = ""
    """The query file's stem, where it is not ``name``."""
    shared_names: bool = True
    """Whether a name of another file can be used without an import that names it."""
    methods_in: Literal["", "braces", "indent"] = ""
    """How a class surrounds a method that does not parse without one; empty where it does."""
    family: str = ""
    """The language whose files share names with this one's, where it is not ``name``."""
    imports_folders: bool = False
    """Whether an import names a folder of files, not a file."""


def _script(name: str, *suffixes: str, entry: str = "language", queries: str = "") -> Language:
    """JavaScript or a kind of TypeScript."""
    grammar = "tree-sitter-javascript" if name == "javascript" else "tree-sitter-typescript"
    return Language(name, suffixes, ("this", "super"), grammar, entry, queries, shared_names=False,
                    methods_in="braces", family="typescript")  # fmt: skip


_ALL = (
    Language("python", (".py", ".pyi", ".ipynb"), ("self", "cls", "super()"), shared_names=False,
             methods_in="indent"),
    _script("javascript", ".js", ".jsx", ".mjs", ".cjs"),
    _script("typescript", ".ts", ".mts", ".cts", entry="language_typescript"),
    _script("tsx", ".tsx", entry="language_tsx", queries="typescript"),
    Language("java", (".java",), ("this", "super"), methods_in="braces"),
    Language("go", (".go",), imports_folders=True),
    Language("rust", (".rs",), ("self", "Self")),
    Language("c", (".c", ".h")),
    Language("cpp", (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx"), ("this",), family="c"),
    Language("csharp", (".cs",), ("this", "base"), "tree-sitter-c-sharp", methods_in="braces"),
    Language("ruby", (".rb",), ("self",)),
    Language("php", (".php",), ("$this", "self", "static", "parent"), entry="language_php_only",
             methods_in="braces"),
)  # fmt: skip
_PACKAGE = "treering.views.code.parse"
_GUARD = "\n;;; guard\n"
LANGUAGES: dict[str, Language] = {language.name: language for language in _ALL}
_BY_SUFFIX = {suffix: language.name for language in _ALL for suffix in language.suffixes}


SUFFIXES = frozenset(_BY_SUFFIX)
"""Of all files that can be parsed."""


def language_of(path: str) -> str | None:
    """The language of the file at ``path``, by its suffix; None if it is not known."""
    return _BY_SUFFIX.get(PurePath(path).suffix.lower())


def language(name: str) -> Language:
    """The language called ``name``; raises UnknownName."""
    try:
        return LANGUAGES[name]
    except KeyError:
        names = ", ".join(LANGUAGES)
        raise UnknownName(
            f"no language {name!r}; known are {names}; pass None for others", param="language"
        ) from None


@cache
def grammar(name: str) -> Grammar:
    """The tree-sitter grammar of language ``name``; raises MissingExtra if not installed."""
    from_ = language(name)
    package = from_.package or f"tree-sitter-{name}"
    try:
        tree_sitter = import_module("tree_sitter")
        module = import_module(package.replace("-", "_"))
    except ModuleNotFoundError as error:
        raise MissingExtra.of(package, "code") from error
    loaded: Grammar = tree_sitter.Language(getattr(module, from_.entry)())
    return loaded


@cache
def query(name: str, section: Section = "outline") -> Query:
    """The compiled query of language ``name``: the outline of a file, or the parts for the
    guard."""
    loaded = grammar(name)  # first: it says which extra is missing
    from tree_sitter import Query

    stem = language(name).queries or name
    file = files(_PACKAGE).joinpath("queries", f"{stem}.scm")
    outline, _, guard = file.read_text(encoding="utf-8").partition(_GUARD)
    return Query(loaded, outline if section == "outline" else guard)
