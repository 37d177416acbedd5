"""Commands that recall: search, context, brief, ask, chat, facts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import typer

from treering.cli import stdin
from treering.cli.filters import Filters, RankingOptions
from treering.cli.options import Moment, Text, command, opt
from treering.cli.output import Part, note, plural, short_path
from treering.cli.run import Run
from treering.errors import InputError
from treering.records import BRIEF_TOKENS, Level
from treering.views.choices import PolicyName

if TYPE_CHECKING:
    from treering.views.facts.view import Fact

commands = typer.Typer()

_ALSO = opt("Ask this space, too, as if all were one; may be repeated.", metavar="SPACE")
_PROMPT = opt("The most of the prompt: tokens, or such as '800 words'.", metavar="SIZE")


@command(
    commands,
    k=opt("How many hits; with a preset for chats, how many rounds.", "--k", "-k", min=1),
    whole="Show the whole text of each hit, not the best lines.",
    level="Texts, summaries of the tree, or all among each other.",
    rerank=opt(
        "Order the 50 best again, by fastembed:MODEL, http://HOST/rerank, llm or a package's "
        "reranker.",
        metavar="NAME",
    ),
    all="Show each of several hits that say the same.",
    also=_ALSO,
)
def search(
    run: Run,
    query: Text,
    ranking: RankingOptions,
    where: Filters,
    k: int | None = None,
    explain: bool = False,
    whole: bool = False,
    level: Level | None = None,
    rerank: str | None = None,
    all: bool = False,
    also: list[str] | None = None,
) -> None:
    """Find the fragments that answer a query best."""
    from treering.cli.hits import hit_parts  # it counts terms, for which help need not wait

    with run.memory(may_be_empty=True) as memory:
        how = {"k": k, "level": level, "rerank": rerank, "all": all, **ranking.arguments()}
        spaces = run.with_own(memory, also)
        hits = memory.search(query, **how, spaces=spaces, **where.where(memory))
        reasons = [] if hits else [*where.why_nothing(memory)]
    for number, hit in enumerate(hits, start=1):
        shown = replace(hit, source=f"{hit.space}: {hit.source}") if also else hit
        run.out.emit(hit, *hit_parts(number, shown, query, whole=whole, explain=explain))
    if not hits:
        note("\n".join(["nothing found", *reasons]))
    elif not any(hit.why.is_scored for hit in hits):
        note("– is no score: a score compares texts, and there is nothing to compare with yet")


@command(
    commands,
    budget=opt("The most of the passages: tokens, or such as '800 words'.", metavar="SIZE"),
    also=_ALSO,
)
def context(
    run: Run,
    query: Text,
    ranking: RankingOptions,
    where: Filters,
    budget: str | None = None,
    also: list[str] | None = None,
) -> None:
    """Print passages for a prompt: cited, in reading order, within a token budget."""
    with run.memory(may_be_empty=True) as memory:
        spaces = run.with_own(memory, also)
        chosen = {**ranking.arguments(), **where.where(memory)}
        passages = memory.context(query, budget=budget, spaces=spaces, **chosen)
    if passages.passages or run.out.as_json:
        run.out.emit(passages, str(passages))
    if passages.surest is not None and passages.surest < ranking.min_confidence:
        note(f"nothing relevant: the surest text has a confidence of {passages.surest:.2f}")
    elif not passages.passages:
        note("nothing found, or no passage fits the budget")
    shown = plural(len(passages.passages), "passage", "passages")
    note(f"{passages.tokens} of {passages.budget} tokens, {shown}")


@command(commands, budget=opt("Tokens that it may have.", min=1, metavar="TOKENS"))
def brief(run: Run, budget: int = BRIEF_TOKENS) -> None:
    """Print a summary of the space: its people and topics, decisions that hold, open questions.

    Cited; no model is asked.
    """
    with run.memory(may_be_empty=True) as memory:
        summary = memory.brief(budget=budget)
    if summary.lines or run.out.as_json:
        run.out.emit(summary, str(summary))
    if summary.lines:
        note(f"{summary.tokens} of {summary.budget} tokens")
    else:
        note(f"nothing to say yet, or not in {plural(budget, 'token', 'tokens')}")


@command(commands, question="The question, or - for standard input.", budget=_PROMPT, also=_ALSO)
def ask(
    run: Run,
    question: Text,
    where: Filters,
    budget: str | None = None,
    also: list[str] | None = None,
) -> None:
    """Answer a question from the memory, with citations; needs a language model."""
    with run.memory() as memory:
        spaces = run.with_own(memory, also)
        answer = memory.ask(question, budget=budget, spaces=spaces, **where.where(memory))
    cited: list[Part] = []
    for passage in answer.citations:
        cited += [f"\n[{passage.number}] ", (short_path(passage.source), "cyan")]
        cited.append(f"  {passage.at:%Y-%m-%d %H:%M}" if passage.at else "")
    run.out.emit(replace(answer, context=None), answer.text, *cited)
    if answer.dangling:
        numbers = ", ".join(map(str, answer.dangling))
        note(f"the answer cites passages that do not exist ({numbers}): do not trust it")


@command(
    commands,
    source="The conversation to continue.",
    policy="The context that the model sees besides the message.",
    budget=_PROMPT,
    speaker=opt("Your name, for facts about you.", "--name", metavar="NAME"),
    also=_ALSO,
)
def chat(
    run: Run,
    source: str = "chat",
    policy: PolicyName | None = None,
    budget: str | None = None,
    speaker: str | None = None,
    also: list[str] | None = None,
) -> None:
    """Talk with a language model that remembers; each round is stored. End with Ctrl-D or /quit.

    On a terminal, /help lists commands: what the model was shown, forgetting a round, your name.
    Piped in, every line is a message and every reply is printed as it is written.
    """
    from treering.cli.talk import Talk

    is_typed = sys.stdin.isatty() and sys.stdout.isatty() and not run.out.as_json
    with run.memory(create=True, talks=True) as memory:
        spaces = run.with_own(memory, also)
        talk = Talk(run, memory, source, policy, budget, speaker, spaces)
        if is_typed:
            talk.hold()
            return
        for line in stdin.piped_lines():
            talk.answer(line)


@command(
    commands,
    subject="Only about this person or thing, such as ana or ana's sister.",
    attribute="The history of one attribute of the subject, such as home.",
    everything=opt("Also superseded, ended and planned facts.", "--all"),
)
def facts(
    run: Run,
    subject: str | None = None,
    attribute: str | None = None,
    everything: bool = False,
    as_of: Moment = None,
) -> None:
    """List facts about people and things, each as it was last stated.

    Without a language model, only plain English sentences are read. `treering settle` lets a model
    read entries in any language.
    """
    if attribute and not subject:
        raise InputError("--attribute needs --subject")
    with run.memory(may_be_empty=True) as memory:
        if subject and attribute:
            run.out.emit_all(memory.facts.history(subject, attribute, as_of), _fact_parts)
        else:
            listed = memory.facts.all if everything else memory.facts.current
            run.out.emit_all(listed(subject, as_of), _fact_parts)


def _fact_parts(fact: Fact) -> Iterator[Part]:
    yield _date(fact.at)
    # No later statement contradicts it; it may still be out of date.
    last = "" if fact.superseded_by else ", last stated"
    how = f", {fact.sense}" if fact.sense != "holds" else last
    yield f"{fact.subject} · {fact.attribute}{how}: {fact.value}  ", "cyan"
    yield fact.text, "dim" if fact.superseded_by else ""
    if fact.superseded_by:
        yield f"\n            superseded: {_date(fact.superseded_by.at)}{fact.superseded_by.text}"


def _date(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}  " if at else ""
