"""The command that lists facts: what was stated, and what newer statements supersede."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from treering.cli.moments import FORMS, moment
from treering.cli.options import command
from treering.cli.output import Part, note
from treering.cli.run import Run
from treering.errors import InputError
from treering.views.facts.form import DOES

if TYPE_CHECKING:
    from treering.views.facts.view import Change, Fact

commands = typer.Typer()


@command(commands)
def facts(
    run: Run,
    subject: Annotated[
        str | None,
        typer.Option(help="Only about this person or thing, such as ana or ana's sister."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what was superseded.")] = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="What was superseded, and by what.")
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"What had been said by then, and held: {FORMS}."),
    ] = None,
    judge: Annotated[
        bool,
        typer.Option(help="First let the language model decide where the patterns cannot."),
    ] = False,
) -> None:
    """List statements of fact: homes, jobs, numbers, habits that ended; each as last stated.

    They are found by simple sentence patterns: few are wrong, but many are missed.
    """
    if changes and subject:
        raise InputError("--changes lists those of all subjects; leave --subject out")
    then = moment(as_of)
    with run.memory() as memory:
        if judge:
            note(f"{memory.facts.judge()} messages were superseded by newer ones")
        superseded = memory.facts.changes(then) if changes else []
        listed = memory.facts.all if everything else memory.facts.current
        statements = listed(subject, then) if not changes else []
    for change in superseded:
        run.out.emit(change, *_change(change))
    for fact in statements:
        run.out.emit(fact, *_fact(fact))
    if not superseded and not statements:
        note("nothing found")


def _fact(fact: Fact) -> Iterator[Part]:
    yield _date(fact.at)
    about = "does" if fact.slot.startswith(DOES) else fact.slot
    # No more is known than that nothing later contradicts it: that need not hold.
    how = " no longer" if fact.ends else "" if fact.superseded_by else ", last stated"
    yield f"{fact.subject} · {about}{how}: {fact.value}  ", "cyan"
    yield fact.text, "dim" if fact.superseded_by else ""
    if fact.superseded_by:
        yield f"\n            superseded: {_date(fact.superseded_by.at)}{fact.superseded_by.text}"


def _change(change: Change) -> Iterator[Part]:
    yield _date(change.at)
    yield change.text, "dim"
    yield f"\n  {change.slot} → {_date(change.newer.at)}{change.newer.text}"


def _date(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}  " if at else ""
