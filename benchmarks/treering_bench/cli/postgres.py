"""``treering-bench postgres``: several servers on one database, and PostgreSQL against a file."""

from __future__ import annotations

from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering_bench.cli.options import EmbedderName, FigureOptions
from treering_bench.engines import compare_engines
from treering_bench.perf.run import LEAST_N
from treering_bench.several_servers import compare_servers

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="PostgreSQL: several servers; a file."
)

DatabaseUrl = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="URL",
        help="A PostgreSQL in which a schema may be made; it is removed afterwards.",
    ),
]


@command(app)
def servers(
    database: DatabaseUrl,
    figures: FigureOptions,
    fragments: Annotated[int, typer.Option(min=1, help="There before, in all spaces.")] = 20_000,
    spaces: Annotated[int, typer.Option(min=1, help="In which the clients work.")] = 4,
    clients: Annotated[int, typer.Option(min=1, help="At once.")] = 200,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long they go on.")] = 60.0,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Two servers on one database against one: searches and adds a second, errors, what is lost."""
    settings = {"fragments": fragments, "embedder": embedder}
    told = compare_servers(
        database,
        open_embedder(embedder),
        embedder,
        fragments=fragments,
        spaces=spaces,
        clients=clients,
        seconds=seconds,
    )
    figures.show("postgres servers", told, settings=settings)


@command(app)
def engines(
    database: DatabaseUrl,
    figures: FigureOptions,
    max_n: Annotated[int, typer.Option(min=LEAST_N, help="The largest size.")] = 100_000,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """The same memory in a file and in PostgreSQL: store, add, search, forget and open, in ratios.

    Vectors are random, so that no model's time hides the rest.
    """
    told = compare_engines(database, open_embedder(embedder), max_n)
    figures.show("postgres engines", told, settings={"embedder": embedder})
