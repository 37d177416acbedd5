"""Write the tables of measured figures into the pages from the committed results.

Run as ``python -m tools.document_results``; it also draws ``docs/figures/plots``. A test compares
the result with what is committed, so no page can claim what no results file says. A table stands
between ``<!-- NAME -->`` and ``<!-- /NAME -->``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from treering_bench import plots
from treering_bench.compression import FEWER, WHOLE
from treering_bench.memo_tuning import tuned_table
from treering_bench.method_table import methods_table
from treering_bench.metrics.evidence import BUDGETS
from treering_bench.perf import report as speed
from treering_bench.perf.timing import OURS
from treering_bench.policy.registry import GROUPS
from treering_bench.registry import benchmark
from treering_bench.report import (
    Key,
    Scores,
    budget_table,
    difference,
    means_table,
    overview,
    table,
    titled,
)
from treering_bench.results import read
from treering_bench.trees.words import shares_of, word_table

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PLOTS = ROOT / "docs" / "figures" / "plots"
DRAWN = "locomo"  # whose recall by tokens and sweeps are drawn, as an example of all
GROWTH = (("memory", "search"), ("memory", "open"), ("tree", "tree"))
TREE_PAGE = "docs/figures/results-tree.md"
MEMO_PAGE = "docs/figures/results-memos.md"
PAGES = (
    "docs/figures/measuring.md",
    "docs/explanation/papers.md",
    "README.md",
    TREE_PAGE,
    MEMO_PAGE,
)

_PLAIN = ("fusion", "rank-fusion", "bm25", "dense")
_FADING = ("memory-stream", "memory-stream+rarity", "memory-bank")
_WHOLE_TREES = ("raptor", "tree-collapsed")
_OWN = ("treering", "fusion", "dense")
_PEERS = (
    *("peer:lancedb-hybrid", "peer:llamaindex-hybrid", "peer:chroma", "peer:lancedb"),
    *("peer:llamaindex", "peer:mem0"),
)
_WINDOWS = ("lexical", "lexical+relation", "windows:lexical", "windows:lexical+relation")
_WRITTEN = ("with:topic", "with:default+topic", "memory-stream", "memory-stream+rated")
_MATCHED = {
    "topic": "topics, of the same range",
    "summary_range": "summaries, their ranges alone",
    "summary_bert_score": "summaries, by BERTScore",
    "choice": "choices among memos",
}
_LANGUAGES = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "ru": "Russian",
    "ar": "Arabic",
    "hi": "Hindi",
    "zh": "Chinese",
}
_FOUND = ("treering", "recall@10")
_MILLION = {
    "warm context": "a warm search of 1,000,000 turns by words, meaning and context",
    "warm semantic": "… with the semantic relation too",
    "after-add": "the search after one add",
    "after-add worst": "… the worst of 100",
    "after-forget": "the search after one forget",
    "by-source": "a search of one source",
    "by-speaker": "… of one speaker",
    "by-time": "… of a tenth of the time",
    "by-metadata": "… by metadata",
    "by-metadata worst": "… by a key of metadata that nobody asked for before",
    "first": "the first search of a process",
    "resident": "main memory a turn, after that",
    "peak": "… the most it ever takes",
    "store": "storing a turn, vectors given",
    "forget": "forgetting a turn, gone from the file's bytes",
    "forget-source": "forgetting a source of 15 lines, gone from the file's bytes",
    "forget-wait reader": "what another reader waits for a forget at most",
    "forget-wait writer": "… another writer",
}
_HUNDRED_THOUSAND = {
    "warm context": "a warm search of 100,000 turns",
    "after-forget": "the search after one forget",
    "forgets": "100 forgets asked for at once by different tenants",
}
_TEN_MILLION = {
    "warm context": "a warm search of 10,000,000 turns",
    "peak": "main memory a turn there, the most it ever takes",
}
_LARGE = {
    "import-wait writer": "what another writer waits for an import of 1,000,000 lines at most",
    "text-wait writer": "… for a text of 100 MB",
}
_SPEED = (
    ("upkeep", "ingest", 100_000, "taking in a turn, embedding included"),
    *(("million", operation, 1_000_000, what) for operation, what in _MILLION.items()),
    *(("million", operation, 100_000, what) for operation, what in _HUNDRED_THOUSAND.items()),
    *(("ten-million", operation, 10_000_000, what) for operation, what in _TEN_MILLION.items()),
    *(("live", operation, 1_000_000, what) for operation, what in _LARGE.items()),
    ("tree", "tree", 1_000_000, "a turn's way into a tree of 1,000,000 nodes"),
    ("code", "code", 300_000, "indexing 300,000 lines of Python"),
)
"""What the README tells of speed: file, operation, size, and what that is. What was not measured
has no row."""
_MARKED = re.compile(r"<!-- (?P<name>[a-z-]+) -->\n.*?<!-- /(?P=name) -->", re.DOTALL)


def tables(page: str) -> Mapping[str, Callable[[], str]]:
    """The tables of a page, by the name they are marked with."""
    known = ("treering", *_PLAIN)
    if page == "README.md":
        return {"overview": lambda: _overview("", known), "speed": _speed}
    if page == "docs/explanation/papers.md":
        return {"presets": _presets}
    if page == TREE_PAGE:
        return {"written-summaries": _tree_words, "methods": _methods}
    if page == MEMO_PAGE:
        return {"tuned": _tuned}
    return {
        "overview": lambda: _overview("", ("treering", "own", *_PLAIN, *_FADING, *_WHOLE_TREES)),
        "languages": _languages,
        "answers": lambda: _answers("answers"),
        "budgets": _budgets,
        "peers": _peers,
        "instructions": _instructions,
        "memos": lambda: _overview("memos", ("treering", "own", *_WRITTEN, "fusion", "dense")),
        "ablation": lambda: _overview("sweeps", GROUPS["ablation"]),
        "alpha": lambda: _overview("sweeps", ("treering", *GROUPS["sweep:alpha"])),
        "w": lambda: _overview("sweeps", ("treering", *GROUPS["sweep:w"])),
        "code": _code,
        "windows": lambda: _overview("windows", _WINDOWS),
        "compression": _compression,
        "perf": _perf,
    }


def document(page: str, text: str) -> str:
    """The text of a page with every marked table written anew."""
    known = tables(page)

    def written(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- {name} -->\n{known[name]()}<!-- /{name} -->"

    return _MARKED.sub(written, text)


@cache
def scores(folder: str) -> list[Scores]:
    """All results files of a folder of the results."""
    return [Scores.of(*read(file)) for file in sorted((RESULTS / folder).glob("*.jsonl.gz"))]


def _overview(folder: str, policies: Sequence[str]) -> str:
    return overview(scores(folder), policies, policies[0])


def _peers() -> str:
    """Other systems, which do not change with treering, beside its newest run on the same data."""
    ours = {measured.run.benchmark: measured for measured in scores("")}
    rows = []
    for theirs in scores("peers"):
        newest = ours[theirs.run.benchmark]
        assert newest.run.data_sha256 == theirs.run.data_sha256
        own = {policy: newest.by_policy[policy] for policy in _OWN}
        rows.append(replace(theirs, by_policy={**theirs.by_policy, **own}))
    return overview(rows, (*_OWN, *_PEERS), _OWN[0])


def _languages() -> str:
    """The share of XQuAD's questions whose paragraph is among the first ten, by language."""
    shares = [
        f"{100 * _mean(Scores.of(*read(RESULTS / 'languages' / file)).values(*_FOUND)):.1f}"
        for file in (f"{code}.jsonl.gz" for code in _LANGUAGES)
    ]
    return f"{table([*_LANGUAGES.values()], [shares])}\n"


def _answers(folder: str) -> str:
    pages = []
    for one in scores(folder):
        how = one.run.settings
        head = f"{benchmark(one.run.benchmark).title}: {how['model']}, {how['budget']} tokens"
        first = next(iter(one.by_policy))
        pages.append(f"{head} of context\n\n{means_table(one, first)}\n")
    return "\n".join(pages)


def _instructions() -> str:
    told = json.loads((RESULTS / "memos" / "instructions.json").read_text(encoding="utf-8"))
    rows = ["| of | precision | recall | F1 |", "| --- | --- | --- | --- |"]
    for name, what in _MATCHED.items():
        cells = (f"{100 * told[name][part]:.1f}" for part in ("precision", "recall", "f1"))
        rows.append(f"| {what} | {' | '.join(cells)} |")
    chats = f"Chats: BERTScore {100 * told['chat_bert_score']:.1f}."
    replies = f"Of {told['rows']} replies {told['unread']} could not be read."
    table = "\n".join(rows)
    return f"{table}\n\n{chats} {replies}\n"


def _budgets() -> str:
    policies = (
        *("treering", "context", "tree-mixed", *_PLAIN, *_WHOLE_TREES, "mpc"),
        *("whole", "middle-cut", "window"),
    )
    pages = []
    for one in scores(""):
        measured = [policy for policy in policies if policy in one.by_policy]
        pages.append(budget_table(one, measured))
    return "\n".join(pages)


def _presets() -> str:
    """What a preset shows of the evidence, beside search as it comes, by hits and by tokens."""
    as_it_comes = {measured.run.benchmark: measured for measured in scores("sweeps")}
    rows = []
    for measured in scores("presets"):
        preset = measured.run.settings["preset"]
        plain = titled(as_it_comes[measured.run.benchmark])
        for (title, by_preset), (_, ours) in zip(titled(measured), plain, strict=True):
            found, tokens = (_values(by_preset, metric) for metric in ("recall@all", "tokens@all"))
            gap = difference(found, _values(ours, "recall@10"))
            assert gap is not None  # both are of the same questions
            told = f"{100 * gap.mean:+.1f} [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]"
            spent = _mean(tokens)
            room = next((budget for budget in BUDGETS if budget >= spent), BUDGETS[-1])
            ten = f"{100 * _mean(_values(ours, 'recall@10')):.1f}"
            within = f"{100 * _mean(_values(ours, f'recall@{room}tokens')):.1f} ({room:,})"
            shown = [f"{100 * _mean(found):.1f}", f"{spent:,.0f}", ten, told, within]
            rows.append([title, str(len(found)), f"`{preset}`", *shown])
    head = ["benchmark", "questions", "preset", "finds", "in tokens", "ten hits of search"]
    return f"{table([*head, 'difference (95 %)', 'search within tokens'], rows)}\n"


def _values(measured: Scores, metric: str) -> Mapping[Key, float]:
    return measured.values("treering", metric)


def _mean(values: Mapping[Key, float]) -> float:
    return sum(values.values()) / len(values)


def _tree_words() -> str:
    """What contexts from trees hold of the answers, by who wrote the summaries."""
    pages = []
    for file in sorted((RESULTS / "trees").glob("*.json")):
        figures = json.loads(file.read_text(encoding="utf-8"))
        shares = shares_of(figures)
        cost = figures["summaries"]
        spent = f"{cost['calls']:,} calls, {cost['prompt_tokens'] + cost['completion_tokens']:,}"
        makers = ", ".join(f"{count} {maker}" for maker, count in cost["made_by"].items())
        written = word_table(shares, "flat_dense")
        beside_texts = {key: of for key, of in shares.items() if key[1] in ("texts", "mixed")}
        mixed = word_table(beside_texts, "texts")
        pages.append(f"Summaries: {makers}; {spent} tokens.\n\n{written}\n\n{mixed}\n")
    return "\n".join(pages)


def _methods() -> str:
    """A table for each run: of which data, and what wrote memos and summaries."""
    pages = []
    for file in sorted((RESULTS / "methods").glob("*.jsonl")):
        run, *rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        of = ", ".join([*run["data"], *(["code"] if run["code"] else [])])
        wrote = f"summaries and memos by {run['model']}" if run["model"] else "summaries extracted"
        pages.append(f"Of {of}; {wrote}:\n\n{methods_table(rows)}\n")
    return "\n".join(pages)


def _tuned() -> str:
    """A model before and after it was tuned: what it writes, and what it chooses."""
    figures = json.loads((RESULTS / "memos" / "tuned.json").read_text(encoding="utf-8"))
    parts = ("ranges", "borders", "choosing")
    named = [[name for name in figures["f1"] if name.startswith(part)] for part in parts]
    return "\n\n".join(tuned_table(figures, names) for names in named) + "\n"


def _code() -> str:
    found = scores("code")
    policies = list(dict.fromkeys(policy for one in found for policy in one.by_policy))
    return overview(found, [p for p in policies if not p.startswith(("map", "rounds"))], "lexical")


def _compression() -> str:
    rows = []
    for file in sorted((RESULTS / "compression").glob("*.json")):
        printed = json.loads(file.read_text(encoding="utf-8"))
        shares = {(row["way"], row["rate"]): row for row in printed["kept"]}
        [whole] = [row for (way, _), row in shares.items() if way == WHOLE]
        [compressed] = {way for way, _ in shares} - {FEWER, WHOLE}
        of = f"{benchmark(printed['of']).title}, {whole['questions']} questions"
        rows.append([of, "1", *_kept_cells(whole), *_kept_cells(whole)])
        for rate in sorted({rate for way, rate in shares if way == FEWER}, reverse=True):
            cells = [cell for way in (FEWER, compressed) for cell in _kept_cells(shares[way, rate])]
            rows.append(["", f"{rate:g}", *cells])
    head = ["", "rate"]
    head += [f"{way}: {part}" for way in (FEWER, "compressed") for part in ("evidence", "answer")]
    return f"{table(head, rows)}\n"


def _kept_cells(row: Mapping[str, float]) -> list[str]:
    return [f"{100 * row[part]:.1f}" for part in ("evidence", "answer")]


def _speed() -> str:
    rows = ["| what | takes | against |", "| --- | --- | --- |"]
    timings = {path.stem: speed.read(path).by_key for path in (RESULTS / "perf").glob("*.jsonl")}
    for file, operation, n, what in _SPEED:
        ours = timings.get(file, {}).get((operation, n, OURS))
        if ours is None:
            continue
        told = f"{speed.ratio(ours)} × {speed.limits([operation]).partition(': ')[2]}"
        rows.append(f"| {what} | {speed.value(ours)} | {told} |")
    return "\n".join(rows) + "\n"


def _perf() -> str:
    pages = []
    for file in sorted((RESULTS / "perf").glob("*.jsonl")):
        timings = speed.read(file)
        pages.append(f"{speed.table(timings)}\n\nLimits: {speed.limits(timings.operations)}.\n")
    return "\n".join(pages)


def draw(folder: Path) -> None:
    """The plots that the pages show: recall by tokens, sweeps, growth."""
    for one in scores(""):
        if one.run.benchmark == DRAWN:
            plots.plot_budgets(one, folder / f"{DRAWN}-budgets.svg")
    for one in scores("sweeps"):
        if one.run.benchmark == DRAWN:
            plots.plot_sweeps(one, folder, DRAWN, "svg")
    for file in sorted((RESULTS / "perf").glob("*.jsonl")):
        timings = speed.read(file)
        for operation in timings.operations:
            if (file.stem, operation) in GROWTH:
                speed.plot(timings, operation, folder / f"perf-{operation}.svg")
        if file.stem == "million":
            speed.plot_live(timings, folder / "perf-live.svg")


def main() -> None:
    """Write all pages and plots."""
    for page in PAGES:
        path = ROOT / page
        path.write_text(document(page, path.read_text(encoding="utf-8")), encoding="utf-8")
    draw(PLOTS)


if __name__ == "__main__":
    main()
