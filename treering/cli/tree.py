"""``treering tree``: look at the tree of summaries."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from treering.cli.options import command, group, opt, settings_group
from treering.cli.output import note, plural, printable, to_json
from treering.cli.run import Run
from treering.cli.subapps import Group
from treering.views.tree.node import TreeStats
from treering.views.tree.settings import TreeChoices
from treering.views.tree.shape import ROOT
from treering.views.tree.store import UNPLACED

app = typer.Typer(cls=Group, add_completion=False, help="Look at the tree of summaries.")


@group(
    app,
    root=opt("Only the branch of this node.", metavar="NODE"),
    stats="Show figures instead: nodes and tokens by depth, cost.",
)
def tree(run: Run, root: int = ROOT, stats: bool = False) -> None:
    """Draw the tree of summaries and texts.

    With --json each root is an object, with the nodes below it.
    """
    with run.memory(may_be_empty=True) as memory:
        if stats:
            figures = memory.tree.stats()
            run.out.emit(figures, _figures(figures))
            return
        drawn = memory.tree.draw("json" if run.out.as_json else "outline", root=root)
        waiting = 0 if drawn else memory.stats().pending.get(UNPLACED, 0)
    if run.out.as_json:
        run.out.lines(map(to_json, json.loads(drawn)))
    else:
        run.out.lines(map(printable, drawn.splitlines()))
        if drawn:
            note("[3] is a summary of 3 texts, other lines are texts, #7 is a node for --root")
    if drawn in ("", "[]"):
        texts = f": `treering settle` places {plural(waiting, 'text', 'texts')}" if waiting else ""
        note(f"the tree is empty{texts}")


if TYPE_CHECKING:
    Growth = Any
else:
    Growth = settings_group(TreeChoices)


@command(app)
def replant(run: Run, growth: Growth) -> None:
    """Grow the whole tree again by other settings, which the space keeps."""
    with run.memory() as memory:
        settings = memory.tree.replant(**asdict(growth))
        pending = memory.tree.stats().pending
    which = "it" if pending == 1 else "them"
    run.out.emit(settings, f"{_pending_text(pending)}; `treering settle` makes {which}")


def _figures(figures: TreeStats) -> str:
    rows = [f"{'depth':>5}  {'texts':>7}  {'summaries':>9}  {'tokens':>6}"]
    rows += [
        f"{level.depth:>5}  {level.leaves:>7}  {level.summaries:>9}  {level.tokens:>6.0f}"
        for level in figures.levels
    ]
    rows.append(f"{figures.nodes} nodes, {figures.topics} topics, {_pending_text(figures.pending)}")
    rows.append(
        f"{figures.branching:.2f} children a summary, {figures.calls_per_leaf:.2f} calls a text"
    )
    return "\n".join(rows)


def _pending_text(count: int) -> str:
    return f"{plural(count, 'summary', 'summaries')} pending"
