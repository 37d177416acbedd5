"""Making the summaries that inserts and erasures have queued: in parallel, safe to interrupt."""

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
from treering.records import Progress, Spent
from treering.views.tree import store
from treering.views.tree.aggregate import Aggregate, Aggregator
from treering.views.tree.grow import Grower
from treering.views.tree.shape import Tree
from treering.views.tree.store import Summary

CALLS_IN_FLIGHT: Final = 8
"""Language model calls at a time: what a small local server batches and a rate limit bears."""

MOST_TEXTS: Final = 64
"""Children that a summary made afresh is made from: those most like the whole. A topic of
thousands would otherwise be read in full for every change below it."""

ALL: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class _Job:
    """What is needed to make one summary, read at one moment."""

    summary: Summary
    current: str | None
    news: tuple[str, ...]
    entries: int


@dataclass(slots=True)
class _Queue:
    """The summaries to make. Those made afresh wait for the summaries among their children."""

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
        """Let what has waited for this one go on."""
        self.finished += 1
        above = self.waiting.pop(number, None)
        if above is not None:
            self.blocked[above].discard(number)
            if not self.blocked[above]:
                del self.blocked[above]
                self.ready.append(above)


class SummarySettler:
    """Makes queued summaries with an aggregator and embeds them."""

    def __init__(
        self, grower: Grower, embedder: Embedder, aggregator: Aggregator, progress: Progress | None
    ) -> None:
        self._grower = grower
        self._embedder = embedder
        self._aggregator = aggregator
        self._progress = progress

    def run(self) -> None:
        """Make every summary that is queued now.

        Raises the first LLMError after the rest has been done, an EmbeddingError at once: without
        its vector no summary can be kept. What failed, and what is made from it, stays queued.
        """
        queue = self._queue()
        failures: list[LLMError] = []
        running: dict[Future[Aggregate], _Job] = {}
        with ThreadPoolExecutor(CALLS_IN_FLIGHT, thread_name_prefix="treering-tree") as pool:
            try:
                while queue.ready or running:
                    while queue.ready and len(running) < 2 * CALLS_IN_FLIGHT:
                        job = self._job(queue.ready.pop())
                        if job is not None:
                            running[pool.submit(self._aggregate, job)] = job
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    failures += self._take({future: running.pop(future) for future in done}, queue)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        if failures:
            raise failures[0]

    def _aggregate(self, job: _Job) -> Aggregate:
        return self._aggregator.aggregate(job.current, job.news, job.entries)

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
            else:
                nodes = tree.arrived(number, summary.taken)
                current = summary.text
                entries = max(len(set(tree.children(number)).difference(nodes)), 1)
            news = _texts(reader, state.id, tree, nodes)
            if current is None and not news:
                return None
            return _Job(replace(summary, taken=tree.bound - 1), current, news, entries)

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
        if self._progress and results:
            self._progress(queue.finished, queue.total)
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
                    if tree.newest(number) <= summary.taken:
                        work.claim(writer, state.id, store.SUMMARIES, [number])
                if result.usage.calls:
                    ledger.spend(writer, state.id, _cost(result))
            self._grower.commit(writer, state.id, tree)

    def _note(self, failed: Sequence[tuple[_Job, LLMError]]) -> None:
        """Note why calls failed; a reason may quote what the call was given."""
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
    """The texts of nodes in the order given; a summary that is not made yet has none."""
    leaves = store.leaf_texts(reader, space, [node for node in nodes if tree.is_leaf(node)])
    summaries = store.summaries(reader, space, [node for node in nodes if not tree.is_leaf(node)])
    texts = {number: leaf.text for number, leaf in leaves.items()}
    texts |= {number: summary.text for number, summary in summaries.items() if summary.text}
    return tuple(texts[node] for node in nodes if node in texts)


def _cost(aggregate: Aggregate) -> Spent:
    usage = aggregate.usage
    return Spent(
        "tree", aggregate.made_by, usage.calls, usage.prompt_tokens, usage.completion_tokens
    )
