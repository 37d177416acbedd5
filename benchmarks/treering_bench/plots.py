"""Plots of results files: recall against tokens spent, and the headline with its intervals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from treering.errors import InputError
from treering_bench.metrics.evidence import BUDGETS
from treering_bench.registry import benchmark
from treering_bench.report import Scores
from treering_bench.stats import bootstrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".svg", ".png")
_SWEEPS = {
    "alpha": re.compile(r"with:default@([\d.]+)"),
    "w": re.compile(r"with:default\(w=([\d.]+)\)"),
}
_SIZE_INCHES = (7.0, 4.2)
_PIXELS_PER_INCH = 150
_COLOURS, _STYLES = 10, ("-", "--", ":")  # matplotlib repeats its colours


def plot_budgets(scores: Scores, path: Path) -> None:
    """Recall at each token budget, one line per policy, as SVG or PNG by ``path``'s ending."""

    def draw(axes: Axes) -> None:
        for place, policy in enumerate(scores.by_policy):
            samples = [list(scores.values(policy, f"recall@{b}tokens").values()) for b in BUDGETS]
            if all(samples):
                means = [100 * sum(values) / len(values) for values in samples]
                style = _STYLES[place // _COLOURS % len(_STYLES)]
                axes.plot(BUDGETS, means, style, marker="o", label=policy)
        axes.set_xscale("log", base=2)
        axes.set_xticks(BUDGETS, [f"{budget:,}" for budget in BUDGETS])
        axes.set_xlabel("tokens of retrieved text")
        axes.set_ylabel("evidence recall, %")
        legend_beside(axes)

    _save(scores, path, draw)


def plot_policies(scores: Scores, path: Path) -> None:
    """The headline metric of every policy with its 95 % interval, as SVG or PNG."""
    metric = scores.headline
    measured = {policy: list(scores.values(policy, metric).values()) for policy in scores.by_policy}
    intervals = {p: bootstrap(v, seed=scores.run.seed) for p, v in measured.items() if v}

    def draw(axes: Axes) -> None:
        means = [100 * i.mean for i in intervals.values()]
        below = [100 * (i.mean - i.low) for i in intervals.values()]
        above = [100 * (i.high - i.mean) for i in intervals.values()]
        axes.barh(list(intervals), means, xerr=[below, above], capsize=3)
        axes.invert_yaxis()
        axes.set_xlabel(f"{metric}, %")

    _save(scores, path, draw)


def legend_beside(axes: Axes) -> None:
    """A legend that hides no line."""
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def plot_sweeps(scores: Scores, folder: Path, stem: str, form: str) -> list[Path]:
    """Plot the headline over each parameter that policies sweep; the files that were saved.

    A sweep is two or more policies ``with:default@α`` or ``with:default(w=w)``.
    """
    saved = []
    for parameter, spelled in _SWEEPS.items():
        matches = {p: spelled.fullmatch(p) for p in scores.by_policy}
        swept = sorted((float(match[1]), p) for p, match in matches.items() if match)
        if len(swept) > 1:
            path = folder / f"{stem}-{parameter}.{form}"
            _plot_sweep(scores, parameter, swept, path)
            saved.append(path)
    return saved


def _plot_sweep(
    scores: Scores, parameter: str, swept: Sequence[tuple[float, str]], path: Path
) -> None:
    metric = scores.headline
    values = [list(scores.values(policy, metric).values()) for _, policy in swept]
    intervals = [bootstrap(sample, seed=scores.run.seed) for sample in values]

    def draw(axes: Axes) -> None:
        means = [100 * i.mean for i in intervals]
        below = [100 * (i.mean - i.low) for i in intervals]
        above = [100 * (i.high - i.mean) for i in intervals]
        at = [value for value, _ in swept]
        axes.errorbar(at, means, yerr=[below, above], marker="o", capsize=3)
        axes.set_xlabel(parameter)
        axes.set_ylabel(f"{metric}, %")

    _save(scores, path, draw)


def _save(scores: Scores, path: Path, draw: Callable[[Axes], None]) -> None:
    save(benchmark(scores.run.benchmark).title, path, draw)


def save(title: str, path: Path, draw: Callable[[Axes], None]) -> None:
    """Draw one plot into a file, as SVG or PNG by ``path``'s ending. Raises InputError."""
    if path.suffix not in FORMATS:
        raise InputError(f"{path.name}: a plot is saved as {' or '.join(FORMATS)}")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    axes = figure.add_subplot()
    draw(axes)
    axes.set_title(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    # With fixed ids and without a date, the same results give the same bytes.
    undated = {"Date": None} if path.suffix == ".svg" else None
    with rc_context({"svg.hashsalt": "treering"}):
        figure.savefig(path, dpi=_PIXELS_PER_INCH, metadata=undated)
