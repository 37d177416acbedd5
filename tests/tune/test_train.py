"""Tuning as a course of steps: killed, out of room, and gone on with. No model is trained."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest

from tests.raised import raises
from tests.tune.full_disk import files_of_at_most
from treering.errors import InputError, LLMNotConfigured, TextEncodingError, TuningStopped
from treering.tune.train import Checkpoint, TuneOptions, learn, micro_batches, tune

EXAMPLES = list(range(10))
OPTIONS = TuneOptions(epochs=2, batch=3, save_every=2)


class Killed(Exception):
    """Stands for a process that ends."""


class Pupil:
    """Writes down the examples that it is shown; its state is what it has been shown."""

    def __init__(self, steps: int = 1_000) -> None:
        self.seen: list[list[int]] = []
        self.rates: list[float] = []
        self._steps = steps

    def learn(self, examples: Sequence[int], rate: float) -> float:
        if len(self.rates) == self._steps:
            raise Killed
        self.seen.append(list(examples))
        self.rates.append(rate)
        return float(len(self.seen))

    def state(self) -> bytes:
        return json.dumps(self.seen).encode()

    def restore(self, state: bytes) -> None:
        self.seen = json.loads(state)


def test_every_epoch_shows_each_row_once_in_an_order_of_its_own(tmp_path: Path) -> None:
    pupil = Pupil()
    losses = learn(pupil, EXAMPLES, OPTIONS, Checkpoint(tmp_path / "c", "a"))
    assert len(losses) == 8
    first, second = (list(chain(*pupil.seen[begin : begin + 4])) for begin in (0, 4))
    assert sorted(first) == sorted(second) == EXAMPLES
    assert first != second


def test_the_rate_rises_and_then_falls_to_almost_nothing(tmp_path: Path) -> None:
    pupil = Pupil()
    options = TuneOptions(epochs=50, batch=10, rate=0.1)
    learn(pupil, EXAMPLES, options, Checkpoint(tmp_path / "c", "a"))
    assert pupil.rates[:2] == [0.05, 0.1]
    assert pupil.rates[2:] == sorted(pupil.rates[2:], reverse=True)
    assert 0 < pupil.rates[-1] < 0.001


@pytest.mark.parametrize("steps", range(1, 8))
def test_a_killed_run_goes_on_with_the_same_rows_in_the_same_order(
    tmp_path: Path, steps: int
) -> None:
    whole = Pupil()
    learn(whole, EXAMPLES, OPTIONS, Checkpoint(tmp_path / "whole", "a"))
    place = Checkpoint(tmp_path / "killed", "a")
    with pytest.raises(Killed):
        learn(Pupil(steps), EXAMPLES, OPTIONS, place)
    pupil = Pupil()
    losses = learn(pupil, EXAMPLES, OPTIONS, place)
    assert pupil.seen == whole.seen
    assert len(pupil.rates) == 8 - steps // 2 * 2  # a checkpoint after every second step
    assert losses == [float(step) for step in range(1, 9)]


def test_a_course_that_came_to_nothing_is_stopped_with_what_to_do(tmp_path: Path) -> None:
    class Lost(Pupil):
        def learn(self, examples: Sequence[int], rate: float) -> float:
            return super().learn(examples, rate) if len(self.seen) < 2 else float("nan")

    place = Checkpoint(tmp_path / "c", "a")
    with pytest.raises(TuningStopped):
        learn(Lost(), EXAMPLES, OPTIONS, place)
    stored = place.load()
    assert stored is not None
    assert stored[0] == [1.0, 2.0]


def test_too_little_memory_stops_the_tuning_with_what_to_do_and_keeps_the_checkpoint(
    tmp_path: Path,
) -> None:
    class Large(Pupil):
        def learn(self, examples: Sequence[int], rate: float) -> float:
            if len(self.seen) == 2:
                raise MemoryError("the cuda's memory is full; the longest of its rows has 9 tokens")
            return super().learn(examples, rate)

    place = Checkpoint(tmp_path / "c", "a")
    with pytest.raises(TuningStopped):
        learn(Large(), EXAMPLES, OPTIONS, place)
    pupil = Pupil()
    assert len(learn(pupil, EXAMPLES, OPTIONS, place)) == 8
    assert len(pupil.rates) == 6


def test_a_run_whose_time_is_up_keeps_what_it_did(tmp_path: Path) -> None:
    place = Checkpoint(tmp_path / "c", "a")
    assert learn(Pupil(), EXAMPLES, TuneOptions(minutes=0), place) == []
    assert place.load() is None


def test_a_full_disk_stops_the_tuning_and_keeps_the_last_checkpoint(tmp_path: Path) -> None:
    place = Checkpoint(tmp_path / "c", "a")
    with pytest.raises(Killed):
        learn(Pupil(2), EXAMPLES, OPTIONS, place)
    with files_of_at_most(10), pytest.raises(TuningStopped) as stopped:
        learn(Pupil(), EXAMPLES, OPTIONS, place)
    assert "stopped after step 4" in str(stopped.value)
    assert "make room and run the same again" in str(stopped.value)
    stored = place.load()
    assert stored is not None
    assert stored[0] == [1.0, 2.0]
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    assert len(learn(Pupil(), EXAMPLES, OPTIONS, place)) == 8


def test_a_checkpoint_of_another_tuning_and_what_is_none_are_refused(tmp_path: Path) -> None:
    place = Checkpoint(tmp_path / "c", "a")
    learn(Pupil(), EXAMPLES, OPTIONS, place)
    with pytest.raises(InputError, match="of another model, other rows or other options"):
        Checkpoint(place.path, "b").load()
    content = place.path.read_bytes()
    for damaged in (content[:24], content[:-1], content.replace(b'"of"', b'"if"')):
        place.path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"c' is a damaged checkpoint; give another"):
            place.load()
    place.path.write_text("notes", "utf-8")
    with pytest.raises(InputError, match="is no checkpoint"):
        place.load()


def test_options_and_rows_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="batch is 0"):
        TuneOptions(batch=0)
    with raises(InputError, param="rate"):
        TuneOptions(rate=2)
    with raises(InputError, param="minutes"):
        TuneOptions(minutes=-1)
    with pytest.raises(InputError, match="seed is -1; it must be at least 0"):
        TuneOptions(seed=-1)
    with pytest.raises(TextEncodingError):
        tune(tmp_path / "m.gguf", [("a", "\ud800")], tmp_path / "out.gguf", tmp_path / "c")
    with pytest.raises(InputError, match="no rows to learn from"):
        tune(tmp_path / "m.gguf", [], tmp_path / "out.gguf", tmp_path / "c")


def test_neither_the_model_nor_the_checkpoint_is_written_over(tmp_path: Path) -> None:
    model, out = tmp_path / "m.gguf", tmp_path / "out.gguf"
    model.write_bytes(b"GGUF and no more")
    (tmp_path / "link.gguf").symlink_to(model)
    rows = [("a", "b")]
    for place, checkpoint in (
        (model, tmp_path / "c"),
        (tmp_path / "link.gguf", tmp_path / "c"),
        (out, model),
        (out, out),
    ):
        with pytest.raises(InputError, match="written over what is read, or twice"):
            tune(model, rows, place, checkpoint)
    with pytest.raises(InputError, match="is a folder; name a file"):
        tune(model, rows, tmp_path, tmp_path / "c")
    assert model.read_bytes() == b"GGUF and no more"


def test_what_is_no_model_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="needs the extra 'tune'")
    model = tmp_path / "m.gguf"
    with pytest.raises(LLMNotConfigured):
        tune(model, [("a", "b")], tmp_path / "out.gguf", tmp_path / "c")
    model.write_bytes(b"GGUF and no more")
    with pytest.raises(LLMNotConfigured):
        tune(model, [("a", "b")], tmp_path / "out.gguf", tmp_path / "c")


def test_micro_batches_hold_every_row_once_within_their_padded_size() -> None:
    rows = ["abc", "a", "abcdefghi", "ab", "abcd", "a"]
    batches = list(micro_batches(rows, 8))
    assert sorted(chain.from_iterable(batches)) == sorted(rows)
    assert all(len(batch) * max(map(len, batch)) <= 8 for batch in batches if len(batch) > 1)
    assert [len(batch) for batch in micro_batches(rows, 0)] == [1] * len(rows)
