"""``treering-bench ingest``: how fast many texts are taken in."""

from __future__ import annotations

from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering_bench.bulk_ingest import IngestWay, measure
from treering_bench.cli.options import DataPath, EmbedderName, FigureOptions, log

app = typer.Typer(add_completion=False)


@command(app)
def ingest(
    data: DataPath,
    figures: FigureOptions,
    megabytes: Annotated[float, typer.Option(min=0.001, help="How much text.")] = 10.0,
    workers: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Workers of an ingest; may be repeated. Default: 1 and 2."),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Also with as many actors of Ray: auto, local, …."),
    ] = None,
    serial: Annotated[bool, typer.Option(help="Also by `treering add`.")] = True,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Texts a second and main memory of `treering add` and `treering ingest`, on the same texts.

    Where the data are too few they are repeated. With an embedder that costs nothing, what the rest
    takes is seen: of main memory, most is the model's else.
    """
    counts = workers or [1, 2]
    ways = [IngestWay()] if serial else []
    ways += [IngestWay(count) for count in counts]
    ways += [IngestWay(count, ray) for count in counts if ray is not None]
    rows = []
    for row in measure(data, megabytes, ways, embedder):
        rows.append(row)
        log.print(f"{row['way']}: {row['texts_per_second']:,.0f} texts/s")
    lines = ["| way | texts/s | MB/s | seconds | peak MB |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['way']} | {row['texts_per_second']:,.0f} | {row['mb_per_second']:.2f} "
        f"| {row['seconds']:,.1f} | {row['peak_mb']:,.0f} |"
        for row in rows
    ]
    settings = {"megabytes": megabytes, "workers": counts, "ray": ray, "embedder": embedder}
    figures.show("ingest", {"ways": rows}, data, settings, "\n".join(lines))
