"""Commands that look after a memory: configure, fit, reembed, settle, rebuild, stats, spaces.

``app`` is ``treering relate``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treering.cli import stdin
from treering.cli.entries import STILL_READ
from treering.cli.options import command, opt, settings_group
from treering.cli.output import Part, note, plural
from treering.cli.run import Run
from treering.cli.subapps import sub_app
from treering.records import Stats

if TYPE_CHECKING:
    from treering.search.relations.registry import FitReport, Suggestion

commands = typer.Typer()
app = sub_app(no_args_is_help=True)

if TYPE_CHECKING:
    Chosen = Any
else:
    Chosen = settings_group()


@command(
    commands,
    preset="All values of one paper: fragrel-a-story, fragrel-b-story, fragrel-chat, fragrel-code, "
    "memtree, memtree-story, memtree-chat, memochat or codemem. default undoes it.",
)
def configure(
    run: Run, choices: Chosen, preset: Annotated[str | None, typer.Argument()] = None
) -> None:
    """Set this space's defaults, and show them."""
    from treering.views.presets import preset_of  # it imports numerics, which help needs not
    from treering.views.settings import read

    if preset is not None:
        preset_of(preset)  # it raises before a file is made
    with run.memory(create=preset is not None) as memory:
        settings = memory.configure(preset, **asdict(choices))
        outdated = memory.stats().outdated
    usual = asdict(read({}))
    own = {name: value for name, value in asdict(settings).items() if value != usual[name]}
    width = max(map(len, own), default=0)
    rows = [f"{name:<{width}} {_setting_text(value)}\n" for name, value in own.items()]
    run.out.emit(settings, *rows, "all others have their defaults; --json lists them")
    if outdated:
        what = ", ".join(outdated)
        note(f"{what} still use the old settings; run `treering settle` to rebuild them")


def _setting_text(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_setting_text(part)}" for name, part in value.items())
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return "default" if value is None else str(value)


@command(commands)
def fit(run: Run) -> None:
    """Choose the relations' weights for this space from its own text, without labels."""
    with run.memory() as memory, run.out.progress("scoring pseudo-queries") as progress:
        reports = memory.fit(progress=progress)
    for report in reports:
        run.out.emit(asdict(report) | {"gain": report.gain}, *_report(report))


@app.callback()
def relate() -> None:
    """Find relations for this space with a language model."""


@command(app)
def suggest(run: Run) -> None:
    """Let a language model propose up to three relations, and keep those that rank better.

    The model reads a sample of the space. Proposals are tried on pseudo-queries, without labels.
    """
    with run.memory() as memory, run.out.progress("scoring pseudo-queries") as progress:
        suggestions = memory.suggest_relations(progress=progress)
    for suggestion in suggestions:
        record = asdict(suggestion) | {"kept": suggestion.kept}
        run.out.emit(record, *_suggestion(suggestion))
    if not suggestions:
        note("the model proposed no relation")


@command(commands, model="The new embedding model, written as for --embedder.")
def reembed(run: Run, model: str) -> None:
    """Change the embedding model; the old one answers until the new one is complete."""
    with run.memory() as memory, run.out.progress("embedding") as progress:
        stats = memory.reembed(model, progress=progress)
    run.out.emit(stats, _stats(stats))


@command(commands)
def settle(run: Run, upgrade: bool = False) -> None:
    """Do all pending work now: embeddings, summaries."""
    with run.memory() as memory, run.out.progress("settling") as progress:
        stats = memory.settle(progress=progress, upgrade=upgrade)
    run.out.emit(stats, _stats(stats))


@command(
    commands,
    views=opt(
        "fragments, tree, memo, facts, code, or a view of another package. Default: all that can "
        "be.",
        metavar="[VIEW]...",
    ),
)
def rebuild(run: Run, views: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Make views again from the journal; searching goes on meanwhile.

    Text of a language model is written again by one, and stays if none is configured. After an
    interruption the same command continues.
    """
    with run.memory() as memory, run.out.progress("rebuilding") as progress:
        stats = memory.rebuild(*views or (), progress=progress)
    what = ", ".join(views) if views else "all views"
    done = f"rebuilt {what} of space {stats.space!r} from the journal"
    run.out.emit(stats, f"{done}\n\n{_stats(stats)}")


@command(commands)
def stats(run: Run) -> None:
    """Show the size of a space, its model, pending work, and the cost of models."""
    with run.memory(may_be_empty=True) as memory:
        figures = memory.stats()
    run.out.emit(figures, _stats(figures))


@command(commands, remove=opt("Erase this space: its entries, its name, its keys.", metavar="NAME"))
def spaces(run: Run, remove: str | None = None, yes: bool = False) -> None:
    """List the spaces of the file, or remove one."""
    if remove is not None:
        _remove_space(run, remove, yes)
        return
    with run.memory(whole=True) as memory:
        for name in memory.spaces():
            run.out.emit({"space": name}, name)


def _remove_space(run: Run, name: str, yes: bool) -> None:
    with run.in_space(name).memory() as memory:
        held = plural(memory.stats().entries, "entry", "entries")
        note(f"the space {name!r} with {held} and its keys will be erased for good")
        if not yes:
            stdin.confirm()
        done = memory.forget_space(name)
    keys = done.views.get("keys", 0)
    also = f" and {plural(keys, 'key', 'keys')}" if keys else ""
    run.out.emit(done, f"removed {name} with {plural(len(done.entries), 'entry', 'entries')}{also}")
    if not done.scrubbed:
        note(STILL_READ)


def _report(report: FitReport) -> Iterator[Part]:
    yield report.kind, "bold"
    yield (
        f"  mean reciprocal rank on {report.queries // 2} held-out pseudo-queries: "
        f"{report.default:.3f} before, {report.fitted:.3f} fitted; "
    )
    yield "kept" if report.kept else "no gain: the relations stay as they are"
    for weighted in report.chosen:
        yield f"\n    α {weighted.alpha:g}  {weighted.relation}"


def _suggestion(suggestion: Suggestion) -> Iterator[Part]:
    yield suggestion.relation, "bold"
    yield f"  {suggestion.why}\n"
    if suggestion.report is None:
        yield f"refused: {suggestion.refused}"
    else:
        yield from _report(suggestion.report)


def _stats(stats: Stats) -> str:
    from treering.views.pending import in_words

    rows = {
        "space": stats.space,
        "entries": f"{stats.entries:,} from {plural(stats.sources, 'source', 'sources')}",
        "texts": f"{stats.text_bytes / 1e6:,.1f} MB",
        "fragments": f"{stats.fragments:,}, {stats.embedded:,} embedded",
        "model": f"{stats.model}, {stats.dimension} dimensions" if stats.model else "none yet",
        "pending": ", ".join(in_words(*some) for some in stats.pending.items()) or "none",
        "file": f"{stats.bytes / 1e6:,.1f} MB, all spaces together",
    }
    if stats.code_files:
        rows["code"] = f"{plural(stats.code_files, 'file', 'files')} of repositories"
    if stats.quota:
        limits = (f"{limit:,} {what}" for what, limit in stats.quota.items())
        rows["quota"] = f"{' and '.join(limits)} in this space"
    for cost in stats.spent:
        rows[f"spent: {cost.operation}"] = (
            f"{plural(cost.calls, 'call', 'calls')} of {cost.model}, "
            f"{cost.prompt_tokens:,} + {cost.completion_tokens:,} tokens"
        )
    return "\n".join(f"{name:<14} {value}" for name, value in rows.items())
