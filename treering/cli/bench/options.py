"""What the commands of ``treering bench`` share: options, progress, and how figures are printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

REPLIES = Path("results") / "replies.jsonl"
"""Where the replies of models are kept, if no file is named."""

log = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object only.")]
Budget = Annotated[int, typer.Option(min=1, help="Tokens of the whole prompt.")]
DataPath = Annotated[Path, typer.Option("--data", help="The benchmark's file or folder.")]
Minutes = Annotated[
    float | None, typer.Option(min=0.0, help="Ask the model nothing more after so long.")
]
Model = Annotated[
    str, typer.Option("--llm", metavar="SPEC", help="The model: http://HOST/v1#MODEL or FILE.gguf.")
]
Out = Annotated[Path | None, typer.Option(help="Also save the figures here, as one JSON object.")]
PlotForm = Annotated[str, typer.Option("--format", help="svg or png.")]
PlotFolder = Annotated[Path | None, typer.Option(help="Also save plots into this folder.")]
Replies = Annotated[
    Path,
    typer.Option(help="Where replies are kept: what is in it is not asked again."),
]
Seed = Annotated[int, typer.Option(help="For everything that is drawn.")]


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


def show_figures(
    figures: Mapping[str, Any], as_json: bool, out: Path | None = None, table: str = ""
) -> None:
    """Print a table, if there is one, and the figures as JSON; save them too if ``out`` is named.

    The object is the last thing on standard output: on one line under ``--json`` and after a
    table, else spread over several for a reader.
    """
    if table and not as_json:
        typer.echo(f"{table}\n")
    typer.echo(json.dumps(figures, indent=None if as_json or table else 2, ensure_ascii=False))
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(figures) + "\n", encoding="utf-8")
