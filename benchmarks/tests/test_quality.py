"""Ranks of evidence, what they say, and when a change of them fails."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from test_suites import write_realmem
from treering.errors import InputError
from treering_bench.embedding import FileCache
from treering_bench.quality import (
    METRICS,
    compared,
    measure,
    read_ranks,
    read_reasons,
    table,
    write_ranks,
)
from worlds import BagOfWords, Bench


def test_metrics_are_computed_of_ranks() -> None:
    values = {name: metric([2, 7]) for name, metric in METRICS.items()}
    assert values == {"recall@3": 0.5, "recall@10": 1, "all@10": 1, "MRR": 0.5}
    values = {name: metric([0, 4]) for name, metric in METRICS.items()}
    assert values == {"recall@3": 0, "recall@10": 0.5, "all@10": 0, "MRR": 0.25}
    assert METRICS["MRR"]([0]) == 0


def test_a_set_fails_if_it_is_surely_worse_and_no_reason_is_given() -> None:
    good = {("chat", str(number)): [1] for number in range(40)}
    bad = {key: [0] for key in good}
    one_lost = good | {("chat", "0"): [0]}
    assert not compared("beam", good, good, "").fails
    assert not compared("beam", one_lost, good, "").fails
    assert not compared("beam", good, bad, "").fails
    assert compared("beam", bad, good, "").fails
    assert not compared("beam", bad, good, "the persona is gone").fails
    assert not compared("beam", bad, {}, "").fails
    text = table([compared("beam", bad, good, "the persona is gone")])
    assert "| 0.0 (-100.0: -100.0 to -100.0) |" in text
    assert "worse: the persona is gone" in text


def test_ranks_survive_a_file(tmp_path: Path) -> None:
    sets = {"beam": {("1", "a"): [1, 3], ("2", "a"): [0]}, "xquad": {("de", "q"): [2]}}
    assert read_ranks(tmp_path) == {}
    write_ranks(tmp_path, sets, "one")
    assert read_ranks(tmp_path) == sets
    write_ranks(tmp_path, {"xquad": {("de", "q"): [1]}}, "two")
    assert read_ranks(tmp_path) == sets | {"xquad": {("de", "q"): [1]}}
    rows = map(json.loads, (tmp_path / "ranks.jsonl").read_text().splitlines())
    assert [(row["set"], row["commit"]) for row in rows] == [
        *[("beam", "one")] * 2,
        ("xquad", "two"),
    ]


def test_a_reason_for_an_unknown_set_is_an_error(tmp_path: Path) -> None:
    assert read_reasons(tmp_path) == {}
    (tmp_path / "reasons.toml").write_text("beam = 'fewer signals'\n")
    assert read_reasons(tmp_path) == {"beam": "fewer signals"}
    (tmp_path / "reasons.toml").write_text("beams = 'fewer signals'\n")
    with pytest.raises(InputError, match="beams"):
        read_reasons(tmp_path)


def test_a_question_is_asked_before_its_session_is_added(tmp_path: Path) -> None:
    write_realmem(tmp_path / "realmem")
    ranks = measure("realmem", tmp_path, BagOfWords(), lambda *_: None)
    assert ranks == {("Ana", "Q-1"): [1]}


def test_vectors_in_a_file_are_computed_once_for_each_model(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "vectors.sqlite"
    model = BagOfWords()
    with closing(FileCache(model, file)) as cache:
        first = cache.embed(["Porto", "the river", "Porto"])
        query = cache.embed(["Porto"], query=True)
    assert model.calls == [(("Porto", "the river"), False), (("Porto",), True)]
    with closing(FileCache(model, file)) as cache:
        again = cache.embed(["Porto", "the river", "Porto"])
        np.testing.assert_array_equal(again, first)
        np.testing.assert_array_equal(cache.embed(["Porto"], query=True), query)
        assert len(model.calls) == 2
        cache.embed(["a boat"])
    other = BagOfWords()
    other.name = "another"
    with closing(FileCache(other, file)) as cache:
        cache.embed(["Porto"])
    assert other.calls == [(("Porto",), False)]


@pytest.mark.usefixtures("bundled_model")
def test_the_command_fails_until_a_reason_or_new_ranks_are_there(
    bench: Bench, tmp_path: Path
) -> None:
    write_realmem(tmp_path / "data" / "realmem")
    committed = tmp_path / "committed"
    committed.mkdir()
    how = ("quality", "--data", tmp_path / "data", "--against", committed, "--cache", tmp_path)
    assert "new" in bench(*how).stdout
    assert bench(*how, "--save").exit_code == 0
    assert "no difference" in bench(*how).stdout
    write_realmem(tmp_path / "data" / "realmem", evidence="s0")
    assert bench(*how).exit_code == 1
    (committed / "reasons.toml").write_text("realmem = 'a smaller list'\n")
    reasoned = bench(*how)
    assert (reasoned.exit_code, "a smaller list" in reasoned.stdout) == (0, True)
    (committed / "reasons.toml").unlink()
    assert bench(*how, "--save").exit_code == 0
    assert bench(*how).exit_code == 0
    assert bench("quality", "--data", tmp_path, "--against", committed).exit_code != 0
