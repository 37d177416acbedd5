"""``treering code``: index a repository, search it, and print its map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from treering.code.index import ALPHA
from treering.memory import Memory

app = typer.Typer(name="code", no_args_is_help=True, help="Code memory: index, search, map.")

File = Annotated[
    Path, typer.Option("--memory", "-m", envvar="TREERING_MEMORY", help="The memory's file.")
]
Space = Annotated[str, typer.Option("--space", "-s", help="The space within the memory.")]
Root = Annotated[
    Path | None, typer.Option("--root", help="The repository; not needed where there is one.")
]
_DEFAULT_FILE = Path("memory.db")
_SHOWN_SKIPPED = 10


@app.command()
def index(
    root: Annotated[Path, typer.Argument(help="The root of a working tree.")] = Path(),
    memory: File = _DEFAULT_FILE,
    space: Space = "default",
    embed: Annotated[
        bool | None, typer.Option("--embed/--no-embed", help="Embed fragments for dense search.")
    ] = None,
) -> None:
    """Take in a repository; only files that have changed are read anew."""
    console = Console()
    with (
        Memory.open(memory, space=space) as opened,
        console.status(f"indexing {root}") as status,
    ):
        receipt = opened.code.index(
            root,
            embed=embed,
            progress=lambda done, all_: status.update(f"indexing {root}: {done}/{all_} files"),
        )
    counts = (len(receipt.added), len(receipt.changed), len(receipt.removed), receipt.unchanged)
    console.print("{} added, {} changed, {} removed, {} unchanged".format(*counts))
    for skipped in receipt.skipped[:_SHOWN_SKIPPED]:
        console.print(Text(f"skipped {skipped.path}: {skipped.reason}", style="dim"))
    if len(receipt.skipped) > _SHOWN_SKIPPED:
        console.print(f"and {len(receipt.skipped) - _SHOWN_SKIPPED} more were skipped")


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What the code is needed for.")],
    memory: File = _DEFAULT_FILE,
    space: Space = "default",
    root: Root = None,
    k: Annotated[int, typer.Option("-k", help="How many fragments.")] = 10,
    near: Annotated[
        str | None, typer.Option(help="Where the code will go: PATH or PATH:LINE.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Weight of the code relation; 0 for none.")] = ALPHA,
    why: Annotated[bool, typer.Option("--why", help="Show why each was picked.")] = False,
    short: Annotated[bool, typer.Option("--short", help="Places only, no text.")] = False,
) -> None:
    """Print the fragments of code that matter to an instruction, best first."""
    console = Console()
    with Memory.open(memory, space=space) as opened:
        hits = opened.code.search(query, k=k, root=root, near=near, alpha=alpha)
    for hit in hits:
        place = f"{hit.path}:{hit.first_line}-{hit.last_line}"
        console.print(Text(f"{place} {hit.definition}".rstrip(), style="bold"))
        if why:
            console.print(Text(f"  {hit.score:.2f} = {hit.why}", style="dim"))
        if not short:
            console.print(Text(hit.text), soft_wrap=True)
            console.print()


@app.command(name="map")
def map_(
    memory: File = _DEFAULT_FILE,
    space: Space = "default",
    root: Root = None,
    budget: Annotated[int, typer.Option(help="Tokens the map may have.")] = 1000,
    focus: Annotated[
        list[str] | None, typer.Option(help="A file the map shall be about; may be repeated.")
    ] = None,
) -> None:
    """Print the most central definitions of a repository within a token budget."""
    with Memory.open(memory, space=space) as opened:
        text = opened.code.map(
            budget=budget, root=root, focus=dict.fromkeys(focus, 1.0) if focus else None
        )
    Console().print(Text(text), soft_wrap=True)
