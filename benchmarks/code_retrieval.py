"""What of a repository is found for a piece of code to write: CodeIF-Bench L-2 and RepoEval.

    python benchmarks/code_retrieval.py codeif L2.jsonl SOURCES [--dense]
    python benchmarks/code_retrieval.py repoeval FUNCTION.jsonl SOURCES [--dense]

SOURCES has a folder for each project, as it is installed, at the version whose code the data quotes
(tasks whose code is not found there are left out and counted). The body to be written is cut out
before anything is indexed.

CodeIF-Bench: the share of a task's gold dependencies whose definition, or for an attribute an
assignment in its class, lies in the k best fragments; the query is the first instruction.
RepoEval: the share of the true body's identifiers that occur in the k best fragments; the query is
the last 20 lines before it. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from treering.code.completion import query_of
from treering.code.fragments import Unit
from treering.code.index import ALPHA, CodeHit, CodeIndex, IndexedFile, Place, index_file
from treering.code.map import repository_map
from treering.code.repository import SourceFile, scan
from treering.embed.minilm import MiniLM
from treering.llm.tokens import estimate_tokens
from treering.records import Skipped
from treering.score.own import Mode

CUTS = (5, 10)
MAP_BUDGETS = (1000, 4000)
TESTS = re.compile(r"(^|/)(tests?|testing)(/|_|\.)|_test\.py$|\.dist-info")


@dataclass(frozen=True, slots=True)
class Task:
    """One body to write: where it was, what is asked, and how to tell what was found."""

    project: str
    path: str
    text: str
    """The file without the body."""
    line: int
    """Where the body was."""
    query: str
    found: Callable[[Sequence[CodeHit]], float]
    mapped: Callable[[str], float]


class Sources:
    """The indexed projects; one file at a time is exchanged for a version with a hole."""

    def __init__(self, root: Path, unit: Unit, embedder: MiniLM | None) -> None:
        self._root = root
        self._unit: Unit = unit
        self._embedder = embedder
        self._indexes: dict[str, CodeIndex] = {}

    def index(self, task: Task) -> CodeIndex:
        """The project of a task, with the hole."""
        index = self._indexes.get(task.project)
        if index is None:
            index = self._indexes[task.project] = CodeIndex(self._unit)
            index.update(
                {one.path: self._made(one.path, one.text) for one in self._files(task.project)}
            )
        index.update({task.path: self._made(task.path, task.text)})
        return index

    def restore(self, task: Task) -> None:
        """Put the file of a task back as it was."""
        text = (self._root / task.project / task.path).read_text(errors="replace")
        self._indexes[task.project].update({task.path: self._made(task.path, text)})

    def _files(self, project: str) -> Iterator[SourceFile]:
        for one in scan(self._root / project):
            if isinstance(one, Skipped) or TESTS.search(one.path):
                continue
            if one.path.endswith(".py"):
                yield one

    def _made(self, path: str, text: str) -> IndexedFile:
        file = index_file(text, path, "python", self._unit)
        if self._embedder is None:
            return file
        texts = [file.fragment_text(lines) for lines in file.fragments]
        vectors = self._embedder.embed(texts) if texts else self._embedder.embed(["x"])[:0]
        return replace(file, vectors=vectors)


def project_folder(name: str, root: Path) -> str | None:
    """The folder of a project whose name may be spelt a little differently."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    for folder in sorted(root.iterdir()):
        if plain in re.sub(r"[^a-z0-9]", "", folder.name.lower()):
            return folder.name
    return None


def codeif_tasks(data: Path, root: Path) -> Iterator[Task | None]:
    """The tasks of CodeIF-Bench L-2; None where the source does not match."""
    for line in data.read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        row = json.loads(line)
        relative = "/".join(row["completion_path"].split("/")[2:])
        path = relative.removeprefix("src/")
        project = project_folder(row["project_path"].split("/")[1], root)
        file = root / (project or "") / path
        text = file.read_text(errors="replace") if project and file.is_file() else ""
        code = row["code"].strip("\n")
        if not project or code not in text:
            yield None
            continue
        gold = [name for names in row["dependency"].values() for name in names]
        signature = code.splitlines()[0]
        hole = text.replace(code, f"{signature}\n{' ' * (int(row['indent']) + 4)}...")
        place = text[: text.index(code)].count("\n") + 1
        yield Task(project, path, hole, place, row["prompt"], gold_recall(gold), gold_mapped(gold))


def gold_recall(gold: Sequence[str]) -> Callable[[Sequence[CodeHit]], float]:
    """The share of gold dependencies that fragments define."""

    def share(hits: Sequence[CodeHit]) -> float:
        return mean(any(defines(hit, name) for hit in hits) for name in gold)

    return share


def defines(hit: CodeHit, name: str) -> bool:
    """Whether a fragment holds the definition of a dotted name, or assigns to an attribute."""
    *owner, last = name.split(".")
    module = hit.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if not name.startswith(module):
        return False
    defined = re.search(rf"^\s*(?:async )?(?:def|class) {re.escape(last)}\b", hit.text, re.M)
    in_class = not owner or owner[-1] in (*hit.definition.split("."), module.split(".")[-1])
    in_class = in_class or f"class {owner[-1]}" in hit.text
    assigned = re.search(rf"(?:^|[\s.]){re.escape(last)}\s*(?::[^=\n]+)?=[^=]", hit.text, re.M)
    return bool(in_class and (defined or assigned))


def gold_mapped(gold: Sequence[str]) -> Callable[[str], float]:
    """The share of gold dependencies that a map names (attributes are never on it)."""
    names = [name.split(".")[-1] for name in gold]
    return lambda text: mean(
        bool(re.search(rf"(?:def|class) {re.escape(name)}\b", text)) for name in names
    )


def repoeval_tasks(data: Path, root: Path) -> Iterator[Task | None]:
    """The tasks of RepoEval; None where the source does not match."""
    for line in data.read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        meta: dict[str, Any] = json.loads(line)["metadata"]
        project = project_folder(meta["fpath_tuple"][0].split("_", 1)[1], root)
        path = "/".join(meta["fpath_tuple"][1:])
        file = root / (project or "") / path
        text = file.read_text(errors="replace") if project and file.is_file() else ""
        body = meta["ground_truth"].rstrip()
        if not project or text.count(body) != 1:
            yield None
            continue
        prefix, suffix = text.split(body)
        identifiers = set(re.findall(r"[^\W\d]\w*", body)) - set(keyword.kwlist) - {"self"}
        hole = f"{prefix}    ...{suffix}"
        yield Task(
            project,
            path,
            hole,
            prefix.count("\n") + 1,
            query_of(prefix),
            overlap(identifiers),
            mapped_words(identifiers),
        )


def overlap(identifiers: set[str]) -> Callable[[Sequence[CodeHit]], float]:
    """The share of identifiers that occur in fragments."""
    return lambda hits: mapped_words(identifiers)("\n".join(hit.text for hit in hits))


def mapped_words(identifiers: set[str]) -> Callable[[str], float]:
    """The share of identifiers that occur in a text."""

    def share(text: str) -> float:
        return len(identifiers & set(re.findall(r"[^\W\d]\w*", text))) / max(len(identifiers), 1)

    return share


def measure(tasks: Sequence[Task], root: Path, unit: Unit, dense: bool) -> dict[str, Any]:
    """Mean shares for every retriever, with and without the code relation."""
    embedder = MiniLM() if dense else None
    sources = Sources(root, unit, embedder)
    modes: tuple[Mode, ...] = ("lexical", "dense", "hybrid") if dense else ("lexical",)
    found: defaultdict[str, list[float]] = defaultdict(list)
    for task in tasks:
        index = sources.index(task)
        vector = embedder.embed([task.query], query=True)[0] if embedder else None
        for mode in modes:
            ways: dict[str, tuple[float, Place | None]] = {
                "": (0.0, None),
                " + relation": (ALPHA, None),
                " + relation, near": (ALPHA, Place(task.path, task.line)),
            }
            for label, (alpha, place) in ways.items():
                hits = index.search(
                    task.query, k=max(CUTS), mode=mode, vector=vector, alpha=alpha, near=place
                )
                for k in CUTS:
                    found[f"{mode}{label} @{k}"].append(task.found(hits[:k]))
                tokens = estimate_tokens("\n".join(hit.text for hit in hits))
                found[f"{mode}{label} tokens"].append(tokens)
        for budget in MAP_BUDGETS:
            found[f"map {budget}"].append(task.mapped(repository_map(index, budget)))
        focused = repository_map(index, MAP_BUDGETS[0], {task.path: 1.0})
        found[f"map {MAP_BUDGETS[0]} focused"].append(task.mapped(focused))
        sources.restore(task)
    return {name: round(mean(values), 4) for name, values in found.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", choices=("codeif", "repoeval"))
    parser.add_argument("data", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--dense", action="store_true", help="also embed all fragments")
    parser.add_argument("--unit", choices=("blocks", "windows"), action="append")
    options = parser.parse_args()
    read = codeif_tasks if options.benchmark == "codeif" else repoeval_tasks
    read_tasks = list(read(options.data, options.sources))
    tasks = [task for task in read_tasks if task is not None]
    units: list[Unit] = options.unit or ["blocks", "windows"]
    report = {unit: measure(tasks, options.sources, unit, options.dense) for unit in units}
    print(json.dumps({"tasks": len(tasks), "left_out": len(read_tasks) - len(tasks), **report}))


if __name__ == "__main__":
    main()
