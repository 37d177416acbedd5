"""``treering tree``: look at the tree of summaries."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from treering.cli.options import Text, command, group, opt, options_of
from treering.cli.output import Part, counted, note, to_json
from treering.cli.run import Run
from treering.cli.transfer import new_file, refuse_target
from treering.views.tree.node import TreeNode
from treering.views.tree.shape import ROOT
from treering.views.tree.view import TreeStats, TreeView

app = typer.Typer(add_completion=False, help="Look at the tree of summaries.")


@group(
    app,
    root=opt("Only the branch of this node.", metavar="NODE"),
    form="How it is drawn; html is one page in which branches open and close.",
    out=opt("Default: print it.", "--out", "-o", metavar="FILE"),
    stats="Show figures instead: nodes and tokens by depth, cost.",
)
def tree(
    run: Run,
    root: int = ROOT,
    form: Literal["outline", "html", "json"] = "outline",
    out: Path | None = None,
    force: bool = False,
    stats: bool = False,
) -> None:
    """Draw the tree: "[leaves] summary #node" and "- text #node".

    With --json each root is an object, with the nodes below it.
    """
    with run.memory(may_be_empty=True) as memory:
        if out is not None:
            refuse_target(out, force)
        if stats:
            figures = memory.tree.stats()
            run.out.emit(figures, _figures(figures))
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


@command(
    app,
    k=opt("How many nodes.", "--k", "-k", min=1),
    method="By words, meaning and relations, or one of the paper's two ways.",
    least=opt("The least cosine of a node that the paper's ways find.", min=-1, max=1),
)
def search(
    run: Run,
    query: Text,
    k: int = 10,
    method: Literal["related", "collapsed", "traversal"] = "related",
    least: float | None = None,
) -> None:
    """Find summaries and original texts that answer a query."""
    with run.memory(may_be_empty=True) as memory:
        run.out.emit_all(memory.tree.search(query, k=k, method=method, least=least), _node)


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
    """Grow the whole tree again by other settings, which the space keeps."""
    with run.memory() as memory:
        settings = memory.tree.replant(**asdict(growth))
        pending = memory.tree.stats().pending
    which = "it" if pending == 1 else "them"
    run.out.emit(settings, f"{_pending(pending)}; `treering settle` makes {which}")


def _figures(figures: TreeStats) -> str:
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
    return "\n".join(rows)


def _pending(count: int) -> str:
    return f"{counted(count, 'summary', 'summaries')} pending"


def _node(node: TreeNode) -> tuple[Part, ...]:
    origin = f"{node.source}" if node.leaf else f"summary of {node.leaves} texts"
    score = f"{node.score:.2f}  " if node.score is not None else ""
    return (f"{score}#{node.number}  ", (origin, "bold"), f"\n{node.text}\n")
