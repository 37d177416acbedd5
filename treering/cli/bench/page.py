"""``treering bench page``: how fast the page is, and what it looks like."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from treering.bench.page_speed import add_odd_texts, photograph, time_page
from treering.bench.server_load import build
from treering.cli.bench.options import EmbedderName, FigureOptions
from treering.cli.failures import FOUND
from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder

app = typer.Typer(add_completion=False)


@command(app)
def page(
    figures: FigureOptions,
    entries: Annotated[int, typer.Option(min=20, help="Made-up turns of a chat.")] = 20_000,
    shots: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Also save what each view looks like, as PNG files."),
    ] = None,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Time the page's first steps in a Chromium, on a phone's width, by keyboard, in the dark.

    Exits with 1 if a step takes longer than the page promises. Needs playwright and a Chromium.
    """
    model = open_embedder(embedder)
    with TemporaryDirectory(prefix="treering-bench-") as folder:
        path = Path(folder) / "page.db"
        build(path, entries, model)
        measured: dict[str, Any] = time_page(path, embedder)
        if shots is not None:
            add_odd_texts(path, model)
            names = photograph(path, embedder, shots)
            empty = photograph(Path(folder) / "empty.db", embedder, shots / "empty")
            measured["shots"] = names + [f"empty/{name}" for name in empty]
    figures.show("page", measured, settings={"entries": entries, "embedder": embedder})
    if measured["late"]:
        raise typer.Exit(FOUND)
