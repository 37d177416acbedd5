"""Markdown tables from results files: means with intervals, differences paired by question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treering.errors import InputError
from treering_bench.metrics.evidence import BUDGETS
from treering_bench.registry import benchmark
from treering_bench.results import QuestionResult, RunHeader
from treering_bench.stats import Interval, bootstrap, paired_difference

COLUMNS: Final = (
    *("recall@5", "all@5", "recall@10", "all@10", "precision@10", "ndcg@10", "mrr", "tokens@10"),
    *("recall@1000tokens", "all@1000tokens", "recall@all", "all@all", "tokens@all"),
    *("token_f1", "exact_match", "rouge_l_recall", "accuracy", "judged", "rating"),
    *("EM", "ES", "IA", "CA", "IFR", "pass@1", "context recall", "context precision"),
    *("topic P", "topic R", "topic F1", "range P", "range R", "range F1", "border F1"),
    *("summary BERTScore P", "summary BERTScore R", "summary BERTScore F1"),
    *("choice P", "choice R", "choice F1", "chat BERTScore", "unread"),
    *("tokens prompt", "tokens reply", "seconds"),
)
"""The columns of a table of means, as far as they were measured."""

_LEADING: Final = ("accuracy", "rating", "judged", "token_f1", "EM", "IA", "pass@1", "topic F1")
"""The metric that a table of answers leads with: the first of these that was measured."""

_BY_KIND: Final = ("judged", "accuracy", "rating", "token_f1", "EM", "ES")
"""Metrics of answers that have a table by category, beside the headline and its ``all@``."""

_POOLED: Final[Mapping[str, Callable[[float, float, float], float]]] = {
    "P": lambda matched, predicted, _: matched / predicted if predicted else 0.0,
    "R": lambda matched, _, reference: matched / reference if reference else 0.0,
    "F1": lambda matched, predicted, reference: (
        2 * matched / (predicted + reference) if predicted + reference else 0.0
    ),
}
"""Precision, recall and micro-averaged F1 from the sums of matches, predictions and references."""

_SUMMANDS: Final = ("matched", "predicted", "reference")
_ROUND: Final = re.compile(r"(.+), round (\d+)")
_THIRDS: Final = ("first third", "middle third", "last third")
_MARK: Final = {"better": " ▲", "worse": "", "no difference": " ="}

Key = tuple[str, str]
"""Task and question."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The contents of one results file, by policy and question."""

    run: RunHeader
    by_policy: Mapping[str, Mapping[Key, QuestionResult]]

    @classmethod
    def group(cls, run: RunHeader, lines: Iterable[QuestionResult]) -> Scores:
        """Group ``lines`` by policy, in the order in which policies first appear."""
        by_policy: dict[str, dict[Key, QuestionResult]] = {}
        for line in lines:
            by_policy.setdefault(line.policy, {})[line.task, line.question] = line
        return cls(run, by_policy)

    @property
    def lines(self) -> list[QuestionResult]:
        """All lines, policy by policy."""
        return [line for scored in self.by_policy.values() for line in scored.values()]

    @property
    def metrics(self) -> list[str]:
        """The metrics that any line holds. ``all@k`` follows each ``recall@k``."""
        stored = dict.fromkeys(metric for line in self.lines for metric in line.metrics)
        return list(dict.fromkeys(name for metric in stored for name in (metric, _all_of(metric))))

    @property
    def headline(self) -> str:
        """The metric that tables lead with."""
        measured = self.metrics
        leading = (benchmark(self.run.benchmark).headline, *_LEADING)
        return next((metric for metric in leading if metric in measured), measured[0])

    def values(self, policy: str, metric: str, category: str | None = None) -> dict[Key, float]:
        """The values of ``metric``, of one category or of all, by question.

        ``all@k`` is 1 where ``recall@k`` is 1: all the evidence is among the best k.
        """
        stored = metric.replace("all@", "recall@", 1) if metric.startswith("all@") else metric
        found = {
            key: line.metrics[stored]
            for key, line in self._policy(policy).items()
            if stored in line.metrics and category in (None, line.category)
        }
        return found if stored == metric else {key: float(v >= 1) for key, v in found.items()}

    def mean(self, policy: str, metric: str) -> tuple[float, int] | None:
        """The mean of a metric, or its value over all pooled lines, and how many these are."""
        name, _, how = metric.rpartition(" ")
        sums = [list(self.values(policy, f"{name} {part}").values()) for part in _SUMMANDS]
        if how in _POOLED and all(sums):
            return _POOLED[how](*map(sum, sums)), len(sums[0])
        values = list(self.values(policy, metric).values())
        return (sum(values) / len(values), len(values)) if values else None

    def categories(self) -> list[str]:
        """The categories of questions, in alphabetical order."""
        return sorted({line.category for line in self.lines})

    def _policy(self, policy: str) -> Mapping[Key, QuestionResult]:
        if policy not in self.by_policy:
            there = ", ".join(self.by_policy) or "none"
            raise InputError(f"no policy {policy!r} was measured; there are: {there}")
        return self.by_policy[policy]


def _all_of(metric: str) -> str:
    return metric.replace("recall@", "all@", 1) if metric.startswith("recall@") else metric


def summary(scores: Scores) -> dict[str, dict[str, float]]:
    """Mean of every metric, and the number of questions ``n``, by policy.

    ``n`` is of the headline; a metric that other questions have is followed by its own.
    """
    means: dict[str, dict[str, float]] = {}
    names = dict.fromkeys([*scores.metrics, *(c for c in COLUMNS if c.endswith((" P", " R")))])
    for policy in scores.by_policy:
        measured = _measured(scores, policy)
        means[policy] = {"n": float(measured)}
        for metric in names:
            if (found := scores.mean(policy, metric)) is not None:
                means[policy][metric] = round(found[0], 6)
                if found[1] != measured:
                    means[policy][f"{metric} n"] = float(found[1])
    return means


def _measured(scores: Scores, policy: str) -> int:
    """How many questions have the headline metric. Without a ranking none has: then any metric."""
    lines = scores.by_policy[policy].values()
    return len(scores.values(policy, scores.headline)) or sum(bool(line.metrics) for line in lines)


def report(scores: Scores, reference: str | None = None) -> str:
    """A Markdown page: the run, means by policy, then by category, position and round.

    ``reference`` is the policy that the others are compared with, by default the first.
    """
    if not scores.by_policy:
        raise InputError("the results file holds no measured question yet")
    reference = reference or next(iter(scores.by_policy))
    scores.values(reference, scores.headline)  # raises for an unknown policy
    parts = [_title(scores), means_table(scores, reference)]
    if any(f"recall@{budget}tokens" in scores.metrics for budget in BUDGETS):
        parts.append(budget_table(scores, list(scores.by_policy)).rstrip("\n"))
    kinds = dict.fromkeys([scores.headline, _all_of(scores.headline), *_BY_KIND])
    by_category = _split(scores, lambda line: line.category, scores.categories())
    by_place = _split(scores, _third, _THIRDS)
    for metric in (metric for metric in kinds if metric in scores.metrics):
        for split, title in ((by_category, metric), (by_place, f"{metric}, evidence in")):
            if len(split) > 1:
                parts.append(_split_table(scores, metric, split, title))
    return "\n\n".join([*parts, *_round_tables(scores)]) + "\n"


def _split(
    scores: Scores, part: Callable[[QuestionResult], str | None], names: Sequence[str]
) -> dict[str, Scores]:
    """The scores by part, without empty parts."""
    lines = {name: [line for line in scores.lines if part(line) == name] for name in names}
    return {name: Scores.group(scores.run, some) for name, some in lines.items() if some}


def _third(line: QuestionResult) -> str | None:
    """The third of its text or chat in which a question's first evidence is."""
    position = line.details.get("position")
    return None if position is None else _THIRDS[min(int(3 * position), 2)]


def _split_table(scores: Scores, metric: str, split: Mapping[str, Scores], title: str) -> str:
    """A metric of each policy by the parts of ``split``."""
    first = next(iter(scores.by_policy))
    sizes = {
        name: len(part.values(first, metric)) if first in part.by_policy else 0
        for name, part in split.items()
    }
    head = [title, *(f"{name or '–'} ({sizes[name]})" for name in split)]
    rows = [
        [policy, *(_mean_of(part, policy, metric) for part in split.values())]
        for policy in scores.by_policy
    ]
    return table(head, rows)


def _round_tables(scores: Scores) -> list[str]:
    """A table for each metric that was measured round by round."""
    rounds: dict[str, list[int]] = {}
    for metric in scores.metrics:
        if found := _ROUND.fullmatch(metric):
            rounds.setdefault(found[1], []).append(int(found[2]))
    return [
        table(
            [f"{name}, round", *map(str, sorted(numbers))],
            [
                [p, *(_mean_of(scores, p, f"{name}, round {n}") for n in sorted(numbers))]
                for p in scores.by_policy
            ],
        )
        for name, numbers in rounds.items()
    ]


def overview(runs: Sequence[Scores], policies: Sequence[str], reference: str) -> str:
    """One Markdown table of several benchmarks: the headline of each policy.

    Recall is followed by the share of questions all of whose evidence is found. A figure that
    ``reference`` does not differ from (paired bootstrap, 95 %) is marked ``=``, one that is above
    it ``▲``; without a mark ``reference`` is better. A benchmark with questions that are counted
    apart has a second row without them.
    """
    head = ["benchmark", "questions", "metric", *policies]
    rows = [
        _overview_row(title, shown, policies, reference)
        for scores in runs
        for title, shown in titled(scores)
    ]
    return f"{table(head, rows)}\n"


def _overview_row(title: str, scores: Scores, policies: Sequence[str], reference: str) -> list[str]:
    metric = scores.headline
    both = dict.fromkeys((metric, _all_of(metric)))
    ours = scores.values(reference, metric)
    cells = []
    for policy in policies:
        there = policy in scores.by_policy
        gap = difference(scores.values(policy, metric), ours) if there else None
        mark = "" if gap is None or policy == reference else _MARK[gap.verdict]
        means = (_mean_of(scores, policy, name) if there else "–" for name in both)
        cells.append(" / ".join(means) + mark)
    return [title, str(len(ours)), " / ".join(both), *cells]


def means_table(scores: Scores, reference: str) -> str:
    """A Markdown table of one benchmark: a row a policy, the headline with its interval first."""
    headline = scores.headline
    known = set(summary(scores)[reference]).union(scores.metrics)
    columns = dict.fromkeys((_all_of(headline), *COLUMNS))  # all@k is beside recall@k
    others = [column for column in columns if column in known and column != headline]
    head = ["policy", "n", f"{headline} (95 %)", *others, f"against {reference}"]
    rows = [_mean_row(scores, policy, headline, others, reference) for policy in scores.by_policy]
    return table(head, rows)


def titled(scores: Scores) -> list[tuple[str, Scores]]:
    """A run's scores under its title; and again without the questions counted apart, if any."""
    measured = benchmark(scores.run.benchmark)
    rows = [(measured.title, scores)]
    if measured.apart and measured.apart in scores.categories():
        others = [line for line in scores.lines if line.category != measured.apart]
        without = Scores.group(scores.run, others)
        rows.append((f"{measured.title} without {measured.apart}", without))
    return rows


def budget_table(scores: Scores, policies: Sequence[str]) -> str:
    """A Markdown table of one benchmark: evidence recall of each policy by tokens spent.

    After each recall stands the share of questions all of whose evidence is shown. A benchmark with
    questions that are counted apart has a second table without them.
    """
    tables = []
    for title, shown in titled(scores):
        rows = [
            [
                policy,
                *(
                    " / ".join(
                        _mean_of(shown, policy, f"{name}@{budget}tokens")
                        for name in ("recall", "all")
                    )
                    for budget in BUDGETS
                ),
            ]
            for policy in policies
        ]
        tables.append(table([f"{title}: recall / all within", *map(str, BUDGETS)], rows))
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


def cases(scores: Scores, count: int) -> str:
    """The first questions with each policy's answer, and its passages if the run saved them."""
    keys = list(dict.fromkeys((line.task, line.question) for line in scores.lines))[:count]
    parts = []
    for key in keys:
        for policy, scored in scores.by_policy.items():
            if key in scored:
                line = scored[key]
                figures = ", ".join(f"{name} {value:g}" for name, value in line.metrics.items())
                parts.append(f"### {' '.join(key)}: {policy}\n\n{figures}")
                parts += [f"{name}: {value}" for name, value in line.details.items() if value]
    return "\n\n".join(parts) + "\n"


def difference(
    new: Mapping[Key, float], old: Mapping[Key, float], *, seed: int = 0
) -> Interval | None:
    """The paired difference over the questions that both hold, or None without shared questions."""
    both = [key for key in new if key in old]
    if not both:
        return None
    return paired_difference([new[k] for k in both], [old[k] for k in both], seed=seed)


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
    lead = (
        _interval(headline, bootstrap(list(values.values()), seed=scores.run.seed))
        if values
        else "–"
    )
    measured = _measured(scores, policy)
    cells = [_mean_of(scores, policy, metric, measured) for metric in others]
    gap = difference(values, scores.values(reference, headline), seed=scores.run.seed)
    against = "–" if policy == reference or gap is None else _verdict(headline, gap)
    return [policy, str(measured), lead, *cells, against]


def _paired_cells(new: Scores, old: Scores, policy: str, metric: str) -> list[str]:
    after, before = new.values(policy, metric), old.values(policy, metric)
    gap = difference(after, before, seed=new.run.seed)
    if gap is None:
        return ["0", "–", "–", "–", "–"]
    both = [key for key in after if key in before]
    means = [_shown(metric, sum(side[k] for k in both) / len(both)) for side in (before, after)]
    return [str(gap.n), *means, _signed(metric, gap), gap.verdict]


def _scale(metric: str) -> int:
    """Scores are shown in percent, costs as they are."""
    return 1 if metric.startswith("tokens") or metric == "seconds" else 100


def _shown(metric: str, mean: float) -> str:
    return f"{mean:,.0f}" if _scale(metric) == 1 else f"{100 * mean:.1f}"


def _mean_of(scores: Scores, policy: str, metric: str, questions: int | None = None) -> str:
    """The mean; followed by how many questions it is over, if these are not all."""
    found = scores.mean(policy, metric) if policy in scores.by_policy else None
    if found is None:
        return "–"
    few = f" ({found[1]})" if questions is not None and found[1] != questions else ""
    return _shown(metric, found[0]) + few


def _interval(metric: str, interval: Interval) -> str:
    mean, low, high = (_scale(metric) * x for x in (interval.mean, interval.low, interval.high))
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def _signed(metric: str, interval: Interval) -> str:
    mean, low, high = (_scale(metric) * x for x in (interval.mean, interval.low, interval.high))
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"


def _verdict(metric: str, interval: Interval) -> str:
    if interval.verdict == "no difference":
        return f"no difference ({_scale(metric) * interval.mean:+.1f})"
    return _signed(metric, interval)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
