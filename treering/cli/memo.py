"""``treering memo``: read and correct the memos of conversations, by topic."""

from __future__ import annotations

from treering.cli import stdin
from treering.cli.options import command, group, opt
from treering.cli.output import Part, note, plural
from treering.cli.run import Run
from treering.cli.subapps import sub_app
from treering.errors import InputError
from treering.views.memos.record import Memo

app = sub_app(help="Read and correct memos of conversations, by topic.")

NO_MEMO = (
    "no memos yet: `treering settle` writes them with a language model, once a conversation has "
    "over 10 lines or 1,024 tokens"
)


@group(
    app,
    topic="Only topics that contain this.",
    source="Only from this conversation.",
    about=opt("Only the -k memos that this is about, best first.", metavar="QUERY"),
    k=opt("How many memos, with --about.", "--k", "-k", min=1),
)
def memos(
    run: Run,
    topic: str | None = None,
    source: str | None = None,
    about: str | None = None,
    k: int = 10,
) -> None:
    """List the memos: pinned ones first, else in the order they were first made."""
    is_narrowed = bool(topic or source)
    if about is not None and is_narrowed:
        raise InputError("--about goes with no other condition", param="about")
    with run.memory(may_be_empty=True) as memory:
        if about is not None:
            hits = memory.memos.search(stdin.argument(about), k=k)
            run.out.emit_all(hits, lambda hit: [f"{hit.score:.2f}  ", *_memo(hit.memo)])
            return
        listed = memory.memos.list(topic=topic, source=source)
    run.out.emit_all(listed, _memo, "no memo meets these conditions" if is_narrowed else NO_MEMO)


@command(app)
def show(run: Run, memo_id: str) -> None:
    """Show a memo with its lines."""
    with run.memory() as memory:
        memo = memory.memos.get(memo_id)
        lines = memory.memos.lines(memo)
    run.out.emit(memo, *_memo(memo))
    for line in lines:
        run.out.emit(line, (f"{line.speaker or line.role or ''}: ", "bold"), line.text)


@command(
    app,
    pin=opt("List it first and always choose it.", "--pin/--unpin"),
    delete="Delete it; its lines stay.",
)
def edit(
    run: Run,
    memo_id: str,
    topic: str | None = None,
    summary: str | None = None,
    pin: bool | None = None,
    delete: bool = False,
) -> None:
    """Give a memo another topic or summary, pin it, or delete it."""
    changes = topic is not None or summary is not None or pin is not None
    if delete == changes:
        raise InputError("an edit needs --topic, --summary, --pin or --unpin, or --delete alone")
    with run.memory() as memory:
        if delete:
            memory.memos.delete(memo_id)
            note("deleted")
            return
        memo = memory.memos.edit(memo_id, topic=topic, summary=summary, pinned=pin)
    run.out.emit_all([memo], _memo)


def _memo(memo: Memo) -> tuple[Part, ...]:
    """Return topic, id and times on one line, then the summary, then claims without support."""
    when = f"  {memo.at:%Y-%m-%d}" if memo.at else ""
    if memo.at and memo.until and memo.until.date() != memo.at.date():
        when += f" to {memo.until:%Y-%m-%d}"
    lines = plural(len(memo.entry_ids), "line", "lines")
    mark = "* " if memo.pinned else ""
    head = f"  {memo.id}{when}  {lines} of {memo.source or 'nothing'}, {memo.origin}\n"
    doubts = "".join(f"\n  not supported by its lines: {claim}" for claim in memo.unsupported)
    return (f"{mark}", (memo.topic, "bold"), head, f"  {memo.stated}{doubts}\n")
