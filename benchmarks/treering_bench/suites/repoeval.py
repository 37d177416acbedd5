"""RepoEval: functions, lines and API calls to be written where they stood (Zhang et al. 2023).

Lines and calls come from the published files, or are drawn from the sources at hand as RepoEval
drew its own (RepoCoder, section 3): any statement on one line of enough tokens, or one that calls
what another place of the repository defines. No two have the same line.
"""

from __future__ import annotations

import ast
import keyword
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from treering.errors import InputError
from treering.split.text import WINDOW_LINES
from treering_bench.coding.sources import (
    defined_names,
    project_files,
    project_folder,
    source_text,
)
from treering_bench.coding.task import CodeTask, OmittedTask, Words, identifiers, last_lines
from treering_bench.read import Row, json_lines, only_file

Level = Literal["line", "api"]

MIN_TOKENS: Final = 5
"""Of a drawn line: shorter ones are closing brackets and the like."""

MIN_BEFORE: Final = WINDOW_LINES // 2
"""Lines before it: with fewer there is hardly anything to look for it by."""

DRAW_SEED: Final = 0

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_HEADS: Final = (ast.If, ast.For, ast.While, ast.With)
_NO_TASK: Final = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def load(path: Path, sources: Path) -> Iterator[CodeTask | OmittedTask]:
    """One task a function; the query is the last 20 lines before its body.

    What should be found are the identifiers of the true body. Several rows may hold one function
    with contexts of different lengths: a row's number tells them apart.
    """
    for number, row in enumerate(json_lines(only_file(path, "function*.jsonl"))):
        yield _task(str(number), row["metadata"], sources)


def _task(name: str, meta: Row, sources: Path) -> CodeTask | OmittedTask:
    repository, *parts = meta["fpath_tuple"]
    project = project_folder(repository.split("_", 1)[1], sources)
    path = "/".join(parts)
    text = source_text(sources, project, path)
    body = meta["ground_truth"].rstrip()
    if project is None or text is None or text.count(body) != 1:
        return OmittedTask(name, f"{repository}: the body is not once in {path}")
    before, after = text.split(body)
    return CodeTask(
        id=name,
        project=project,
        path=path,
        text=f"{before}    ...{after}",
        line=before.count("\n") + 1,
        query=last_lines(before),
        target=_target(body),
        code=meta["ground_truth"],
    )


def load_line(path: Path, sources: Path) -> Iterator[CodeTask | OmittedTask]:
    """Tasks of lines."""
    return _load_lines("line", path, sources)


def load_api(path: Path, sources: Path) -> Iterator[CodeTask | OmittedTask]:
    """Tasks of lines that call what another place of the repository defines."""
    return _load_lines("api", path, sources)


def _load_lines(level: Level, path: Path, sources: Path) -> Iterator[CodeTask | OmittedTask]:
    """One task a line: of the published file, or drawn where ``path`` is the sources themselves."""
    if path.is_file() or any(path.glob(f"{level}*.jsonl")):
        for number, row in enumerate(json_lines(only_file(path, f"{level}*.jsonl"))):
            yield _published_line(str(number), row["metadata"], sources, level)
    else:
        yield from drawn_tasks(path, level)


def _published_line(name: str, meta: Row, sources: Path, level: Level) -> CodeTask | OmittedTask:
    repository, *parts = meta["fpath_tuple"]
    project = project_folder(repository.split("_", 1)[1], sources)
    path, at = "/".join(parts), meta["line_no"]
    lines = (source_text(sources, project, path) or "").splitlines(keepends=True)
    code = meta["ground_truth"].rstrip("\n")
    size = code.count("\n") + 1  # a call may go over several lines
    if project is None or "".join(lines[at : at + size]).rstrip() != code.rstrip():
        return OmittedTask(name, f"{repository}: the line is not at {path}:{at + 1}")
    return _cut(name, project, path, lines, at, size, level)


def drawn_tasks(sources: Path, level: Level) -> list[CodeTask]:
    """The lines of all projects in a folder, in an order drawn once. Raise InputError if none."""
    if not sources.is_dir():
        raise InputError(f"there is no folder {sources} with a folder for each project")
    candidates: dict[str, CodeTask] = {}
    for folder in sorted(path for path in sources.iterdir() if path.is_dir()):
        for task in _lines_in(sources, folder.name, level):
            candidates.setdefault(task.code.strip(), task)
    if not candidates:
        raise InputError(f"no project in {sources} has a line for {level} tasks")
    drawn = sorted(candidates)
    random.Random(DRAW_SEED).shuffle(drawn)
    return [candidates[line] for line in drawn]


def _lines_in(sources: Path, project: str, level: Level) -> Iterator[CodeTask]:
    names = defined_names(sources, project) if level == "api" else None
    for file in project_files(sources / project):
        lines = file.text.splitlines(keepends=True)
        for number in sorted(_statements(file.text, names)):
            if number > MIN_BEFORE and len(_TOKEN.findall(lines[number - 1])) >= MIN_TOKENS:
                name = f"{project}/{file.path}:{number}"
                yield _cut(name, project, file.path, lines, number - 1, 1, level)


def _cut(
    name: str, project: str, path: str, lines: list[str], at: int, size: int, level: Level
) -> CodeTask:
    """The task of writing some lines of a file, from place ``at`` on."""
    code = "".join(lines[at : at + size])
    return CodeTask(
        id=name,
        project=project,
        path=path,
        text="".join([*lines[:at], *lines[at + size :]]),
        line=at + 1,
        query=last_lines("".join(lines[:at])),
        target=Words(identifiers(code), identifiers),
        category=level,
        code=code,
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
    """The last names of the calls on the line of a statement."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and call.lineno == node.lineno == call.end_lineno:
            if isinstance(call.func, ast.Name):
                yield call.func.id
            elif isinstance(call.func, ast.Attribute):
                yield call.func.attr


def _target(body: str) -> Words:
    return Words(identifiers(body) - set(keyword.kwlist) - {"self"}, identifiers)
