"""``treering-bench perf``: the time of each operation, against the least the machine needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from treering.cli.failures import FOUND
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering_bench.options import AsJson, log
from treering_bench.perf import report as speed
from treering_bench.perf.report import TOLERANCE
from treering_bench.perf.run import LEAST_N, OPERATIONS, Done, again, done_as
from treering_bench.perf.run import run as time_operations
from treering_bench.perf.timing import BOUNDS, Bounds, Timing
from treering_bench.results import this_run

app = typer.Typer(add_completion=False)

AGAIN = 2  # times that what seems slower is timed again


Operations = Annotated[
    list[str] | None, typer.Option(help="Time this only; may be repeated. Default: all.")
]
TimingsFile = Annotated[Path | None, typer.Option(help="Save the timings; continued if there.")]
Kept = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Keep what is filled here, for a run that is cut short and goes on.",
    ),
]
Against = Annotated[
    Path | None, typer.Option(help="Fail if a ratio is worse than in these timings, or a folder's.")
]


@app.command()
def perf(
    max_n: Annotated[int, typer.Option(min=LEAST_N, help="The largest size.")] = 100_000,
    operation: Operations = None,
    patience: Annotated[
        float, typer.Option(min=0.0, help="Seconds for an operation that is timed up to 100 times.")
    ] = BOUNDS.patience,
    out: TimingsFile = None,
    keep: Kept = None,
    against: Against = None,
    tolerance: Annotated[
        float, typer.Option(min=1.0, help="The growth of a ratio that counts as slower.")
    ] = TOLERANCE,
    as_json: AsJson = False,
) -> None:
    """Time what treering does over growing sizes, against the physical limit."""
    earlier = speed.usual(against) if against else None
    model = open_embedder(EMBEDDER)
    header = this_run(speed.BENCHMARK, "", 0, {"max_n": max_n, "embedder": model.name})
    timings = speed.goes_on(out, header) if out else speed.Timings(header, ())
    chosen = operation or OPERATIONS
    bounds = Bounds(patience=patience)
    timing = time_operations(chosen, max_n, model, timings.done, keep, bounds)
    for timed in _logged(timing):
        timings = replace(timings, timed=(*timings.timed, *timed))
        if out:
            speed.write(out, timings)  # each time, so that a run that is cut short goes on
    if earlier:

        def repeat(due: Collection[Done]) -> Iterator[list[Timing]]:
            return again(due, max_n, model, keep, bounds)

        timings = _again(timings, earlier, tolerance, repeat)
        if out:
            speed.write(out, timings)
    slower = speed.slower(timings, earlier, tolerance) if earlier else []
    _show(timings, slower, as_json)
    if slower:
        raise typer.Exit(FOUND)


def _show(timings: speed.Timings, slower: list[speed.Slowdown], as_json: bool) -> None:
    if not as_json:
        typer.echo(f"{speed.table(timings)}\n\n{speed.limits(timings.operations)}\n")
        for slowdown in slower:
            typer.echo(f"slower: {slowdown}")
    typer.echo(json.dumps(speed.summary(timings, slower)))


def _again(
    timings: speed.Timings,
    earlier: speed.Timings,
    tolerance: float,
    repeat: Callable[[Collection[Done]], Iterator[list[Timing]]],
) -> speed.Timings:
    """The timings, with those that seem slower taken again: other work of the machine passes."""
    for _ in range(AGAIN):
        slower = speed.slower(timings, earlier, tolerance)
        due = {done_as(slowdown.operation, slowdown.n) for slowdown in slower}
        retimed = tuple(timing for batch in _logged(repeat(due)) for timing in batch)
        timings = speed.better(timings, replace(timings, timed=retimed))
    return timings


def _logged(batches: Iterator[list[Timing]]) -> Iterator[list[Timing]]:
    for batch in batches:
        for timing in batch:
            name = f"{timing.operation} {timing.n:,} {timing.system}"
            log.print(f"{name}: {timing.ratio:.2f} × limit")
        yield batch
