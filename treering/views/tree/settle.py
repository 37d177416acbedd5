"""Makes the summaries that inserts and erasures have queued: in parallel, safe to interrupt."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Final

from treering.embed.checked import checked
from treering.embed.contract import Embedder
from treering.errors import LLMError
from treering.journal import ledger, work
from treering.journal.contract import Reader
from treering.llm.tokens import estimate_tokens
from treering.records import Progress
from treering.views.support import SupportCheck, claims_of, says_nothing
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

CALLS_IN_FLIGHT: Final = 8
"""Language model calls at a time: what a small local server batches and a rate limit allows."""

MOST_TEXTS: Final = 64
"""A summary that is made afresh is made from so many children, those most like the whole. A topic
with thousands would otherwise be read in full for every change below it."""

ALL: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class _Job:
    """The input of one summary, read in one transaction."""

    summary: Summary
    current: str | None
    news: tuple[str, ...]
    entries: int
    limit: int | None


@dataclass(slots=True)
class _Queue:
    """The summaries to make. A summary made afresh waits for the summaries among its children."""

    total: int = 0
    ready: list[int] = field(default_factory=list)
    blocked: dict[int, set[int]] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)
    finished: int = 0

    def block(self, number: int, below: set[int]) -> None:
        """Let a summary wait for those below it."""
        self.blocked[number] = below
        self.waiting.update(dict.fromkeys(below, number))

    def done(self, number: int) -> None:
        """Note a finished summary; the one above it is ready if it waits for no other."""
        self.finished += 1
        above = self.waiting.pop(number, None)
        if above is not None:
            self.blocked[above].discard(number)
            if not self.blocked[above]:
                del self.blocked[above]
                self.ready.append(above)


class SummarySettler:
    """Makes queued summaries with an aggregator and embeds them."""

    def __init__(self, grower: Grower, embedder: Embedder, aggregator: Aggregator) -> None:
        self._grower = grower
        self._embedder = embedder
        self._aggregator = aggregator
        self._keeps_all = grower.settings().claims == "all"
        self._check = SupportCheck(embedder)

    def run(self, progress: Progress | None = None) -> None:
        """Make every summary that is queued now.

        Raises the first LLMError when the rest is done, and an EmbeddingError at once: a summary
        cannot be stored without its vector. A summary that failed stays queued, and so do those
        made from it.
        """
        queue = self._queue()
        if not queue.total:
            return
        failures: list[LLMError] = []
        running: dict[Future[Aggregate], _Job] = {}
        with ThreadPoolExecutor(CALLS_IN_FLIGHT, thread_name_prefix="treering-tree") as pool:
            try:
                while queue.ready or running:
                    # Twice as many jobs as threads: no thread idles while results are stored.
                    while queue.ready and len(running) < 2 * CALLS_IN_FLIGHT:
                        job = self._job(queue.ready.pop())
                        if job is not None:
                            running[pool.submit(self._aggregate, job)] = job
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    failures += self._take({future: running.pop(future) for future in done}, queue)
                    if progress:
                        progress(queue.finished, queue.total)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        if failures:
            raise failures[0]

    def _aggregate(self, job: _Job) -> Aggregate:
        """A summary of which every sentence says what the texts that it is made of support.

        Of what a model writes the other sentences are dropped; if none is left, the most central
        sentences of the texts stand for them.
        """
        made = self._aggregator.aggregate(job.current, job.news, job.entries, job.limit)
        if made.made_by == EXTRACTIVE or self._keeps_all:
            return made
        texts = [*([job.current] if job.current else []), *job.news]
        claims = claims_of(made.text)
        verdicts = [
            is_so and not says_nothing(claim, texts)
            for claim, is_so in zip(claims, self._check.verdicts(claims, texts), strict=True)
        ]
        if all(verdicts):
            return made
        supported = [claim for claim, is_so in zip(claims, verdicts, strict=True) if is_so]
        if supported:
            return replace(made, text=" ".join(supported))
        central = central_sentences(texts, job.limit or MEDIAN_TOKENS, estimate_tokens)
        return replace(made, text=central, made_by=EXTRACTIVE)

    def _queue(self) -> _Queue:
        with self._grower.reading() as open_tree:
            if open_tree is None:
                return _Queue()
            reader, state, tree = open_tree
            waiting = set(work.queued(reader, state.id, store.SUMMARIES, ALL))
            summaries = store.summaries(reader, state.id, sorted(waiting))
        queue = _Queue(total=len(summaries))
        # The deepest last, so that it is taken first and its ancestors are not kept waiting.
        for number in sorted(summaries, key=tree.depth):
            below = {child for child in tree.children(number) if child in summaries}
            if below and self._from_children(summaries[number]):
                queue.block(number, below)
            else:
                queue.ready.append(number)
        return queue

    def _from_children(self, summary: Summary) -> bool:
        return summary.text is None or summary.afresh or not self._aggregator.incremental

    def _job(self, number: int) -> _Job | None:
        with self._grower.reading() as open_tree:
            if open_tree is None or number not in open_tree[2]:
                return None
            reader, state, tree = open_tree
            summary = store.summaries(reader, state.id, [number])[number]
            current, entries = None, 1
            if self._from_children(summary):
                nodes = tree.central(number, MOST_TEXTS)
                if summary.text is None and tree.settings.receiver == "kept":
                    nodes = tree.children(number)[:1]  # the leaf that it was, as it stood
            else:
                nodes = tree.arrived(number, summary.taken)
                current = summary.text
                entries = max(len(set(tree.children(number)).difference(nodes)), 1)
            news = _texts(reader, state.id, tree, nodes)
            if current is None and not news:
                return None
            limit = tree.settings.summary_limit(tree.depth(number))
            return _Job(replace(summary, taken=tree.bound - 1), current, news, entries, limit)

    def _take(self, done: dict[Future[Aggregate], _Job], queue: _Queue) -> list[LLMError]:
        """Store what was made, note what failed."""
        results: list[tuple[_Job, Aggregate]] = []
        failed: list[tuple[_Job, LLMError]] = []
        for future, job in done.items():
            error = future.exception()
            if error is None:
                results.append((job, future.result()))
            elif isinstance(error, LLMError):
                failed.append((job, error))
            else:
                raise error
        self._store(results)
        self._note(failed)
        for job, _ in results:
            queue.done(job.summary.number)
        return [error for _, error in failed]

    def _store(self, results: list[tuple[_Job, Aggregate]]) -> None:
        if not results:
            return
        vectors = checked(self._embedder, [result.text for _, result in results])
        with self._grower.writing() as open_tree:
            if open_tree is None:
                return
            writer, state, tree = open_tree
            if state.model is None or state.model.name != self._embedder.name:
                return
            for (job, result), vector in zip(results, vectors, strict=True):
                summary = replace(job.summary, text=result.text, made_by=result.made_by)
                number = summary.number
                if store.save_summary(writer, state.id, summary, state.model, vector):
                    tree.set_content(number, vector)
                    # A leaf that came meanwhile is not in this text: the summary stays queued.
                    if tree.newest(number) <= summary.taken:
                        work.claim(writer, state.id, store.SUMMARIES, [number])
                if result.usage.calls:
                    ledger.spend(writer, result.usage.spent("tree", self._aggregator.made_by))
            self._grower.commit(writer, state.id, tree)

    def _note(self, failed: Sequence[tuple[_Job, LLMError]]) -> None:
        """Note why calls failed.

        A reason may quote the texts of the call. So none is stored for a summary whose texts were
        erased since.
        """
        if not failed:
            return
        with self._grower.writing() as open_tree:
            if open_tree is None:
                return
            writer, state, _ = open_tree
            summaries = store.summaries(writer, state.id, [job.summary.number for job, _ in failed])
            for job, error in failed:
                number = job.summary.number
                if number in summaries and summaries[number].generation == job.summary.generation:
                    work.failed(writer, state.id, store.SUMMARIES, [number], str(error))


def _texts(reader: Reader, space: int, tree: Tree, nodes: list[int]) -> tuple[str, ...]:
    """The texts of nodes in the given order. A summary that is not made yet is left out."""
    leaves = leaf_texts(reader, space, [node for node in nodes if tree.is_leaf(node)])
    summaries = store.summaries(reader, space, [node for node in nodes if not tree.is_leaf(node)])
    texts = {number: leaf.text for number, leaf in leaves.items()}
    texts |= {number: summary.text for number, summary in summaries.items() if summary.text}
    return tuple(texts[node] for node in nodes if node in texts)
