"""Session blocks: sequences and working memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.embedders import HashingEmbedder
from treering.errors import InputError
from treering.views.code.rounds.session import SessionBlock, chained, linked
from treering.views.code.write.choices import Likeness, pair_similarities

FIRST = "def area(a, b):\n    return a * b\n"
SECOND = "def area(a, b):\n    if a < 0:\n        raise ValueError('negative')\n    return a * b\n"


def exact(one: str, other: str) -> float:
    return float(one == other)


def block(instruction: str, code: str, definition: str = "area") -> SessionBlock:
    return SessionBlock(definition, instruction, code)


def test_the_first_block_has_no_change_and_the_next_has_the_diff() -> None:
    first, second = chained([block("write", FIRST), block("check", SECOND)])
    assert not first.change.added
    assert {s.type for s in second.change.added} == {"if_statement", "raise_statement"}


def test_working_memory_is_the_last_block_and_those_of_like_instruction() -> None:
    blocks = [block(instruction, SECOND) for instruction in ("check", "faster", "check")]
    assert [b.instruction for b in linked(blocks, exact)] == ["check", "check"]
    assert linked([], exact) == ()


def test_likeness_is_a_cosine_or_more_than_a_share_of_all_pairs() -> None:
    pairs = np.linspace(0, 1, 101, dtype=np.float32)
    assert Likeness.of("0.95").among(pairs) == 0.95
    assert Likeness.of("90%").among(pairs) == pytest.approx(0.9)
    assert Likeness.of("90%").among(pairs[:3]) == 0.95  # too few pairs to tell


@pytest.mark.parametrize("text", ["0", "1.5", "101%", "much", "", "nan", "-1%"])
def test_what_is_no_likeness_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=f"alike is '{text}'; it is a cosine such as '0.95'"):
        Likeness.of(text)


def test_pairs_of_instructions_are_of_different_ones() -> None:
    assert len(pair_similarities(HashingEmbedder(), ["one", "two", "two", "", "three"])) == 3
    assert len(pair_similarities(HashingEmbedder(), [])) == 0
