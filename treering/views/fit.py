"""Choosing the relations' weights and parameters for a space, without labels.

FragRel sets α and w_rel by hand (its limitation 1). Here a space tests itself. Some words of a
fragment become a query, and most of these words are removed from the fragment. The query must then
find the rest of the fragment among all other fragments. One half of such pseudo-queries chooses the
relations and weights; they are kept only if they rank the other half better by more than chance.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from treering.arrays import Codes, Floats
from treering.embed.contract import Embedder, unit_vectors
from treering.errors import InputError
from treering.journal.contract import Reader
from treering.records import KINDS, Kind, Mode, Progress
from treering.search.pipeline import beside_messages, pieces_a_message
from treering.search.relations.contract import (
    Plan,
    Relation,
    Relations,
    Weighted,
    among_people,
    is_relation,
)
from treering.search.relations.decay import ContextRelation
from treering.search.relations.group import Session, Speaker
from treering.search.relations.registry import FitReport
from treering.search.relations.semantic import Semantic
from treering.search.scores import cosine_scores, fuse, own_total
from treering.search.snapshot import Snapshot
from treering.search.terms import Terms, terms
from treering.text import with_speaker
from treering.views.fragments import store

QUERIES = 400  # half to choose by, half to test on
MIN_QUERIES = 40
MIN_WORDS = 8  # a fragment needs words for a query and words to be found by
QUERY_SHARE = 0.4  # of a fragment's words, as in a question about it
TAKEN_SHARE = 0.6  # of the query's words: questions share some words with their answers
SAMPLE = 20_000  # fragments a target is ranked among; the scores are those of the whole space
ALPHAS = (0.25, 0.5, 1.0, 2.0, 3.0)
WIDTHS = (0.3, 0.5, 0.7, 0.85)
MIN_ERRORS = 2.0  # standard errors of the mean gain: what chance gives in one of forty fits
BATCH = 16  # pseudo-queries scored at once: columns of N scores
SEED = 7


@dataclass(frozen=True, slots=True)
class PseudoQueries:
    """Queries whose answer is known: row ``rows[q]``, of which only ``left[q]`` is left."""

    kind: Kind
    rows: Codes
    asked: list[Terms]
    asked_vectors: Floats
    left: list[Terms]
    left_vectors: Floats

    def __len__(self) -> int:
        return len(self.rows)


def fit(
    reader: Reader,
    scoring: Scoring,
    embedder: Embedder,
    plan: Plan,
    configured: Container[Kind],
) -> list[FitReport]:
    """Fit every kind of content that has enough text; one report per kind.

    The relations of the ``plan`` are fitted, and others are tried beside them. Of a kind whose
    relations were ``configured``, such as by a preset, only these are fitted, by their weights and
    parameters. Raises InputError if no kind has enough text, or any relation.
    """
    reports = []
    fixed = [kind for kind in KINDS if kind in configured and not _relations(plan[kind])]
    plan = among_people(scoring.snapshot, plan) or plan
    for kind in KINDS:
        queries = pseudo_queries(reader, scoring, embedder, kind)
        if len(queries) < MIN_QUERIES or kind in fixed:
            continue
        before, is_own = plan.get(kind, ()), kind in configured
        families = [] if is_own else _families()
        known = {family[0].name for family in families}
        own = [one for one in _relations(before) if one.name not in known]
        families += map(_parameters, own)
        reports.append(fit_kind(scoring, queries, before, families, may_drop=not is_own))
    if not reports and fixed:
        raise InputError(
            f"no relation of {' or '.join(fixed)} is configured here, so there is none to fit; "
            "`configure` sets some"
        )
    if not reports:
        raise InputError(
            f"too little text: `fit` needs {MIN_QUERIES} fragments of one kind with at least "
            f"{MIN_WORDS} words each; the relations stay as they are"
        )
    return reports


def fit_kind(
    scoring: Scoring,
    queries: PseudoQueries,
    default: Sequence[Weighted],
    families: Sequence[Sequence[Relation]],
    *,
    may_drop: bool,
    errors: float = MIN_ERRORS,
) -> FitReport:
    """Fit one kind of content: try each of some families of relations besides the ``default``.

    The result is ``kept`` if its mean gain exceeds ``errors`` standard errors. Unless
    ``may_drop``, each default relation stays, with other parameters and weights at most.
    """
    tried = {*_relations(default)}.union(*families)
    plan = {queries.kind: default}
    cut = pieces_a_message(scoring.snapshot, scoring.bound, plan)
    trial = _Trial.measure(scoring, queries, sorted(tried, key=repr), cut)
    tuning, test = np.arange(0, len(queries), 2), np.arange(1, len(queries), 2)
    # One family of relations at a time: trying all combinations would take their product in trials.
    chosen = tuple(default)
    for family in families:
        variants = _variants(chosen, family, may_drop=may_drop)
        chosen = max(variants, key=lambda v: float(trial.reciprocal_ranks(v, tuning).mean()))
    before = trial.reciprocal_ranks(default, test)
    after = trial.reciprocal_ranks(chosen, test)
    gain = after - before
    error = float(gain.std() / np.sqrt(len(gain)))
    is_better = float(gain.mean()) > errors * error
    return FitReport(
        queries.kind, len(queries), float(before.mean()), float(after.mean()), chosen, is_better
    )


@dataclass(frozen=True, slots=True)
class Scoring:
    """How pseudo-queries are scored: as searches of the space are.

    ``snapshot`` has a row for each text that is ranked: a fragment, or a round of a chat.
    ``fragments`` has the space's fragments, and ``row_of`` the row of each.
    """

    snapshot: Snapshot
    fragments: Snapshot
    row_of: Codes
    mode: Mode
    progress: Progress | None
    bound: Relations = field(default_factory=Relations)

    def parts(self, row: int) -> list[int]:
        """Return the ids of the fragments of a row, as they are read."""
        rows = np.flatnonzero(self.row_of == row)
        position = self.fragments.items.position
        ids: list[int] = self.fragments.fragment[rows[np.argsort(position[rows])]].tolist()
        return ids


def _relations(weighted: Sequence[Weighted]) -> list[Relation]:
    return [choice.relation for choice in weighted if is_relation(choice.relation)]


def _families() -> list[list[Relation]]:
    return [
        [ContextRelation(w, within) for w in WIDTHS for within in ("document", "session")],
        [Session()],
        [Speaker()],
        [Semantic()],
    ]


def _parameters(relation: Relation) -> list[Relation]:
    """A relation with other parameters."""
    if isinstance(relation, ContextRelation):
        return [replace(relation, w=w) for w in sorted({*WIDTHS, relation.w})]
    return [relation]


def _variants(
    current: tuple[Weighted, ...], family: Sequence[Relation], *, may_drop: bool
) -> list[tuple[Weighted, ...]]:
    """The current choice, and variants of it without a family or with another of its members."""
    others = tuple(choice for choice in current if choice.relation.name != family[0].name)
    of_people = any(choice.among_people is not None for choice in current)
    return [current, *([others] if may_drop else [])] + [
        (*others, Weighted(relation, alpha, alpha if of_people else None))
        for relation in family
        for alpha in ALPHAS
    ]


@dataclass(frozen=True, slots=True)
class _Trial:
    """Own and environment scores of a sample of S fragments for Q pseudo-queries, all (S, Q)."""

    own: Floats
    env: dict[Relation, Floats]
    target: Codes  # (Q,): the place of each query's answer in the sample
    cut: float  # pieces a message, where they are of chats

    @classmethod
    def measure(
        cls,
        scoring: Scoring,
        queries: PseudoQueries,
        relations: Sequence[Relation],
        cut: float,
    ) -> _Trial:
        snapshot = scoring.snapshot
        rng = np.random.default_rng(SEED)
        size = min(SAMPLE, len(snapshot))
        others = rng.choice(len(snapshot), size=size, replace=False)
        sample = np.unique(np.concatenate([others, queries.rows]))
        shape = (len(sample), len(queries))
        own = np.empty(shape, dtype=np.float32)
        env = {relation: np.empty(shape, dtype=np.float32) for relation in relations}
        for start in range(0, len(queries), BATCH):
            batch = slice(start, start + BATCH)
            numbers = range(start, min(start + BATCH, len(queries)))
            # Each query's scores are contiguous.
            scores = np.stack([_masked_own(scoring, queries, number) for number in numbers]).T
            own[:, batch] = scores[sample]
            for relation in relations:
                env_scores = scoring.bound.environment(
                    relation, snapshot.items, snapshot.version, scores
                )
                env[relation][:, batch] = env_scores[sample]
            if scoring.progress:
                scoring.progress(min(start + BATCH, len(queries)), len(queries))
        return cls(own, env, np.searchsorted(sample, queries.rows), cut)

    def reciprocal_ranks(self, weighted: Sequence[Weighted], which: Codes) -> Floats:
        """The reciprocal ranks of the answers to some of the queries, shape of ``which``."""
        scores = self.own[:, which]
        for choice in beside_messages({"chat": weighted}, self.cut)["chat"]:
            if is_relation(choice.relation):  # pseudo-queries ask for nothing but their words
                scores = scores + np.float32(choice.alpha) * self.env[choice.relation][:, which]
        answers = scores[self.target[which], np.arange(len(which))]
        ranks = 1 + (scores > answers).sum(axis=0)
        reciprocal: Floats = (1 / ranks).astype(np.float32)
        return reciprocal


def _masked_own(scoring: Scoring, queries: PseudoQueries, number: int) -> Floats:
    """Base scores, shape (N,). The answer to the query is scored by what is left of its text."""
    snapshot, asked, row = scoring.snapshot, queries.asked[number], queries.rows[number]
    vector = queries.asked_vectors[number]
    bm25 = None if scoring.mode == "dense" else snapshot.lexical.score(asked)
    cosines = cosine_scores(snapshot, vector, scoring.mode)
    if bm25 is not None:
        bm25[row] = snapshot.lexical.score_text(asked, queries.left[number])
    if cosines is not None:
        cosines.values[row] = vector @ queries.left_vectors[number]
    return own_total(fuse(snapshot, bm25, cosines), len(snapshot))


def pseudo_queries(
    reader: Reader, scoring: Scoring, embedder: Embedder, kind: Kind
) -> PseudoQueries:
    """Return pseudo-queries of the rows of one kind that have enough words."""
    snapshot, rng = scoring.snapshot, np.random.default_rng(SEED)
    rows = np.flatnonzero((snapshot.kind == KINDS.index(kind)) & snapshot.embedded)
    answers: list[int] = []
    asked: list[str] = []
    left: list[str] = []
    for row in rng.permutation(rows)[: 4 * QUERIES].tolist():
        texts = store.texts(reader, scoring.parts(row))
        words = " ".join(text for _, text, _ in texts).split()
        if len(words) < MIN_WORDS or len(answers) == QUERIES:
            continue
        draw = rng.random((2, len(words)))
        asks = draw[0] < QUERY_SHARE
        stays = ~asks | (draw[1] > TAKEN_SHARE)
        question = " ".join(word for word, ask in zip(words, asks, strict=True) if ask)
        rest = " ".join(word for word, stay in zip(words, stays, strict=True) if stay)
        if len(terms(question)) and len(terms(rest)):
            answers.append(row)
            asked.append(question)
            left.append(with_speaker(rest, texts[0][2]))
    return PseudoQueries(
        kind,
        rows=np.array(answers, dtype=np.int64),
        asked=[terms(text) for text in asked],
        asked_vectors=unit_vectors(embedder, asked, query=True),
        left=[terms(text) for text in left],
        left_vectors=unit_vectors(embedder, left),
    )
