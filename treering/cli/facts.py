"""The command that lists facts: those that hold, their history, and what superseded what."""

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
    attribute: Annotated[
        str | None,
        typer.Option(help="The history of one attribute of the subject, such as home."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also superseded, ended and planned facts.")
    ] = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="Superseded statements with the newer ones.")
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"The facts as they were known then: {FORMS}."),
    ] = None,
) -> None:
    """List facts about people and things, each as it was last stated.

    Without a language model, only plain English sentences are read. `treering settle` lets a model
    read entries in any language.
    """
    if changes and (subject or attribute):
        raise InputError("--changes lists all subjects; leave --subject and --attribute out")
    if attribute and not subject:
        raise InputError("--attribute needs --subject")
    then = moment(as_of)
    with run.memory(may_be_empty=True) as memory:
        superseded = memory.facts.changes(then) if changes else []
        if changes:
            listed = []
        elif subject and attribute:
            listed = memory.facts.history(subject, attribute, then)
        else:
            listed = (memory.facts.all if everything else memory.facts.current)(subject, then)
    for change in superseded:
        run.out.emit(change, *_change(change))
    for fact in listed:
        run.out.emit(fact, *_fact(fact))
    if not superseded and not listed:
        note("nothing found")


def _fact(fact: Fact) -> Iterator[Part]:
    yield _date(fact.at)
    # No more is known than that no later statement contradicts it.
    last = "" if fact.superseded_by else ", last stated"
    how = f", {fact.sense}" if fact.sense != "holds" else last
    yield f"{fact.subject} · {fact.attribute}{how}: {fact.value}  ", "cyan"
    yield fact.text, "dim" if fact.superseded_by else ""
    if fact.superseded_by:
        yield f"\n            superseded: {_date(fact.superseded_by.at)}{fact.superseded_by.text}"


def _change(change: Change) -> Iterator[Part]:
    yield _date(change.at)
    yield change.text, "dim"
    named = f"{change.attribute} → " if change.attribute else "→ "
    yield f"\n  {named}{_date(change.newer.at)}{change.newer.text}"


def _date(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}  " if at else ""
