"""``treering tree``: look at the tree of summaries."""

from __future__ import annotations

from treering.cli.options import group, opt
from treering.cli.output import note, plural, printable, to_json
from treering.cli.run import Run
from treering.cli.subapps import sub_app
from treering.views.tree.node import outline
from treering.views.tree.shape import ROOT
from treering.views.tree.store import UNPLACED

app = sub_app(help="Look at the tree of summaries.")


@group(
    app,
    root=opt("Only the branch of this node.", metavar="NODE"),
    stats="Show figures instead: nodes, depth and pending summaries.",
)
def tree(run: Run, root: int = ROOT, stats: bool = False) -> None:
    """Draw the tree of summaries and texts. With --json each node comes before its children."""
    with run.memory(may_be_empty=True) as memory:
        if stats:
            figures = memory.tree.stats()
            shape = f"{figures.nodes} nodes, {figures.topics} topics, {figures.max_depth} levels"
            run.out.emit(
                figures, f"{shape}, {plural(figures.pending, 'summary', 'summaries')} pending"
            )
            return
        nodes = memory.tree.nodes(root)
        waiting = 0 if nodes else memory.stats().pending.get(UNPLACED, 0)
    if run.out.as_json:
        run.out.lines(map(to_json, nodes))
    elif nodes:
        run.out.lines(map(printable, outline(nodes).splitlines()))
        if any(not node.leaf for node in nodes):
            note("[N]: summary of N texts; #N: number of the node, for `treering tree --root N`")
    if not nodes:
        texts = f": `treering settle` places {plural(waiting, 'text', 'texts')}" if waiting else ""
        note(f"the tree is empty{texts}")
