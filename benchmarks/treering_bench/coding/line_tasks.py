"""Line and API tasks made from real repositories, as RepoEval made its own (RepoCoder, section 3).

A line is drawn at random and cut out of its file: any line of code of enough tokens, or one that
calls what another place of the repository defines. No two tasks have the same line.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from treering.errors import InputError
from treering.views.code.parse.cuts import WINDOW_LINES
from treering_bench.coding.completion import query_of
from treering_bench.coding.sources import defined_names, project_files
from treering_bench.coding.task import CodeTask, Words, identifiers

TaskLevel = Literal["body", "line", "api"]

MIN_TOKENS: Final = 5
"""Of a line: shorter ones are closing brackets and the like."""

MIN_BEFORE: Final = WINDOW_LINES // 2
"""Lines before it: with fewer there is hardly anything to look for it by."""

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_HEADS: Final = (ast.If, ast.For, ast.While, ast.With)
_NO_TASK: Final = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

DrawnTask = tuple[CodeTask, str, str]
"""A task, the text before the hole, and the true code."""


def drawn_tasks(sources: Path, level: TaskLevel, count: int, seed: int) -> list[DrawnTask]:
    """So many tasks of all projects in a folder. Raises InputError if there is no such line."""
    if not sources.is_dir():
        raise InputError(f"there is no folder {sources} with a folder for each project")
    candidates: dict[str, DrawnTask] = {}
    for folder in sorted(path for path in sources.iterdir() if path.is_dir()):
        for task, prefix, line in _lines_of(sources, folder.name, level):
            candidates.setdefault(line.strip(), (task, prefix, line))
    if not candidates:
        raise InputError(f"no project in {sources} has a line for {level} tasks")
    chosen = random.Random(seed).sample(sorted(candidates), min(count, len(candidates)))
    return [candidates[line] for line in chosen]


def _lines_of(sources: Path, project: str, level: TaskLevel) -> Iterator[DrawnTask]:
    names = defined_names(sources, project) if level == "api" else None
    for file in project_files(sources / project):
        lines = file.text.splitlines(keepends=True)
        for number in sorted(_statements(file.text, names)):
            line = lines[number - 1]
            if number <= MIN_BEFORE or len(_TOKEN.findall(line)) < MIN_TOKENS:
                continue
            prefix = "".join(lines[: number - 1])
            yield (
                CodeTask(
                    id=f"{project}/{file.path}:{number}",
                    project=project,
                    path=file.path,
                    text=prefix + "".join(lines[number:]),
                    line=number,
                    query=query_of(prefix),
                    target=Words(identifiers(line), identifiers),
                    category=level,
                ),
                prefix,
                line,
            )


def _statements(text: str, names: frozenset[str] | None) -> set[int]:
    """The lines of statements on one line, or of their heads; with ``names`` those calling any."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    starts = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or isinstance(node, _NO_TASK) or _is_prose(node):
            continue
        is_head = isinstance(node, _HEADS) and node.body[0].lineno > node.lineno
        if (is_head or node.lineno == node.end_lineno) and (
            names is None or not names.isdisjoint(_called(node))
        ):
            starts.add(node.lineno)
    return starts


def _is_prose(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _called(node: ast.stmt) -> Iterator[str]:
    """The last names of what is called on the line of a statement."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and call.lineno == node.lineno == call.end_lineno:
            if isinstance(call.func, ast.Name):
                yield call.func.id
            elif isinstance(call.func, ast.Attribute):
                yield call.func.attr
