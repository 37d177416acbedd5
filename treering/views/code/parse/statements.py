"""Statements of source code, normalised, and what a change adds and deletes (CodeMEM 3.4.2).

A statement is whatever stands directly in a block; one that holds blocks of its own is compared
by its head, its inner statements by themselves, so that moving or indenting changes nothing.
White space, comments, docstrings and the kind of quotes are not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from treering.views.code.parse.delta import CodeDelta, CodeStatement
from treering.views.code.parse.parser import syntax_root
from treering.views.code.parse.syntax import Syntax


def statements(source: str, language: str) -> tuple[CodeStatement, ...]:
    """Every statement of ``source`` in order, as often as it stands there."""
    return statements_in(Syntax(syntax_root(source.encode(), language), language))


def statements_in(syntax: Syntax) -> tuple[CodeStatement, ...]:
    """Every statement of a tree in order, as often as it stands there."""
    return tuple(
        CodeStatement(
            type=node.type,
            text=syntax.text(node),
            first_line=node.start_point.row + 1,
            last_line=node.end_point.row + 1,
            source=syntax.as_written(node),
        )
        for node in syntax.statement_nodes()
    )


def change(before: str, after: str, language: str) -> CodeDelta:
    """What turns ``before`` into ``after``; a repeated statement counts as often as it stands."""
    old, new = statements(before, language), statements(after, language)
    return CodeDelta(frozenset(_surplus(new, old)), frozenset(_surplus(old, new)))


def _surplus(of: Iterable[CodeStatement], over: Iterable[CodeStatement]) -> Iterator[CodeStatement]:
    left = Counter(over)
    for statement in of:
        left[statement] -= 1
        if left[statement] < 0:
            yield statement
