"""CoderEval for Python: functions of projects, by their dependencies (Yu et al. 2024)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from treering_bench.coding.sources import defined_names, project_folder, source_text
from treering_bench.coding.task import CodeTask, OmittedTask, Words, definitions
from treering_bench.read import Row, json_items, only_file

_QUOTED = re.compile(r"'([^']+)'")
_INDENT = 4


def load(path: Path, sources: Path) -> Iterator[CodeTask | OmittedTask]:
    """One task a function; the query is its signature with the description people wrote.

    What should be found are definitions of the names of its oracle context, as far as its project
    has them: the others are the standard library's and other packages'. The category is the
    runnable level.
    """
    for row in json_items(only_file(path, "CoderEval4Python*.json"), "RECORDS.item"):
        yield _task(row, sources)


def _task(row: Row, sources: Path) -> CodeTask | OmittedTask:
    project = project_folder(row["project"].rsplit("/", 1)[-1], sources)
    path = row["file_path"]
    text = source_text(sources, project, path)
    code = row["code"].strip("\n")
    if project is None or text is None or code not in text:
        return OmittedTask(row["_id"], f"{row['project']}: the function is not in {path}")
    names = _oracle(row) & defined_names(sources, project)
    if not names:
        return OmittedTask(row["_id"], "it depends on nothing of its project")
    signature = code.split(":\n", 1)[0] + ":"
    indent = " " * (len(code) - len(code.lstrip()) + _INDENT)
    return CodeTask(
        id=row["_id"],
        project=project,
        path=path,
        text=text.replace(code, f"{signature}\n{indent}..."),
        line=text[: text.index(code)].count("\n") + 1,
        query=f"{signature}\n{row['human_label']}",
        target=Words(names, definitions),
        category=row["level"],
    )


def _oracle(row: Row) -> frozenset[str]:
    """The names of the oracle context: a JSON object of lists that Python printed."""
    printed: dict[str, str] = json.loads(row["oracle_context"])
    return frozenset(name for names in printed.values() for name in _QUOTED.findall(names))
