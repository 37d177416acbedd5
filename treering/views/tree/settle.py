"""Makes the summaries that inserts and erasures have queued: in parallel, safe to interrupt."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from typing import Final

from treering.embed.contract import Embedder, unit_vectors
from treering.errors import LLMError
from treering.journal import ledger, work
from treering.journal.contract import Reader
from treering.llm.tokens import estimate_tokens
from treering.records import Progress
from treering.views.follow import CALLS_IN_FLIGHT, model_calls
from treering.views.support import SupportCheck, claims_of
from treering.views.tree import store
from treering.views.tree.aggregate import (
    EXTRACTIVE,
    MEDIAN_TOKENS,
    Aggregate,
    Aggregator,
    central_sentences,
)
from treering.views.tree.grow import Grower
from treering.views.tree.shape import Tree
from treering.views.tree.store import Summary
from treering.views.tree.texts import leaf_texts

MOST_TEXTS: Final = 64
"""A summary that is made afresh is made from so many children, those most like the whole. A topic
with thousands would otherwise be read in full for every change below it."""


@dataclass(frozen=True, slots=True)
class _Job:
    """The input of one summary, read in one transaction."""

    summary: Summary
    current: str | None
    news: tuple[str, ...]
    entries: int
    limit: int | None


class SummarySettler:
    """Makes queued summaries with an aggregator and embeds them."""

    def __init__(self, grower: Grower, embedder: Embedder, aggregator: Aggregator) -> None:
        self._grower = grower
        self._embedder = embedder
        self._aggregator = aggregator
        self._keeps_all = grower.settings().tree_claims == "all"
        self._check = SupportCheck(embedder)

    def run(self, progress: Progress | None = None) -> None:
        """Make every summary that is queued now.

        Raises the first LLMError when the rest is done, and an EmbeddingError at once: a summary
        cannot be stored without its vector. A summary that failed stays queued, and so do those
        made from it.
        """
        due = self._due()
        if not due:
            return
        total = len(due)
        failed: dict[int, LLMError] = {}
        running: dict[Future[Aggregate], _Job] = {}
        try:
            with model_calls(store.SUMMARIES) as pool:
                while ready := _ready(due, failed):
                    while ready or running:
                        # Twice as many jobs as threads: none idles while results are stored.
                        while ready and len(running) < 2 * CALLS_IN_FLIGHT:
                            job = self._job(number := ready.pop())
                            if job is None:
                                del due[number]
                            else:
                                running[pool.submit(self._aggregate, job)] = job
                        done, _ = wait(running, return_when=FIRST_COMPLETED)
                        made, refused = _results({future: running.pop(future) for future in done})
                        self._store(made)
                        self._note(refused)
                        failed |= {job.summary.number: error for job, error in refused}
                        for job, _ in made:
                            del due[job.summary.number]
                        if progress:
                            progress(total - len(due), total)
        finally:
            # ``progress`` may end it: then the calls under way are paid for, too.
            paid = {future: job for future, job in running.items() if not future.cancelled()}
            self._store(_results(paid)[0])
        for error in failed.values():
            raise error

    def _aggregate(self, job: _Job) -> Aggregate:
        """A summary of which every sentence says what the texts that it is made of support.

        If a model writes no such sentence, the most central sentences of the texts stand instead.
        """
        summary = self._aggregator.aggregate(job.current, job.news, job.entries, job.limit)
        if summary.made_by == EXTRACTIVE or self._keeps_all:
            return summary
        texts = [*([job.current] if job.current else []), *job.news]
        claims = claims_of(summary.text)
        verdicts = self._check.verdicts(claims, texts)
        if all(verdicts):
            return summary
        supported = [claim for claim, is_so in zip(claims, verdicts, strict=True) if is_so]
        if supported:
            return replace(summary, text=" ".join(supported))
        central = central_sentences(texts, job.limit or MEDIAN_TOKENS, estimate_tokens)
        return replace(summary, text=central, made_by=EXTRACTIVE)

    def _due(self) -> dict[int, set[int]]:
        """The queued summaries, the deepest last, with the queued ones that each is made from."""
        with self._grower.read() as (reader, tree):
            queued = work.targets(reader, reader.space, store.SUMMARIES, store.ALL)
            summaries = store.summaries(reader, queued)
        return {
            number: summaries.keys() & tree.children(number)
            if self._from_children(summaries[number])
            else set()
            for number in sorted(sorted(summaries), key=tree.depth)
        }

    def _from_children(self, summary: Summary) -> bool:
        return summary.text is None or summary.afresh or not self._aggregator.incremental

    def _job(self, number: int) -> _Job | None:
        with self._grower.read() as (reader, tree):
            if number not in tree:
                return None
            summary = store.summaries(reader, [number])[number]
            current, entries = None, 1
            if self._from_children(summary):
                nodes = tree.central(number, MOST_TEXTS)
                if summary.text is None and tree.settings.tree_receiver == "kept":
                    nodes = tree.children(number)[:1]  # the leaf that it was
            else:
                nodes = tree.leaves_since(number, summary.taken)
                current = summary.text
                entries = max(len(set(tree.children(number)).difference(nodes)), 1)
            news = _texts(reader, tree, nodes)
            if current is None and not news:
                return None
            limit = _token_limit(tree, number)
            return _Job(replace(summary, taken=tree.bound - 1), current, news, entries, limit)

    def _store(self, results: list[tuple[_Job, Aggregate]]) -> None:
        if not results:
            return
        vectors = unit_vectors(self._embedder, [result.text for _, result in results])
        with self._grower.write() as (writer, tree):
            model = writer.model
            if model is None or model.name != self._embedder.name:
                return
            for (job, result), vector in zip(results, vectors, strict=True):
                summary = replace(job.summary, text=result.text, made_by=result.made_by)
                number = summary.number
                if store.save_summary(writer, summary, model, vector):
                    tree.set_content(number, vector)
                    # A leaf that came meanwhile is not in this text: the summary stays queued.
                    if not tree.leaves_since(number, summary.taken):
                        work.claim(writer, writer.space, store.SUMMARIES, [number])
                if result.usage.calls:
                    ledger.spend(writer, result.usage.spent("tree", self._aggregator.made_by))
            self._grower.commit(writer, tree)

    def _note(self, failed: Sequence[tuple[_Job, LLMError]]) -> None:
        """Note why calls failed.

        A reason may quote the texts of the call. So none is stored for a summary whose texts were
        erased since.
        """
        if not failed:
            return
        with self._grower.write() as (writer, _):
            summaries = store.summaries(writer, [job.summary.number for job, _ in failed])
            for job, error in failed:
                number = job.summary.number
                if number in summaries and summaries[number].generation == job.summary.generation:
                    work.note_failure(writer, writer.space, store.SUMMARIES, [number], str(error))


def _token_limit(tree: Tree, number: int) -> int | None:
    """The most tokens of a summary; None for no limit."""
    settings = tree.settings
    deeper = settings.tree_deeper_tokens * (tree.depth(number) - 1)
    return settings.tree_tokens + deeper if settings.tree_tokens else None


def _texts(reader: Reader, tree: Tree, nodes: list[int]) -> tuple[str, ...]:
    """The texts of nodes in the given order. A summary that is not made yet is left out."""
    leaves = leaf_texts(reader, [node for node in nodes if tree.is_leaf(node)])
    summaries = store.summaries(reader, [node for node in nodes if not tree.is_leaf(node)])
    texts = {number: leaf.text for number, leaf in leaves.items()}
    texts |= {number: summary.text for number, summary in summaries.items() if summary.text}
    return tuple(texts[node] for node in nodes if node in texts)


def _ready(due: Mapping[int, Set[int]], failed: Collection[int]) -> list[int]:
    """The summaries that wait for no other one, and have not failed."""
    return [n for n, below in due.items() if n not in failed and below.isdisjoint(due)]


def _results(
    done: Mapping[Future[Aggregate], _Job],
) -> tuple[list[tuple[_Job, Aggregate]], list[tuple[_Job, LLMError]]]:
    """The summaries that were made, and the errors of the others."""
    made: list[tuple[_Job, Aggregate]] = []
    refused: list[tuple[_Job, LLMError]] = []
    for future, job in done.items():
        try:
            made.append((job, future.result()))
        except LLMError as error:
            refused.append((job, error))
    return made, refused
