"""Markdown tables from results files: means with intervals, differences paired by question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from treering.errors import InputError
from treering_bench.metrics.evidence import BUDGETS
from treering_bench.registry import Benchmark, benchmark
from treering_bench.results import QuestionResult, RunHeader
from treering_bench.stats import Interval, bootstrap, paired_difference

EVIDENCE_COLUMNS = (
    "recall@5", "recall@10", "precision@10", "ndcg@10", "mrr", "tokens@10",
    "recall@1000tokens", "recall@all", "tokens@all",
)  # fmt: skip
ANSWER_COLUMNS = (
    *("token_f1", "exact_match", "rouge_l_recall", "accuracy", "judged", "rating"),
    *("topic_f1", "summary_bert_score", "choice_f1", "chat_bert_score"),  # means over rows
    *("tokens prompt", "tokens reply"),
)
_ANSWER_HEADLINES = ("accuracy", "token_f1", "rating")
"""The metric that leads an answer table: the first of these that was measured."""

_MARK = {"better": " ▲", "worse": "", "no difference": " ="}

Key = tuple[str, str]
"""Task and question."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The contents of one results file, by policy and question."""

    run: RunHeader
    by_policy: Mapping[str, Mapping[Key, QuestionResult]]

    @classmethod
    def of(cls, run: RunHeader, lines: Iterable[QuestionResult]) -> Scores:
        """Group ``lines`` by policy, in the order in which policies first appear."""
        by_policy: dict[str, dict[Key, QuestionResult]] = {}
        for line in lines:
            by_policy.setdefault(line.policy, {})[line.task, line.question] = line
        return cls(run, by_policy)

    @property
    def metrics(self) -> list[str]:
        """The metrics that any line holds."""
        lines = (line for scored in self.by_policy.values() for line in scored.values())
        return list(dict.fromkeys(metric for line in lines for metric in line.metrics))

    @property
    def headline(self) -> str:
        """The metric that tables lead with."""
        measured = self.metrics
        leading = (benchmark(self.run.benchmark).headline, *_ANSWER_HEADLINES)
        return next((metric for metric in leading if metric in measured), measured[0])

    def values(self, policy: str, metric: str, category: str | None = None) -> dict[Key, float]:
        """The values of ``metric``, of one category or of all, by question."""
        return {
            key: line.metrics[metric]
            for key, line in self._policy(policy).items()
            if metric in line.metrics and category in (None, line.category)
        }

    def categories(self) -> list[str]:
        """The categories of questions, in alphabetical order."""
        lines = (line for scored in self.by_policy.values() for line in scored.values())
        return sorted({line.category for line in lines})

    def without(self, category: str) -> Scores:
        """The scores of all questions but those of one category."""
        return Scores.of(
            self.run,
            (
                line
                for scored in self.by_policy.values()
                for line in scored.values()
                if line.category != category
            ),
        )

    def _policy(self, policy: str) -> Mapping[Key, QuestionResult]:
        if policy not in self.by_policy:
            there = ", ".join(self.by_policy) or "none"
            raise InputError(f"no policy {policy!r} was measured; there are: {there}")
        return self.by_policy[policy]


def summary(scores: Scores) -> dict[str, dict[str, float]]:
    """Mean of every metric, and the number of questions ``n``, by policy.

    ``n`` is of the headline; a metric that other questions have is followed by its own.
    """
    means: dict[str, dict[str, float]] = {}
    for policy in scores.by_policy:
        measured = _measured(scores, policy)
        means[policy] = {"n": float(measured)}
        for metric in scores.metrics:
            if values := list(scores.values(policy, metric).values()):
                means[policy][metric] = round(sum(values) / len(values), 6)
                if len(values) != measured:
                    means[policy][f"{metric} n"] = float(len(values))
    return means


def _measured(scores: Scores, policy: str) -> int:
    """How many questions have the headline metric. Without a ranking none has: then any metric."""
    lines = scores.by_policy[policy].values()
    return len(scores.values(policy, scores.headline)) or sum(bool(line.metrics) for line in lines)


def report(scores: Scores, reference: str | None = None) -> str:
    """A Markdown page: what was run, means by policy, and the headline by category.

    ``reference`` is the policy that the others are compared with, by default the first.
    """
    if not scores.by_policy:
        raise InputError("the results file holds no measured question yet")
    reference = reference or next(iter(scores.by_policy))
    parts = [_title(scores), means_table(scores, reference)]
    if any(f"recall@{budget}tokens" in scores.metrics for budget in BUDGETS):
        parts.append(budget_table(scores, list(scores.by_policy)).rstrip("\n"))
    if len(scores.categories()) > 1:
        parts.append(_category_table(scores))
    return "\n\n".join(parts) + "\n"


def overview(runs: Sequence[Scores], policies: Sequence[str], reference: str) -> str:
    """One Markdown table of several benchmarks: the headline of each policy.

    A figure that ``reference`` does not differ from (paired bootstrap, 95 %) is marked ``=``, one
    that is above it ``▲``; without a mark ``reference`` is better. A benchmark with questions that
    stand apart has a second row without them.
    """
    head = ["benchmark", "questions", "metric", *policies]
    rows = [
        _overview_row(title, shown, policies, reference)
        for scores in runs
        for title, shown in titled(scores)
    ]
    return f"{table(head, rows)}\n"


def means_table(scores: Scores, reference: str) -> str:
    """A Markdown table of one benchmark: a row a policy, the headline with its interval first."""
    headline = scores.headline
    columns = (*EVIDENCE_COLUMNS, *ANSWER_COLUMNS)
    others = [m for m in columns if m in scores.metrics and m != headline]
    head = ["policy", "n", f"{headline} (95 %)", *others, f"against {reference}"]
    rows = [_mean_row(scores, policy, headline, others, reference) for policy in scores.by_policy]
    return table(head, rows)


def titled(scores: Scores) -> list[tuple[str, Scores]]:
    """A run's scores under its title; and again without the questions that stand apart, if any."""
    measured = benchmark(scores.run.benchmark)
    rows = [(measured.title, scores)]
    if isinstance(measured, Benchmark) and measured.apart in scores.categories():
        rows.append((f"{measured.title} without {measured.apart}", scores.without(measured.apart)))
    return rows


def budget_table(scores: Scores, policies: Sequence[str]) -> str:
    """A Markdown table of one benchmark: evidence recall of each policy by tokens spent.

    A benchmark with questions that stand apart has a second table without them.
    """
    metrics = [f"recall@{budget}tokens" for budget in BUDGETS]
    tables = []
    for title, shown in titled(scores):
        rows = [
            [policy, *(_mean_of(shown, policy, metric) for metric in metrics)]
            for policy in policies
        ]
        tables.append(table([f"{title}: recall within", *map(str, BUDGETS)], rows))
    return "\n\n".join(tables) + "\n"


def compare(new: Scores, old: Scores) -> str:
    """A Markdown table of the paired differences, new minus old, for every policy in both."""
    if new.run.benchmark != old.run.benchmark or new.run.data_sha256 != old.run.data_sha256:
        raise InputError(
            "the two runs measured different data, so no pairing of them has a meaning: of "
            f"{new.run.benchmark} {new.run.data_sha256[:12]} and of {old.run.benchmark} "
            f"{old.run.data_sha256[:12]}; a folder and the file in it count as different, too"
        )
    shared = [policy for policy in new.by_policy if policy in old.by_policy]
    if not shared:
        raise InputError("the two runs have no policy in common")
    metric = new.headline
    head = ["policy", "n", f"{metric} before", "after", "difference (95 %)", "verdict"]
    rows = [[policy, *_paired_cells(new, old, policy, metric)] for policy in shared]
    title = (
        f"### {benchmark(new.run.benchmark).title}: {old.run.commit[:12]} → {new.run.commit[:12]}"
    )
    return f"{title}\n\n{table(head, rows)}\n"


def difference(
    new: Mapping[Key, float], old: Mapping[Key, float], *, seed: int = 0
) -> Interval | None:
    """The paired difference over the questions that both hold, or None if there is none."""
    both = [key for key in new if key in old]
    if not both:
        return None
    return paired_difference([new[k] for k in both], [old[k] for k in both], seed=seed)


def _overview_row(title: str, scores: Scores, policies: Sequence[str], reference: str) -> list[str]:
    metric = scores.headline
    ours = scores.values(reference, metric)
    cells = []
    for policy in policies:
        values = scores.values(policy, metric) if policy in scores.by_policy else {}
        gap = difference(values, ours, seed=scores.run.seed)
        mark = "" if gap is None or policy == reference else _MARK[gap.verdict]
        cells.append(_mean(metric, list(values.values())) + mark)
    return [title, str(len(ours)), metric, *cells]


def _title(scores: Scores) -> str:
    run = scores.run
    settings = ", ".join(f"{key} {value}" for key, value in run.settings.items())
    return (
        f"### {benchmark(run.benchmark).title}\n\n"
        f"Commit `{run.commit[:12]}`, data `{run.data_sha256[:12]}`, seed {run.seed}, "
        f"treering {run.versions['treering']}, Python {run.versions['python']}; {settings}."
    )


def _mean_row(
    scores: Scores, policy: str, headline: str, others: Sequence[str], reference: str
) -> list[str]:
    values = scores.values(policy, headline)
    lead = _interval(bootstrap(list(values.values()), seed=scores.run.seed)) if values else "–"
    measured = _measured(scores, policy)
    cells = [_mean_of(scores, policy, metric, measured) for metric in others]
    gap = difference(values, scores.values(reference, headline), seed=scores.run.seed)
    against = "–" if policy == reference or gap is None else _verdict(gap)
    return [policy, str(measured), lead, *cells, against]


def _category_table(scores: Scores) -> str:
    categories, headline = scores.categories(), scores.headline
    first = next(iter(scores.by_policy))
    sizes = [len(scores.values(first, headline, category)) for category in categories]
    head = [headline, *(f"{c or '–'} ({n})" for c, n in zip(categories, sizes, strict=True))]
    rows = [
        [
            policy,
            *(
                _mean(headline, list(scores.values(policy, headline, c).values()))
                for c in categories
            ),
        ]
        for policy in scores.by_policy
    ]
    return table(head, rows)


def _paired_cells(new: Scores, old: Scores, policy: str, metric: str) -> list[str]:
    after, before = new.values(policy, metric), old.values(policy, metric)
    gap = difference(after, before, seed=new.run.seed)
    if gap is None:
        return ["0", "–", "–", "–", "–"]
    both = [key for key in after if key in before]
    means = [_mean(metric, [side[key] for key in both]) for side in (before, after)]
    return [str(gap.n), *means, _signed(gap), gap.verdict]


def _mean(metric: str, values: Sequence[float]) -> str:
    if not values:
        return "–"
    mean = sum(values) / len(values)
    return f"{mean:,.0f}" if metric.startswith("tokens") else f"{100 * mean:.1f}"


def _mean_of(scores: Scores, policy: str, metric: str, questions: int | None = None) -> str:
    """The mean; followed by how many questions it is over, if these are not all."""
    values = list(scores.values(policy, metric).values())
    differs = bool(values) and questions is not None and len(values) != questions
    return f"{_mean(metric, values)} ({len(values)})" if differs else _mean(metric, values)


def _interval(interval: Interval) -> str:
    return f"{100 * interval.mean:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _signed(interval: Interval) -> str:
    return f"{100 * interval.mean:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


def _verdict(interval: Interval) -> str:
    if interval.verdict == "no difference":
        return f"no difference ({100 * interval.mean:+.1f})"
    return _signed(interval)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
