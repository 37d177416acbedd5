"""Relations that a language model proposes for a space, kept only if they rank better.

FragRel leaves open which relations a collection needs. Here a model reads a sample of the space and
names relations in the form that ``configure`` reads. Each is tried on pseudo-queries, as in
``fit``. It joins the relations in use if it ranks held-out pseudo-queries better.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from treering.embed.contract import Embedder
from treering.errors import InputError, JournalBusy
from treering.journal import ledger
from treering.journal.space import Space, SpaceReader
from treering.llm.account import ModelAccount
from treering.llm.prompts import load
from treering.llm.structured import ask_structured
from treering.records import Entry, Kind
from treering.search.relations.contract import Plan, Relation, among_people, is_relation
from treering.search.relations.registry import (
    CONFIGURED,
    Suggestion,
    load_plan,
    with_fitted,
    with_relations,
)
from treering.search.snapshot import Snapshot
from treering.views.fit import (
    MIN_QUERIES,
    MIN_WORDS,
    PseudoQueries,
    Scoring,
    fit_kind,
    pseudo_queries,
)
from treering.views.follow import read_sound

PROPOSALS: Final = 3

MIN_ERRORS: Final = 2.5
"""Standard errors of the mean gain: chance gives as much to one of three useless relations in one
run of fifty."""

RUNS: Final = 6  # of the sample, evenly spread
RUN: Final = 4  # fragments, which show neighbours, too
FIELDS: Final = ("kind", "source", "session", "speaker", "at", "metadata", "text")
CHARS: Final = 240  # of a field; all entries and the prompt take some 2,500 tokens
REPLY_TOKENS: Final = 500


@dataclass(frozen=True, slots=True)
class Proposal:
    """One item of the model's reply, not trusted yet."""

    relation: str
    why: str = ""


def suggest(
    space: Space,
    trials: Callable[[SpaceReader], Scoring],
    embedder: Embedder,
    account: ModelAccount,
) -> list[Suggestion]:
    """Ask the model once, try its proposals one after another, and store those that gain.

    Relations of ``configure`` stay: their kinds of content get no proposals. Raises InputError if
    no other kind has enough text, JournalBusy if the settings change meanwhile, and LLMError.
    Nothing is stored then.
    """
    account.llm()  # raises before anything is embedded
    with space.read() as reader:
        stored = ledger.settings(reader)
        scoring = trials(reader)
        queries = _queries(reader, scoring, embedder, stored.get(CONFIGURED, {}))
        sample = _sample(reader, scoring.fragments)
    plan = load_plan(stored)
    plan = among_people(scoring.snapshot, plan) or plan
    request = prompt(sample, {kind: plan[kind] for kind in queries})
    suggestions = []
    for proposal in _ask(account, request):
        words = proposal.relation, proposal.why
        try:
            kind, relation = _parse(proposal.relation, queries, plan)
        except InputError as error:
            suggestions.append(Suggestion(*words, refused=error.message))
            continue
        tried = queries[kind], plan[kind], [[relation]]
        report = fit_kind(scoring, *tried, may_drop=False, errors=MIN_ERRORS)
        if report.kept:
            plan = {**plan, kind: report.chosen}
        suggestions.append(Suggestion(*words, report))
    if reports := [each.report for each in suggestions if each.report and each.kept]:
        with space.write() as writer:
            if ledger.settings(writer) != stored:
                raise JournalBusy("the settings of the space changed during the trials; try again")
            ledger.save_settings(writer, with_fitted(stored, reports))
    return suggestions


def prompt(entries: Iterable[Entry], plan: Plan) -> str:
    """Return the request for relations of the kinds of content in ``plan``."""
    return load("relate_suggest").fill(
        entries="\n".join(map(_line, entries)),
        relations="\n".join(f"{kind}: {choice}" for kind in plan for choice in plan[kind]),
        kinds=" or ".join(plan),
        count=str(PROPOSALS),
    )


def _queries(
    reader: SpaceReader, scoring: Scoring, embedder: Embedder, configured: Container[Kind]
) -> dict[Kind, PseudoQueries]:
    free = [kind for kind in scoring.snapshot.kinds if kind not in configured]
    every = [pseudo_queries(reader, scoring, embedder, kind) for kind in free]
    enough = {queries.kind: queries for queries in every if len(queries) >= MIN_QUERIES}
    if not enough:
        raise InputError(
            f"too little text: a trial needs {MIN_QUERIES} fragments of one kind with at least "
            f"{MIN_WORDS} words each, of a kind whose relations `configure` has not set"
        )
    return enough


def _sample(reader: SpaceReader, snapshot: Snapshot) -> list[Entry]:
    starts = np.linspace(0, len(snapshot), RUNS, endpoint=False, dtype=np.int64)
    rows = (starts[:, None] + np.arange(RUN)).clip(max=len(snapshot) - 1)
    seqs = np.unique(snapshot.entry[rows])
    return list(read_sound(reader, seqs.tolist())[0].values())


def _line(entry: Entry) -> str:
    shown = {name: str(value)[:CHARS] for name in FIELDS if (value := getattr(entry, name))}
    return json.dumps(shown, ensure_ascii=False)


def _ask(account: ModelAccount, request: str) -> list[Proposal]:
    proposals = ask_structured(
        account.llm(),
        request,
        list[Proposal],
        max_tokens=REPLY_TOKENS,
        say_form=False,
        on_reply=partial(account.pay, "relate"),
    )
    return proposals[:PROPOSALS]


def _parse(line: str, kinds: Container[Kind], plan: Plan) -> tuple[Kind, Relation]:
    """Return the kind and the relation of a proposal. Raises InputError if it cannot be tried."""
    settings = with_relations({}, line)
    parsed = load_plan(settings)  # which checks names and weights
    named = [(kind, each.relation) for kind in settings[CONFIGURED] for each in parsed[kind]]
    if len(named) != 1:
        raise InputError(f"it names {len(named)} relations; a proposal is one")
    [(kind, relation)] = named
    if kind not in kinds:
        raise InputError(f"{kind} has too little text here, or relations of `configure`")
    if not is_relation(relation):
        raise InputError(f"{relation.name} reads questions, and pseudo-queries are not questions")
    if any(choice.relation == relation and choice.alpha > 0 for choice in plan[kind]):
        raise InputError("the space has this relation; `treering fit` fits its weight")
    return kind, relation
