"""``treering tree``: look at the tree of summaries."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from treering.cli import stdin
from treering.cli.global_options import Globals, run_of_group
from treering.cli.options import command, options_of, spelled_out
from treering.cli.output import Part, counted, note, to_json
from treering.cli.run import Run
from treering.cli.upkeep import new_file, refuse_target
from treering.views.tree.node import TreeNode
from treering.views.tree.shape import ROOT
from treering.views.tree.view import TreeStats, TreeView

app = typer.Typer(add_completion=False, help="Look at the tree of summaries.")

Branch = Annotated[
    int, typer.Option("--root", metavar="NODE", help="Only the branch of this node.")
]


@app.callback(invoke_without_command=True)
@spelled_out
def tree(
    ctx: typer.Context,
    options: Globals,
    root: Branch = ROOT,
    form: Annotated[
        Literal["outline", "html", "json"],
        typer.Option(help="How it is drawn; html is one page in which branches open and close."),
    ] = "outline",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: print it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    stats: Annotated[
        bool,
        typer.Option("--stats", help="Show figures instead: nodes and tokens by depth, cost."),
    ] = False,
) -> None:
    """Draw the tree: "[leaves] summary #node" and "- text #node".

    With --json each root is an object, with what is below it.
    """
    run = run_of_group(ctx, options)
    if run is None:
        return
    with run.memory(may_be_empty=True) as memory:
        if out is not None:
            refuse_target(out, force)
        if stats:
            _stats(run, memory.tree.stats())
            return
        drawn = memory.tree.draw("json" if run.out.as_json and out is None else form, root=root)
    if out is not None:
        with new_file(out, force) as stream:
            stream.write(drawn)
        note(f"written to {out}")
    elif run.out.as_json:
        run.out.lines(map(to_json, json.loads(drawn)))
    else:
        run.out.lines(iter(drawn.splitlines()))
    if not drawn:
        note("the tree is empty")


@command(app)
def search(
    run: Run,
    query: Annotated[str, typer.Argument(help="What to look for, or - for standard input.")],
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many nodes.")] = 10,
    method: Annotated[
        Literal["related", "collapsed", "traversal"],
        typer.Option(help="By words, meaning and relations, or one of the paper's two ways."),
    ] = "related",
    least: Annotated[
        float | None,
        typer.Option(min=-1, max=1, help="The least cosine of a node that the paper's ways find."),
    ] = None,
) -> None:
    """Find summaries and original texts that answer a query."""
    with run.memory(may_be_empty=True) as memory:
        nodes = memory.tree.search(stdin.argument(query), k=k, method=method, least=least)
    for node in nodes:
        run.out.emit(node, *_node(node))
    if not nodes:
        note("nothing found")


def _stats(run: Run, figures: TreeStats) -> None:
    shape = figures.shape
    rows = [f"{'depth':>5}  {'texts':>7}  {'summaries':>9}  {'tokens':>6}"]
    rows += [
        f"{level.depth:>5}  {level.leaves:>7}  {level.summaries:>9}  {level.tokens:>6.0f}"
        for level in shape.levels
    ]
    rows.append(f"{shape.nodes} nodes, {shape.topics} topics, {_pending(figures.pending)}")
    rows.append(
        f"{shape.branching:.2f} children a summary, {figures.calls_per_leaf:.2f} calls a text"
    )
    run.out.emit(figures, "\n".join(rows))


if TYPE_CHECKING:
    Growth = Any
else:
    Growth = options_of(
        TreeView.replant,
        *("base", "rate", "max_depth", "form", "route", "receiver"),
        *("summary_tokens", "deeper_tokens", "chat_unit", "settle", "claims"),
    )


@command(app)
def replant(run: Run, growth: Growth) -> None:
    """Grow the tree anew by other settings, which the space keeps."""
    with run.memory() as memory:
        settings = memory.tree.replant(**asdict(growth))
        pending = memory.tree.stats().pending
    which = "it" if pending == 1 else "them"
    run.out.emit(settings, f"{_pending(pending)}; `treering settle` makes {which}")


def _pending(count: int) -> str:
    return f"{counted(count, 'summary', 'summaries')} pending"


def _node(node: TreeNode) -> tuple[Part, ...]:
    origin = f"{node.source}" if node.leaf else f"summary of {node.leaves} texts"
    score = f"{node.score:.2f}  " if node.score is not None else ""
    return (f"{score}#{node.number}  ", (origin, "bold"), f"\n{node.text}\n")
