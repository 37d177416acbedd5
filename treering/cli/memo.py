"""``treering memo``: read and correct what has been talked about, by topic and time."""

from __future__ import annotations

from typing import Annotated

import typer

from treering.cli import stdin
from treering.cli.global_options import Globals, run_of_group
from treering.cli.moments import FORMS, moment
from treering.cli.options import command, spelled_out
from treering.cli.output import Part, counted, note
from treering.cli.run import Run
from treering.errors import InputError
from treering.views.memos.record import Memo

app = typer.Typer(
    add_completion=False, help="Read and correct what has been talked about, topic by topic."
)

Id = Annotated[str, typer.Argument(metavar="ID", help="The memo's id, as it is listed.")]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help=f"As it was at this time: {FORMS}.")
]
NewTopic = Annotated[str | None, typer.Option("--topic", help="Its new topic.")]
NewSummary = Annotated[str | None, typer.Option("--summary", help="Its new summary.")]


@app.callback(invoke_without_command=True)
@spelled_out
def memos(
    ctx: typer.Context,
    options: Globals,
    topic: Annotated[str | None, typer.Option(help="Only topics that contain this.")] = None,
    source: Annotated[str | None, typer.Option(help="Only from this conversation.")] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"Only with lines from this time on: {FORMS}."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only with lines from before this time."),
    ] = None,
    as_of: AsOf = None,
    about: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="Only the -k memos that this is about, best first."),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many memos, with --about.")] = 10,
) -> None:
    """List the memos: pinned ones first, else in the order they were first made."""
    run = run_of_group(ctx, options)
    if run is None:
        return
    if about is not None:
        if any((topic, source, since, until, as_of)):
            raise InputError("--about goes with no other condition", param="about")
        _search(run, about, k)
        return
    with run.memory(may_be_empty=True) as memory:
        listed = memory.memos.list(
            topic=topic,
            source=source,
            since=moment(since),
            until=moment(until),
            as_of=moment(as_of),
        )
        due = 0 if listed else memory.stats().pending.get("memo", 0)
    for memo in listed:
        run.out.emit(memo, *_memo(memo))
    if not listed:
        narrowed = any((topic, source, since, until, as_of))
        note("no memo meets these conditions" if narrowed else _why_none(due))


@command(app)
def show(
    run: Run,
    memo_id: Id,
    history: Annotated[
        bool, typer.Option("--history", help="Show every version instead of the lines.")
    ] = False,
    as_of: AsOf = None,
) -> None:
    """Show a memo with the lines it stands for, or all its versions."""
    with run.memory() as memory:
        if history:
            for version in memory.memos.history(memo_id):
                run.out.emit(version, *_version(version))
            return
        memo = memory.memos.get(memo_id, as_of=moment(as_of))
        lines = memory.memos.lines(memo)
    run.out.emit(memo, *_memo(memo))
    for line in lines:
        run.out.emit(line, (f"{line.speaker or line.role or ''}: ", "bold"), line.text)


def _search(run: Run, query: str, k: int) -> None:
    with run.memory(may_be_empty=True) as memory:
        hits = memory.memos.search(stdin.argument(query), k=k)
    for hit in hits:
        run.out.emit(hit, f"{hit.score:.2f}  ", *_memo(hit.memo))
    if not hits:
        note("nothing found")


@command(app)
def edit(
    run: Run,
    memo_id: Id,
    topic: NewTopic = None,
    summary: NewSummary = None,
    pin: Annotated[
        bool | None, typer.Option("--pin/--unpin", help="List it first and always choose it.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete it; its history stays.")] = False,
) -> None:
    """Give a memo another topic or summary, pin it, or delete it; its history stays."""
    changes = topic is not None or summary is not None or pin is not None
    if delete == changes:
        raise InputError("an edit needs --topic, --summary, --pin or --unpin, or --delete alone")
    with run.memory() as memory:
        if delete:
            memory.memos.delete(memo_id)
            note(f"deleted; `treering memo show {memo_id} --history` still shows it")
            return
        if topic is not None or summary is not None:
            memo = memory.memos.edit(memo_id, topic=topic, summary=summary)
        if pin is not None:
            memo = memory.memos.pin(memo_id, pin)
        _emit(run, memo)


@command(app)
def merge(
    run: Run,
    memo_ids: Annotated[list[str], typer.Argument(metavar="ID", help="Two memos or more.")],
    topic: NewTopic = None,
    summary: NewSummary = None,
) -> None:
    """Make one memo of several, under the id of the first."""
    with run.memory() as memory:
        _emit(run, memory.memos.merge(memo_ids, topic=topic, summary=summary))


@command(app)
def split(
    run: Run,
    memo_id: Id,
    entry_id: Annotated[
        str, typer.Argument(metavar="ENTRY", help="The line that the second part begins with.")
    ],
    topic: Annotated[
        list[str] | None, typer.Option("--topic", help="The parts' topics: give it twice.")
    ] = None,
    summary: Annotated[
        list[str] | None, typer.Option("--summary", help="The parts' summaries: give it twice.")
    ] = None,
) -> None:
    """Cut a memo in two before one of its lines; the first part keeps the id."""
    with run.memory() as memory:
        parts = memory.memos.split(
            memo_id,
            entry_id,
            topics=_pair(topic, "--topic"),
            summaries=_pair(summary, "--summary"),
        )
    _emit(run, *parts)


def _why_none(due: int) -> str:
    if due:
        return (
            f"no memo is written yet, {due:,} due: `treering settle` writes with a language model"
        )
    return (
        "there are no memos: `treering settle` writes them, with a language model, once a "
        "conversation has over 10 lines or 1,024 tokens"
    )


def _emit(run: Run, *memos: Memo) -> None:
    for memo in memos:
        run.out.emit(memo, *_memo(memo))


def _pair(values: list[str] | None, option: str) -> tuple[str, str] | None:
    if not values:
        return None
    if len(values) != 2:
        raise InputError(f"{option} is given {len(values)} times; give it once for each part")
    return values[0], values[1]


def _version(memo: Memo) -> tuple[Part, ...]:
    """Which version it is and since when, then what it says."""
    by = f" by {memo.writer}" if memo.writer else ""
    return (f"version {memo.version}, {memo.made:%Y-%m-%d %H:%M}{by}\n", "dim"), *_memo(memo)


def _memo(memo: Memo) -> tuple[Part, ...]:
    """Topic, id and times on one line, then the summary, then what its lines do not support."""
    if memo.deleted:
        return (("deleted", "bold"), f"  {memo.id}\n")
    when = f"  {memo.at:%Y-%m-%d}" if memo.at else ""
    if memo.at and memo.until and memo.until.date() != memo.at.date():
        when += f" to {memo.until:%Y-%m-%d}"
    lines = counted(len(memo.entry_ids), "line", "lines")
    mark = "* " if memo.pinned else ""
    head = f"  {memo.id}{when}  {lines} of {memo.source or 'nothing'}, {memo.origin}\n"
    doubts = "".join(f"\n  not supported by its lines: {claim}" for claim in memo.unsupported)
    return (f"{mark}", (memo.topic, "bold"), head, f"  {memo.stated}{doubts}\n")
