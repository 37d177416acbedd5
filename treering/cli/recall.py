"""Commands that give something back: search, context, brief, ask, chat."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import typer

from treering.cli import stdin
from treering.cli.options import Filters, RankingOptions, command
from treering.cli.output import Part, counted, note, short_path
from treering.cli.run import Run
from treering.records import BRIEF_TOKENS, Altitude, Hit, Level, Passage
from treering.views.choices import PolicyName

commands = typer.Typer()

_NO_SCORE = "–"
_TOO_SMALL = "no {} fits {:,} tokens; give a larger --budget"

Query = Annotated[str, typer.Argument(help="What to look for, or - for standard input.")]
MixedOrNot = Annotated[
    Altitude | None,
    typer.Option(help="Texts, or a summary of the tree where it covers more a token."),
]
Budget = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="The most of the passages: tokens, or such as '800 words'."),
]
Prompt = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="SIZE", help="The most of the prompt: tokens, or such as '800 words'."
    ),
]


@command(commands)
def search(
    run: Run,
    query: Query,
    ranking: RankingOptions,
    where: Filters,
    k: Annotated[int | None, typer.Option("--k", "-k", min=1, help="How many hits.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the terms that each score is the sum of.")
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Show the whole text of each hit, not the best lines.")
    ] = False,
    level: Annotated[
        Level | None, typer.Option(help="Texts, summaries of the tree, or all among each other.")
    ] = None,
    rerank: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Order the 50 best anew, by fastembed:MODEL, http://HOST/rerank, llm or a "
            "package's reranker.",
        ),
    ] = None,
    all: Annotated[
        bool, typer.Option("--all", help="Show each of several hits that say the same.")
    ] = False,
) -> None:
    """Find the fragments that answer a query best."""
    from treering.cli import snippets  # it counts terms, for which help need not wait

    asked = stdin.argument(query)
    with run.memory(may_be_empty=True) as memory:
        how = {"k": k, "level": level, "rerank": rerank, "all": all, **ranking.chosen()}
        hits = memory.search(asked, **how, **where.of(memory))
        reasons = [] if hits else [*where.why_nothing(memory)]
    for number, hit in enumerate(hits, start=1):
        text = snippets.shown(hit, asked, whole)
        run.out.emit(
            hit,
            *_head(number, hit),
            *text,
            _mark(hit),
            *_folded(hit),
            *(_why(hit) if explain else ()),
        )
    if not hits:
        note("\n".join(["nothing found", *reasons]))
    elif not any(hit.why.is_scored for hit in hits):
        note("– is no score: a score compares texts, and there is nothing to compare with yet")


@command(commands)
def context(
    run: Run,
    query: Query,
    ranking: RankingOptions,
    where: Filters,
    budget: Budget = None,
    altitude: MixedOrNot = None,
) -> None:
    """Print passages for a prompt: cited, in reading order, within a token budget."""
    with run.memory(may_be_empty=True) as memory:
        passages = memory.context(
            stdin.argument(query),
            budget=budget,
            altitude=altitude,
            **ranking.chosen(),
            **where.of(memory),
        )
        too_small = not passages.passages and bool(
            memory.search(passages.query, k=1, **ranking.chosen(), **where.of(memory))
        )
    if passages.passages or run.out.as_json:
        run.out.emit(passages, str(passages))
    if not passages.passages and passages.surest is not None and ranking.min_confidence:
        note(f"nothing relevant: the surest text has a confidence of {passages.surest:.2f}")
    elif too_small:
        note(_TOO_SMALL.format("passage", passages.budget))
    shown = counted(len(passages.passages), "passage", "passages")
    note(f"{passages.tokens} of {passages.budget} tokens, {shown}")


@command(commands)
def brief(
    run: Run,
    budget: Annotated[
        int, typer.Option(min=1, metavar="TOKENS", help="Tokens that it may have.")
    ] = BRIEF_TOKENS,
) -> None:
    """Print what to know of a space before one begins: whom it is about, what holds, what is open.

    Cited; no model is asked.
    """
    with run.memory(may_be_empty=True) as memory:
        summary = memory.brief(budget=budget)
        too_small = budget < BRIEF_TOKENS and not summary.lines and bool(memory.brief().lines)
    if summary.lines or run.out.as_json:
        run.out.emit(summary, str(summary))
    if too_small:
        note(_TOO_SMALL.format("line", budget))
    elif not summary.lines:
        note("nothing to say yet")
    else:
        note(f"{summary.tokens} of {summary.budget} tokens")


@command(commands)
def ask(
    run: Run,
    question: Annotated[str, typer.Argument(help="The question, or - for standard input.")],
    where: Filters,
    budget: Prompt = None,
    altitude: MixedOrNot = None,
) -> None:
    """Answer a question from the memory, with citations; needs a language model."""
    with run.memory() as memory:
        answer = memory.ask(
            stdin.argument(question), budget=budget, altitude=altitude, **where.of(memory)
        )
    cited = [part for passage in answer.citations for part in _citation(passage)]
    run.out.emit(replace(answer, context=None), answer.text, *cited)
    if answer.dangling:
        numbers = ", ".join(map(str, answer.dangling))
        note(f"the answer cites passages that do not exist ({numbers}): do not trust it")


@command(commands)
def chat(
    run: Run,
    source: Annotated[str, typer.Option(help="The conversation to go on with.")] = "chat",
    policy: Annotated[
        PolicyName | None, typer.Option(help="What the model sees besides the message.")
    ] = None,
    budget: Prompt = None,
    speaker: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Who you are, for facts of you."),
    ] = None,
) -> None:
    """Talk with a language model that remembers; each round is kept. End with Ctrl-D or /quit.

    On a terminal, /help lists commands: what the model was shown, forgetting a round, your name.
    Piped in, every line is a message and every reply is printed as it is written.
    """
    from treering.cli.talk import Talk

    talking = sys.stdin.isatty() and sys.stdout.isatty() and not run.out.as_json
    with run.memory(create=True, talks=True) as memory:
        talk = Talk(run, memory, source, policy, budget, speaker)
        if talking:
            talk.hold()
            return
        for line in stdin.piped_lines():
            talk.answer(line)


def _head(number: int, hit: Hit) -> Iterator[Part]:
    score = f"{hit.score:5.2f}" if hit.why.is_scored else f"{_NO_SCORE:>5}"
    yield f"{number:2}  {score}  "
    if hit.summary_of:
        yield f"summary of {hit.summary_of} texts", "bold"
        yield f"  node {hit.node}, such as "
    yield short_path(hit.source), "cyan"
    yield f" #{hit.position}{_origin(hit.at, hit.speaker)}  "
    yield hit.entry_id, "dim"


def _mark(hit: Hit) -> Part:
    """What is known against a text, as ``context`` says it."""
    from treering.search.context import against  # here, as the help needs no numerics

    return against(hit), "yellow"


def _folded(hit: Hit) -> Iterator[Part]:
    """The hits that this one represents."""
    if hit.times > 1:
        yield f"\n    × {hit.times}{_latest(hit.at)}", "dim"
    for older in hit.was:
        times = f"  × {older.times}" if older.times > 1 else ""
        yield f"\n    was: {' '.join(older.text.split())}{times}{_latest(older.at)}", "dim"


def _latest(at: datetime | None) -> str:
    return f", latest on {at:%Y-%m-%d}" if at else ""


def _why(hit: Hit) -> Iterator[Part]:
    if hit.level is not None:
        yield f"\n    level {hit.level} of the tree"
    raw = {"lexical": ("BM25", hit.why.bm25), "dense": ("cosine", hit.why.cosine)}
    for place, (name, value) in enumerate(hit.why.terms.items()):
        label, score = raw.get(name, ("", None))
        yield f"\n    {'=' if not place else '+'} "
        term = f"{value:+6.2f}" if hit.why.is_scored else f"{_NO_SCORE:>6}"
        yield f"{name:<10} {term}", "green" if value > 0 else "red" if value < 0 else ""
        yield f"   {label} {score:.2f}" if score is not None else ""
    total = f"{hit.score:+6.2f}" if hit.why.is_scored else f"{_NO_SCORE:>6}"
    yield f"\n    = {'score':<10} {total}   confidence {hit.confidence:.2f}"


def _citation(passage: Passage) -> Iterator[Part]:
    yield f"\n[{passage.number}] "
    yield short_path(passage.source), "cyan"
    yield _origin(passage.at, None)


def _origin(at: datetime | None, speaker: str | None) -> str:
    date = f"  {at:%Y-%m-%d %H:%M}" if at else ""
    return f"{date}  {speaker}" if speaker else date
