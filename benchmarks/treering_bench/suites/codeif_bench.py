"""CodeIF-Bench L-2: functions of repositories, asked for over nine rounds (Wang et al. 2025)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treering_bench.coding.sources import project_folder, source_text
from treering_bench.coding.task import CodeTask, Dependencies, OmittedTask
from treering_bench.read import Row, json_lines, only_file

_INDENT = 4


def load(path: Path, sources: Path) -> Iterator[CodeTask | OmittedTask]:
    """One task a dialogue; the query is its first instruction, found are gold dependencies."""
    for row in json_lines(l2_file(path)):
        yield _task(row, sources)


def l2_file(path: Path) -> Path:
    """The file of dialogues, given itself or its folder."""
    return only_file(path, "l2*.jsonl", "L-2*.jsonl", "L2*.jsonl")


def _task(row: Row, sources: Path) -> CodeTask | OmittedTask:
    project = project_folder(row["project_path"].split("/")[1], sources)
    path = "/".join(row["completion_path"].split("/")[2:]).removeprefix("src/")
    text = source_text(sources, project, path)
    code = row["code"].strip("\n")
    gold = tuple(name for names in row["dependency"].values() for name in names)
    if project is None or text is None or code not in text:
        return OmittedTask(row["namespace"], f"the function is not in {path}")
    if not gold:
        return OmittedTask(row["namespace"], "it depends on nothing of its project")
    signature = code.splitlines()[0]
    hole = f"{signature}\n{' ' * (int(row['indent']) + _INDENT)}..."
    return CodeTask(
        id=row["namespace"],
        project=project,
        path=path,
        text=text.replace(code, hole),
        line=text[: text.index(code)].count("\n") + 1,
        query=row["prompt"],
        target=Dependencies(gold),
        instructions=_instructions(row),
        code=code,
    )


def _instructions(row: Row) -> tuple[str, ...]:
    """The instruction of each round; the first also names the function."""
    asked = [row["requirements"][name]["requirement"] for name in row.get("multi-turn", ())]
    return (f"{row['prompt']}\n{asked[0]}", *asked[1:]) if asked else ()
