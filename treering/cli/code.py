"""``treering code``: index a repository, search it, and print its map."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from treering.cli import stdin
from treering.cli.options import command
from treering.cli.output import Part, counted, note
from treering.cli.run import Run
from treering.code.index import ALPHA, CodeHit
from treering.score.own import Mode

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

Root = Annotated[
    Path | None,
    typer.Option("--root", metavar="FOLDER", help="Which repository, where several are indexed."),
]


@app.callback()
def code() -> None:
    """The code of repositories: index, search, map."""


@command(app)
def index(
    run: Run,
    root: Annotated[Path, typer.Argument(help="The root of a working tree.")] = Path(),
    embed: Annotated[
        bool | None,
        typer.Option("--embed/--no-embed", help="Embed fragments too. Default: as it was, or no."),
    ] = None,
) -> None:
    """Take in a repository; only files whose content has changed are read anew."""
    with run.memory(create=True) as memory, run.out.progress(f"indexing {root}") as progress:
        receipt = memory.code.index(root, embed=embed, progress=progress)
    counts = {
        "added": len(receipt.added),
        "changed": len(receipt.changed),
        "removed": len(receipt.removed),
        "unchanged": receipt.unchanged,
    }
    run.out.emit(receipt, ", ".join(f"{count:,} {what}" for what, count in counts.items()))
    for skipped in receipt.skipped:
        note(f"skipped {skipped.path}: {skipped.reason}")


@command(app)
def search(
    run: Run,
    query: Annotated[str, typer.Argument(help="What the code is for, or - for standard input.")],
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many fragments.")] = 10,
    near: Annotated[
        str | None, typer.Option(metavar="PATH[:LINE]", help="Where the code will go.")
    ] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="Own score. Default: hybrid if embedded, else lexical.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Weight of the code relation; 0 for none.")] = ALPHA,
    root: Root = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the terms that each score is the sum of.")
    ] = False,
) -> None:
    """Find the code that matters to an instruction, best first."""
    with run.memory() as memory:
        hits = memory.code.search(
            stdin.argument(query), k=k, near=near, mode=mode, alpha=alpha, root=root
        )
    for hit in hits:
        run.out.emit(hit, *_hit(hit, explain))
    if not hits:
        note("nothing found")


@command(app, name="map")
def map_(
    run: Run,
    budget: Annotated[
        int, typer.Option(min=1, metavar="TOKENS", help="Tokens the map may have.")
    ] = 1000,
    focus: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="A file the map shall be about; may be repeated."),
    ] = None,
    root: Root = None,
) -> None:
    """Print the most central definitions of a repository within a token budget."""
    with run.memory() as memory:
        text = memory.code.map(
            budget=budget, root=root, focus=dict.fromkeys(focus, 1.0) if focus else None
        )
    run.out.emit({"map": text}, text)
    if not text:
        note(f"no definition fits into {counted(budget, 'token', 'tokens')}")


def _hit(hit: CodeHit, explain: bool) -> Iterator[Part]:
    yield f"{hit.path}:{hit.first_line}-{hit.last_line}", "bold"
    yield f" {hit.definition}\n"
    if explain:
        yield f"  {hit.score:.2f} = {hit.why}\n", "dim"
    yield f"{hit.text}\n"
