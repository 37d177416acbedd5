"""Statements of source code, normalised, and those that a change adds and deletes (CodeMEM 3.4.2).

A statement is any node directly in a block. A statement with blocks is compared by its head, and
its inner statements separately, so that moving or indenting changes nothing. White space,
comments, docstrings and the kind of quotes are not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from treering import forks
from treering.views.code.parse.syntax import Syntax


@dataclass(frozen=True, slots=True)
class CodeStatement:
    """A normalised AST node: equal texts of equal type are the same in any place.

    ``source`` is how it is written, without the blocks in it.
    """

    type: str
    text: str
    first_line: int = field(compare=False)
    last_line: int = field(compare=False)
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class CodeDelta:
    """Δ = (Δ_add, Δ_del): statements only in the newer and only in the older version."""

    added: frozenset[CodeStatement] = frozenset()
    deleted: frozenset[CodeStatement] = frozenset()

    def reversed_by(self, later: CodeDelta) -> frozenset[CodeStatement]:
        """Conf (eq. 9): the added statements that ``later`` deletes, and the deleted that it
        adds."""
        return (later.deleted & self.added) | (later.added & self.deleted)


def statements(source: str, language: str) -> tuple[CodeStatement, ...]:
    """Every statement of ``source`` in order, with repetitions."""
    # An `add` reads notes of rounds and parses no code: the parser comes with the first change.
    with forks.importing():
        from treering.views.code.parse.parser import syntax_root

    syntax = Syntax(syntax_root(source.encode(), language), language)
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
    """The change from ``before`` to ``after``; each repetition of a statement counts."""
    old, new = statements(before, language), statements(after, language)
    return CodeDelta(frozenset(_surplus(new, old)), frozenset(_surplus(old, new)))


def _surplus(of: Iterable[CodeStatement], over: Iterable[CodeStatement]) -> Iterator[CodeStatement]:
    left = Counter(over)
    for statement in of:
        left[statement] -= 1
        if left[statement] < 0:
            yield statement
