"""How sure a hit is: more words held and a clearer lead make surer; nothing is an answer too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering import Memory
from treering.search.scores import FEATURES, Standings, confidences

QUESTION = "Where does the gardener plant tulips?"
LINES = [
    "The gardener plants tulips beside the old wall.",
    "Rain fell on the harbour all week.",
    "The ferry to the island was late again.",
    "A letter from the bank arrived on Monday.",
    "The baker sells rye bread in the morning.",
]

shares = st.floats(0, 1)


@pytest.fixture
def garden(memory: Memory) -> Memory:
    for line in LINES:
        memory.add(line)
    return memory


@given(st.fixed_dictionaries(dict.fromkeys(FEATURES, shares)), st.sampled_from(FEATURES), shares)
def test_more_of_any_feature_makes_a_hit_surer(
    features: dict[str, float], name: str, more: float
) -> None:
    surer = features | {name: features[name] + more}
    [less_sure] = confidences([features], [features])
    [sure] = confidences([surer], [surer])
    assert 0 < less_sure <= sure < 1


def test_a_hit_is_the_surer_the_further_it_is_ahead() -> None:
    def leads(standing: float) -> list[float]:
        best, next_ = ({"standing": value} for value in (1.5, standing))
        return confidences([best, next_], [best, next_])

    clear, close, equal = leads(0.5), leads(1.4), leads(1.5)
    assert clear[0] > close[0] > equal[0] == equal[1] > close[1] > clear[1]


@given(st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=40))
def test_a_standing_is_the_distance_from_the_mean_in_deviations(column: list[float]) -> None:
    scores = np.array(column, dtype=np.float32)
    standing = Standings.from_scores(scores).stand_out(column[0])
    deviation = float(np.std(np.array(column, dtype=np.float64)))
    if deviation > 1e-3:
        expected = (column[0] - float(np.mean(column))) / deviation
        assert standing == pytest.approx(expected / np.sqrt(2 * np.log(len(column) + 2)), abs=1e-3)
    elif deviation == 0:
        assert standing == 0


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_the_hit_that_answers_is_the_surest(garden: Memory, mode: str) -> None:
    first, *others = garden.search(QUESTION, mode=mode)  # type: ignore[arg-type]
    assert first.text == LINES[0]
    assert all(first.confidence > hit.confidence > 0 for hit in others)


def test_search_leaves_out_what_is_less_sure_and_may_find_nothing(garden: Memory) -> None:
    every = garden.search(QUESTION)
    least = 0.9 * every[0].confidence
    assert garden.search(QUESTION, min_confidence=least) == every[:1]
    assert garden.search(QUESTION, min_confidence=1.0) == []
    both = garden.search_many([QUESTION, "moons"], min_confidence=least)
    assert [[hit.text for hit in hits] for hits in both] == [LINES[:1], []]


def test_a_context_may_be_empty_and_says_how_sure_the_best_was(garden: Memory) -> None:
    surest = garden.search(QUESTION)[0].confidence
    plain = garden.context(QUESTION)
    assert len(str(plain).splitlines()) > 3
    least = 0.6 * surest
    sure = garden.context(QUESTION, min_confidence=least)
    assert [hit.text for passage in sure.passages for hit in passage.hits] == LINES[:1]
    empty = garden.context(QUESTION, min_confidence=0.99)
    assert (empty.passages, str(empty), empty.tokens) == ((), "", 0)
    assert empty.surest == pytest.approx(surest, rel=0.4)
