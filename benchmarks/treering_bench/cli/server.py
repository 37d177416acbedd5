"""``treering-bench server``: the server under load."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from treering.cli.options import command, option_group
from treering.embed.contract import Embedder
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering_bench.cli.options import EmbedderName, FigureOptions
from treering_bench.server_load import build, compare_searches, load_server

app = typer.Typer(add_completion=False, no_args_is_help=True, help="The server under load.")


@option_group
@dataclass(frozen=True, slots=True)
class ServedMemory:
    """The memory that is served: a copy of one's own, or one that is made up."""

    memory: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Serve a copy of this file. Default: made-up turns."),
    ] = None
    fragments: Annotated[int, typer.Option(min=1, help="Made-up turns, if no file is named.")] = (
        100_000
    )
    embedder: EmbedderName = EMBEDDER

    def measure(self, work: Callable[[Path, Embedder], dict[str, Any]]) -> dict[str, Any]:
        """What ``work`` makes of the file and its model; the file is gone afterwards."""
        model = open_embedder(self.embedder)
        with TemporaryDirectory(prefix="treering-bench-") as folder:
            path = Path(folder) / "benchmark.db"
            if self.memory is None:
                build(path, self.fragments, model)
            elif self.memory.exists():
                shutil.copy(self.memory, path)
            else:
                raise InputError(f"there is no file {self.memory}; leave --memory out to make one")
            return work(path, model)

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the figures."""
        return {name: value and str(value) for name, value in asdict(self).items()}


@command(app)
def search(
    served: ServedMemory,
    figures: FigureOptions,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds, in which both take turns.")] = 3,
    seconds: Annotated[float, typer.Option(min=0.1, help="Of a round.")] = 8.0,
) -> None:
    """Searches a second over REST against those in the process, in alternating rounds."""

    def work(path: Path, model: Embedder) -> dict[str, Any]:
        return compare_searches(path, model, served.embedder, rounds, seconds)

    figures.show("server search", served.measure(work), settings=served.settings)


@command(app)
def mixed(
    served: ServedMemory,
    figures: FigureOptions,
    clients: Annotated[int, typer.Option(min=1, help="At once.")] = 200,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long they go on.")] = 60.0,
) -> None:
    """Many clients that add and search at once; what was acknowledged is looked for afterwards."""

    def work(path: Path, model: Embedder) -> dict[str, Any]:
        return load_server(path, model, served.embedder, clients, seconds)

    figures.show("server mixed", served.measure(work), settings=served.settings)
