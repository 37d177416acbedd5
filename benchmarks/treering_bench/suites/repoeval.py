"""RepoEval: functions of repositories to be written where they stood (Zhang et al. 2023)."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from pathlib import Path

from treering_bench.coding.completion import query_of
from treering_bench.coding.sources import project_folder, source_text
from treering_bench.coding.task import CodeTask, OmittedTask, Words, identifiers
from treering_bench.read import Row, json_lines, only_file
from treering_bench.registry import CodeBenchmark, DataSource, register


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
    words = identifiers(body) - set(keyword.kwlist) - {"self"}
    return CodeTask(
        id=name,
        project=project,
        path=path,
        text=f"{before}    ...{after}",
        line=before.count("\n") + 1,
        query=query_of(before),
        target=Words(words, identifiers),
    )


register(
    CodeBenchmark(
        name="repoeval",
        title="RepoEval (function level, retrieval)",
        load=load,
        data=DataSource(
            url="https://github.com/microsoft/CodeT/tree/main/RepoCoder (datasets/datasets.zip)",
            licence="MIT; the repositories have their own",
            files="function_level_completion_*.test.jsonl; --sources: a folder a project of 2023",
            sha256={
                "function_2k.jsonl": (
                    "0bd6b9a22be164b37f6daa6c40fe4a2d30428c95e249f07138993bffa029f897"
                ),
                "function_4k.jsonl": (
                    "219f5d377082264c1760d5277a5e0aa708749555f91fefc400967a6876660889"
                ),
            },
        ),
    )
)
