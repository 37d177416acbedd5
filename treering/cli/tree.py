"""``treering tree``: look at the tree of summaries."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from treering.memory import DEFAULT_SPACE, Memory
from treering.tree.shape import ROOT

app = typer.Typer(help="Look at the tree of summaries.", no_args_is_help=False)


class Form(StrEnum):
    """What a tree can be drawn as."""

    outline = "outline"
    dot = "dot"
    mermaid = "mermaid"
    html = "html"
    json = "json"


class Way(StrEnum):
    """How nodes are found."""

    related = "related"
    collapsed = "collapsed"
    traversal = "traversal"


@dataclass(frozen=True, slots=True)
class _Place:
    """Which space of which file a command is about."""

    file: Path
    space: str

    def open(self) -> Memory:
        return Memory.open(self.file, space=self.space)


@app.callback(invoke_without_command=True)
def tree(
    context: typer.Context,
    memory: Annotated[
        Path, typer.Option("--memory", "-m", envvar="TREERING_MEMORY", help="The memory's file.")
    ],
    space: Annotated[str, typer.Option(help="The space to look at.")] = DEFAULT_SPACE,
    root: Annotated[int, typer.Option(help="Show only the branch of this node.")] = ROOT,
) -> None:
    """Print the tree as an outline: [leaves] summary #number."""
    context.obj = _Place(memory, space)
    if context.invoked_subcommand is None:
        with context.obj.open() as opened:
            typer.echo(opened.tree.draw("outline", root=root))


@app.command()
def export(
    context: typer.Context,
    form: Annotated[Form, typer.Argument(help="Graphviz (dot), Mermaid, HTML, JSON or outline.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Default: print it.")] = None,
    root: Annotated[int, typer.Option(help="Export only the branch of this node.")] = ROOT,
) -> None:
    """Draw the tree as Graphviz, Mermaid, JSON, or a page to open and close branches in."""
    with context.obj.open() as opened:
        drawn = opened.tree.draw(form.value, root=root, title=context.obj.space)
    if out is None:
        typer.echo(drawn)
    else:
        out.write_text(drawn, encoding="utf-8")


@app.command()
def search(
    context: typer.Context,
    query: str,
    k: Annotated[int, typer.Option("-k", help="How many nodes.")] = 10,
    method: Annotated[Way, typer.Option(help="How nodes are scored.")] = Way.related,
) -> None:
    """Find summaries and original texts that answer a query."""
    table = Table("score", "node", "rests on", "text")
    with context.obj.open() as opened:
        for node in opened.tree.search(query, k=k, method=method.value):
            origin = node.source if node.leaf else f"{node.leaves} texts"
            table.add_row(
                f"{node.score:.2f}", f"#{node.number}", _plain(origin or ""), _plain(node.text)
            )
    Console().print(table)


@app.command()
def stats(
    context: typer.Context,
    quality: Annotated[
        bool, typer.Option("--quality", help="Also judge the hierarchy; takes a while.")
    ] = False,
) -> None:
    """Figures: nodes and tokens by depth, branching, cost; with --quality revenue, OTD, β."""
    table = Table("depth", "leaves", "summaries", "tokens (median)")
    with context.obj.open() as opened:
        found = opened.tree.stats()
        for level in found.shape.levels:
            row = (level.depth, level.leaves, level.summaries, f"{level.tokens:.0f}")
            table.add_row(*map(str, row))
        judged = opened.tree.quality() if quality else None
    Console().print(table)
    typer.echo(f"nodes {found.shape.nodes}, topics {found.shape.topics}, pending {found.pending}")
    typer.echo(f"children of a summary {found.shape.branching:.2f} on average")
    typer.echo(
        f"calls a text {found.calls_per_leaf:.2f}, tokens a text {found.tokens_per_leaf:.0f}"
    )
    if judged:
        typer.echo(f"revenue {judged.revenue:.4g}, of OTD {judged.otd_revenue:.4g}")
        typer.echo(f"β {judged.separation.least:.3f}, 5 % quantile {judged.separation.low:.3f}")
        odd = judged.odd_one_out
        typer.echo(f"odd one out: easy {odd.easy:.1%}, hard {odd.hard:.1%}")


def _plain(text: str) -> str:
    """A text as rich shows it: no markup, nothing that acts on a terminal."""
    shown = "".join(char if char.isprintable() or char == "\n" else "�" for char in text)
    return shown.replace("[", "\\[")
