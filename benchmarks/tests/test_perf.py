"""Timing: small worlds through every operation, and what is made of the timings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from treering.errors import InputError
from treering_bench.perf import fresh
from treering_bench.perf.report import (
    Slowdown,
    Timings,
    better,
    goes_on,
    limits,
    read,
    slower,
    usual,
    write,
)
from treering_bench.perf.run import (
    LIMITS,
    OF_MEMORIES,
    OPERATIONS,
    again,
    done_as,
    run,
)
from treering_bench.perf.texts import turns
from treering_bench.perf.timing import (
    LIMIT,
    LOOK_S,
    OURS,
    Bounds,
    Timing,
    compared,
    in_turn,
    many_rounds,
    rest,
    spread,
)
from treering_bench.perf.world import World, vectors_in
from treering_bench.results import this_run
from worlds import BagOfWords

HEADER = this_run("perf", "", 0, {"max_n": 1000})


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World(BagOfWords(), bounds=Bounds(patience=0.0))) as opened:
        yield opened


def timings(ratio: float, operation: str = "search", system: str = OURS) -> Timings:
    found = [
        Timing(operation, 1000, LIMIT, 0.001, 1.0),
        Timing(operation, 1000, system, 0.001 * ratio, ratio),
    ]
    return Timings(HEADER, tuple(found))


def test_ratios_are_of_the_means_so_that_their_order_is_that_of_the_values() -> None:
    found = compared("store", 7, {LIMIT: [1.0, 2.0, 3.0], OURS: [2.0, 6.0, 4.0]})
    assert found == [Timing("store", 7, LIMIT, 2.0, 1.0), Timing("store", 7, OURS, 4.0, 2.0)]


def test_ways_take_turns_and_the_first_round_only_warms_up() -> None:
    done: list[str] = []
    ways = {LIMIT: lambda: done.append("a"), OURS: lambda: done.append("b")}
    found = in_turn("x", 1, ways, rounds=2)
    assert done == ["a", "b"] * 3
    assert [one.system for one in found] == [LIMIT, OURS]


def test_what_is_timed_waits_for_threads_that_are_still_busy() -> None:
    pauses: list[float] = []
    rest(lambda: min(sum(pauses), 3.5 * LOOK_S), pauses.append)  # busy for three looks and a half
    assert pauses == [LOOK_S] * 5


def test_a_world_holds_the_same_in_all_systems_while_it_grows(world: World) -> None:
    assert {one.system for one in world.grow(30)} == {LIMIT, OURS}
    world.grow(50)
    assert world.memory.stats().fragments == 50
    assert vectors_in(world.bare.path).shape == (50, BagOfWords.dimension)


def test_a_large_world_stands_beside_a_bare_file_of_its_first_turns() -> None:
    bounds = Bounds(patience=0.0, bare_most=1_000)
    timed = [
        one
        for each in run(["store", "warm", "size"], 1_200, BagOfWords(), bounds=bounds)
        for one in each
    ]
    of_size = {n: {one.operation.split()[0] for one in timed if one.n == n} for n in (1_000, 1_200)}
    assert of_size == {1_000: {"store", "warm", "size"}, 1_200: {"warm"}}


@pytest.mark.parametrize("name", sorted(OF_MEMORIES))
def test_every_operation_of_a_memory_is_timed_against_its_limit(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh, "LEAST_ROUNDS", 1)  # each round starts a process
    world.grow(30)
    timed = OF_MEMORIES[name](world)
    by_operation: dict[str, dict[str, Timing]] = {one.operation: {} for one in timed}
    for one in timed:
        assert done_as(one.operation, one.n) == (name, 30)
        by_operation[one.operation][one.system] = one
    for systems in by_operation.values():
        assert systems[LIMIT].ratio == 1.0
        assert systems[OURS].value > 0
    assert world.memory.stats().fragments == 30


def test_the_worst_is_beside_the_limits_median() -> None:
    found = spread("x", 7, {LIMIT: [1.0, 2.0, 9.0], OURS: [2.0, 4.0, 6.0]})
    assert found == [
        Timing("x", 7, LIMIT, 2.0, 1.0),
        Timing("x", 7, OURS, 4.0, 2.0),
        Timing("x worst", 7, LIMIT, 2.0, 1.0),
        Timing("x worst", 7, OURS, 6.0, 3.0),
    ]


def test_what_takes_long_is_done_fewer_times_but_three() -> None:
    done: list[int] = []
    assert many_rounds(lambda: done.append(1), patience=0.0) == len(done) == 3
    assert many_rounds(lambda: done.append(1), patience=60.0) == 100


def test_a_world_that_was_cut_short_grows_on_from_what_is_whole(tmp_path: Path) -> None:
    with closing(World(BagOfWords(), tmp_path)) as world:
        world.grow(30)
        world.memory.add("to be forgotten", source="passing")
        world.bare.add(["a batch ahead"], world.vectors.embed(["a batch ahead"]))
    with closing(World(BagOfWords(), tmp_path)) as world:
        assert world.n == 30
        assert world.grow(30) == []
        assert {one.n for one in world.grow(50)} == {50}
        texts = [entry.text for entry in world.memory.entries()]
        assert vectors_in(world.bare.path).shape == (50, BagOfWords.dimension)
    assert texts == [turn["content"] for turn in (*turns(0, 30), *turns(30, 20))]
    with (
        closing(World(BagOfWords(), tmp_path)) as world,
        pytest.raises(InputError, match="50 turns"),
    ):
        world.grow(40)


def test_only_what_is_not_done_is_timed_and_in_a_memory_that_is_kept(tmp_path: Path) -> None:
    def timed(*done: tuple[str, int]) -> list[tuple[str, int]]:
        found = run(["store", "size"], 2_000, BagOfWords(), done, tmp_path)
        return sorted({(one.operation, one.n) for each in found for one in each})

    first = timed(("size", 1_000), ("store", 2_000))
    assert first == [("size", 2_000), ("store", 1_000)]
    assert timed(("size", 1_000), ("store", 1_000)) == [("size", 2_000)]
    assert timed(*((name, n) for name in ("size", "store") for n in (1_000, 2_000))) == []


def names(found: Iterable[list[Timing]]) -> list[tuple[str, int]]:
    return sorted({(one.operation, one.n) for each in found for one in each})


def test_only_the_sizes_that_are_named_are_timed_again_the_largest_in_the_memory_kept(
    tmp_path: Path,
) -> None:
    with closing(World(BagOfWords(), tmp_path)) as world:
        world.grow(2_000)
    wanted = {("size", 2_000), ("store", 1_000), ("code", 1_000)}
    grown = {("store", 2_000)}  # which cannot be told from what is filled
    assert names(again(wanted | grown, 2_000, BagOfWords(), tmp_path)) == sorted(wanted)
    assert names(again(grown, 2_000, BagOfWords())) == sorted(grown)


def test_every_operation_says_what_its_limit_is() -> None:
    assert set(LIMITS) == set(OPERATIONS)
    assert limits(["warm context", "warm semantic"]) == "warm: the matrix-vector product"


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "perf" / "t.jsonl"
    write(path, timings(2.0))
    assert read(path) == timings(2.0)
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="holds no timings"):
        read(path)


def test_a_ratio_beyond_the_tolerance_is_slower_and_seconds_do_not_count() -> None:
    old = timings(2.0)
    assert slower(timings(2.9), old) == []
    assert slower(timings(3.1), old) == [Slowdown("search", 1000, 2.0, 3.1)]
    assert slower(timings(3.1), old, tolerance=2.0) == []
    assert slower(timings(9.0, operation="open"), old) == []
    assert slower(timings(9.0, "x worst"), timings(2.0, "x worst")) == []
    longer = tuple(replace(one, value=100 * one.value) for one in old.timed)
    assert slower(Timings(HEADER, longer), old) == []


def test_of_several_runs_the_median_ratio_is_the_usual_one(tmp_path: Path) -> None:
    for name, ratio in (("a", 9.0), ("b", 2.0), ("c", 3.0)):
        write(tmp_path / f"{name}.jsonl", timings(ratio))
    assert usual(tmp_path).timed == timings(3.0).timed
    write(tmp_path / "d.jsonl", timings(4.0))
    assert usual(tmp_path).timed == timings(3.5).timed
    assert usual(tmp_path / "a.jsonl") == timings(9.0)
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="holds no timings"):
        usual(tmp_path / "none")


def test_the_better_of_two_timings_counts() -> None:
    slow, fast = timings(3.0), timings(2.0)
    assert better(slow, fast).timed == better(fast, slow).timed == fast.timed
    assert better(slow, timings(1.0, operation="open")) == slow


def test_timings_go_on_only_with_those_of_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    assert goes_on(path, HEADER) == Timings(HEADER, ())
    write(path, timings(2.0))
    later = replace(HEADER, started="2030-01-01")
    assert goes_on(path, later).done == {("search", 1000)}
    with pytest.raises(InputError, match="another settings"):
        goes_on(path, replace(HEADER, settings={"max_n": 7}))
