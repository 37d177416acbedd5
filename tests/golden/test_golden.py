"""Searches find what they found before, with the same terms."""

from __future__ import annotations

from pathlib import Path

from tests.golden.hits import difference, load_hits, search_all
from tests.golden.vectors import StoredVectors
from treering.search.relations.registry import DEFAULTS

SHOWN = 10
AGAIN = "If searches are to change, run `.venv/bin/python -m tests.golden` and commit the diff."


def test_searches_reproduce_the_stored_hits(tmp_path: Path) -> None:
    answers = list(search_all(tmp_path, StoredVectors()))
    before = load_hits()
    asked = [str(question) for question, _ in answers]
    assert asked == [hits["question"] for hits in before], AGAIN
    changes = [
        f"{question}\n  {change}"
        for (question, now), then in zip(answers, before, strict=True)
        if (change := difference(then, now))
    ]
    shown = "\n".join(changes[:SHOWN])
    assert not changes, f"{len(changes)} of {len(answers)} questions changed.\n{shown}\n{AGAIN}"


def test_every_default_signal_is_a_term_of_some_hit() -> None:
    names = {name for hits in load_hits() for name in hits["terms"]}
    expected = {weighted.relation.name for of_kind in DEFAULTS.values() for weighted in of_kind}
    assert names >= expected | {"lexical", "dense"}
