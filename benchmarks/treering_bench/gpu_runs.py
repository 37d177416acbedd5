"""Measurements that need a GPU for an hour, as commands: benchmarks/README.md.

``python -m treering_bench.gpu_runs g1 g4 g2 --data DATA --sources SOURCES --model FILE.gguf
--out OUT`` runs them one after another; ``--small`` tries the same commands with as little work as
they take. A command that was stopped goes on where it was when the same is started again.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

MEMOS: Final = "{data}/memo_instructions"
TEST_ROWS: Final = f"{MEMOS}/test_half.jsonl"

FULL: Final = {
    "rows": 3_400, "epochs": 3, "batch": 32, "tested": 65, "tasks": 1_000, "prompt": 4_096,
    "questions": 300, "limit": 1_000_000, "dialogues": 20, "rounds": 9, "summary_tokens": 0,
    "budgets": (1_000, 2_000, 4_000, 8_000), "bases": (0.2, 0.4, 0.6), "rates": (0.25, 0.5, 1.0),
}  # fmt: skip
SMALL: Final = {
    "rows": 2, "epochs": 1, "batch": 2, "tested": 1, "tasks": 1, "prompt": 512,
    "questions": 1, "limit": 1, "dialogues": 1, "rounds": 1, "summary_tokens": 40,
    "budgets": (300,), "bases": (0.4,), "rates": (0.5,),
}  # fmt: skip
"""As little work as shows that the commands work."""

Scale = Mapping[str, Any]


def tuning(scale: Scale) -> Iterator[str]:
    """G1: an adapter of some 7,000 rows, and its effect. Rows that are tested are left out."""
    yield (
        f"tune-rows {MEMOS}/dialogsum.dev.jsonl {MEMOS}/topiocqa_raw.jsonl {MEMOS}/train_1k.json "
        f"--apart {TEST_ROWS} --count {scale['rows']} --out {{out}}/rows.jsonl"
    )
    yield (
        f"tune memos {{out}}/rows.jsonl --llm {{model}} --epochs {scale['epochs']} "
        f"--batch {scale['batch']} --rate 2e-4 --rank 32 --out {{out}}/memos.gguf"
    )
    yield (
        f"tuned --data {TEST_ROWS} --llm {{model}} --adapter {{out}}/memos.gguf "
        f"--limit {scale['tested']} --replies {{out}}/g1.replies.jsonl --out {{out}}/g1.json"
    )


def trees(scale: Scale) -> Iterator[str]:
    """G2: QuALITY with summaries that a model writes, by θ0 and λ, and answers from them."""
    for base, rate in product(scale["bases"], scale["rates"]):
        yield (
            f"run quality --data {{data}}/quality --limit {scale['limit']} --summaries {{llm}} "
            f"--preset memtree-story --set summary_tokens={scale['summary_tokens']} "
            f"--set base={base} --set rate={rate} --policy tree-collapsed "
            f"--policy tree-traversal --policy dense --out {{out}}/g2-{base}-{rate}.jsonl"
        )
    yield (
        "run quality-open --data {data}/quality --preset memtree-story --summaries {llm} "
        "--llm {llm} --judge {llm} --policy tree-collapsed --policy tree-mixed --policy dense "
        f"--policy whole --budget {scale['budgets'][0]} --sample {scale['questions']} "
        "--out {out}/g2-answers.jsonl"
    )


def stories(scale: Scale) -> Iterator[str]:
    """G3: answers about whole stories, by preset and budget, beside the story cut in its middle."""
    presets = ("fragrel-a-story", "fragrel-b-story", "default")
    names = ("narrativeqa", "quality-open")
    for name, preset, budget in product(names, presets, scale["budgets"]):
        yield (
            f"run {name} --data {{data}}/{name.removesuffix('-open')} --preset {preset} "
            f"--policy treering --policy middle-cut --llm {{llm}} --budget {budget} "
            f"--sample {scale['questions']} --out {{out}}/g3-{name}-{preset}-{budget}.jsonl"
        )


def lines(scale: Scale) -> Iterator[str]:
    """G4: lines and calls cut out of repositories, written again by a model."""
    for level in ("line", "api"):
        yield (
            f"code completion --sources {{sources}} --level {level} --way file --way bm25 "
            f"--way relation --way relation+second --tasks {scale['tasks']} "
            f"--budget {scale['prompt']} --llm {{llm}} --replies {{out}}/g4.replies.jsonl "
            f"--out {{out}}/g4-{level}.json"
        )


def rounds(scale: Scale) -> Iterator[str]:
    """G5: dialogues about code, with the whole conversation or with code memory and parts of it."""
    parts = ("full", "memory", "codemem", "codemem-ctxmem", "codemem-ctxast", "codemem-sessast")
    ways = " ".join(f"--way {way}" for way in parts)
    yield (
        f"code sessions --data {{data}}/codeif_bench --sources {{sources}} {ways} "
        f"--dialogues {scale['dialogues']} --rounds {scale['rounds']} --llm {{llm}} "
        "--replies {out}/g5.replies.jsonl --out {out}/g5.json"
    )


RUNS: Final = {"g1": tuning, "g2": trees, "g3": stories, "g4": lines, "g5": rounds}


def commands(run: str, places: Mapping[str, str], *, small: bool) -> Iterator[list[str]]:
    """The arguments of each command of a run; ``places`` is what stands for names in braces."""
    for line in RUNS[run](SMALL if small else FULL):
        yield [word.format(**places) for word in shlex.split(line)]


def program(command: Sequence[str]) -> str:
    """The module that runs a command: tuning is treering's own."""
    return "treering" if command[0] == "tune" else "treering_bench"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the commands; the exit code of the first that fails, else 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", choices=tuple(RUNS))
    parser.add_argument("--data", required=True, help="a folder with a folder a benchmark")
    parser.add_argument("--sources", default="", help="a folder with a folder a Python project")
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--llm", help="the model on a GPU: http://HOST/v1#MODEL; default: --model")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--print", action="store_true", help="only say which commands these are")
    given = parser.parse_args(arguments)
    places = {"data": given.data, "sources": given.sources, "model": given.model}
    places |= {"llm": given.llm or given.model, "out": str(given.out)}
    given.out.mkdir(parents=True, exist_ok=True)
    for run in given.runs:
        for command in commands(run, places, small=given.small):
            sys.stderr.write(f"{run}: {program(command)} {shlex.join(command)}\n")
            if not given.print and (code := _run(run, command, given.out)):
                return code
    return 0


def _run(run: str, command: Sequence[str], out: Path) -> int:
    """Run a command and note how long it took."""
    begun = time.monotonic()
    code = subprocess.run(
        [sys.executable, "-m", program(command), *command], check=False
    ).returncode
    took = {"run": run, "command": command, "exit": code, "seconds": time.monotonic() - begun}
    with (out / "seconds.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(took)}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
