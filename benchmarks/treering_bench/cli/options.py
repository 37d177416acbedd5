"""What the commands of ``treering-bench`` share: options, progress, and how figures are printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from treering.cli.options import option_group
from treering.errors import InputError
from treering_bench.kept_replies import KeptReplies, kept_model
from treering_bench.read import sha256_of
from treering_bench.results import this_run, with_header

REPLIES = Path("results") / "replies.jsonl"
"""Where the replies of models are kept, if no file is named."""

log = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object only.")]
Budget = Annotated[int, typer.Option(min=1, help="Tokens of the whole prompt.")]
DataPath = Annotated[Path, typer.Option("--data", help="The benchmark's file or folder.")]
EmbedderName = Annotated[str, typer.Option(metavar="SPEC", help="The embedding model.")]
Seed = Annotated[int, typer.Option(help="For everything that is drawn.")]
LlmSpec = Annotated[
    str,
    typer.Option("--llm", metavar="SPEC", help="The model: http://HOST/v1#MODEL or FILE.gguf."),
]
RepliesPath = Annotated[
    Path, typer.Option(help="Where replies are kept: what is in it is not asked again.")
]
MinutesLimit = Annotated[
    float | None,
    typer.Option(min=0.0, help="Ask the model nothing more after these; run it again to go on."),
]


@option_group
@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The model that a measurement asks, and where its replies are kept."""

    llm: LlmSpec
    replies: RepliesPath = REPLIES
    minutes: MinutesLimit = None

    def open(
        self, environ: Mapping[str, str] | None = None, *, estimating: bool = True
    ) -> AbstractContextManager[KeptReplies]:
        """The model; its tokens are estimated, so that all models are shown the same."""
        return kept_model(self.llm, self.replies, self.minutes, environ, estimating=estimating)

    def continuing(self) -> AbstractContextManager[KeptReplies]:
        """The base model at the address, which continues texts."""
        from treering_bench.coding.continuing import ContinuingModel  # it needs an extra

        return kept_model(ContinuingModel(self.llm), self.replies, self.minutes, estimating=False)


@option_group
@dataclass(frozen=True, slots=True)
class FigureOptions:
    """How the figures of a measurement are told and saved."""

    out: Annotated[
        Path | None, typer.Option(help="Also save the figures here, as one JSON object.")
    ] = None
    as_json: AsJson = False

    def show(
        self,
        benchmark: str,
        figures: Mapping[str, Any],
        data: Path | None = None,
        settings: Mapping[str, Any] | None = None,
        table: str = "",
    ) -> None:
        """Print a table, if there is one, and then the figures as one JSON object.

        The object names commit, machine, settings and the checksum of the data. It is on one line
        under ``--json`` and after a table, else spread over several for a reader.
        """
        run = this_run(benchmark, sha256_of(data) if data else "", 0, settings or {})
        printed = with_header(run, figures)
        if table and not self.as_json:
            typer.echo(f"{table}\n")
        indent = None if self.as_json or table else 2
        typer.echo(json.dumps(printed, indent=indent, ensure_ascii=False))
        if self.out:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            self.out.write_text(json.dumps(printed, ensure_ascii=False) + "\n", encoding="utf-8")


def chosen_among(names: list[str], allowed: Mapping[str, Any] | tuple[str, ...]) -> tuple[str, ...]:
    """The names of an option that may be repeated. Raises InputError for others."""
    strange = [name for name in names if name not in allowed]
    if strange:
        raise InputError(f"no {strange[0]!r} to measure; there are {', '.join(allowed)}")
    return tuple(dict.fromkeys(names))


@contextmanager
def progress_bar(name: str) -> Iterator[Any]:
    """A bar on stderr, moved by calling what is given with done, total, and what is being done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=log, transient=True) as bar:
        line = bar.add_task(name, total=None)

        def show(done: int, total: int, doing: str) -> None:
            bar.update(line, completed=done, total=total, description=f"{name}: {doing}")

        yield show
