"""The message relation: pieces of a long message are scored by what it is about as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import Open
from treering.search.pipeline import beside_messages
from treering.search.relations.contract import MISSING, Items, NullOperator, RowChange
from treering.search.relations.group import MessageOperator, WholeMessage
from treering.search.relations.registry import DEFAULTS


def items(message: list[int] | None) -> Items:
    size = 6 if message is None else len(message)
    codes = np.zeros(size, dtype=np.int64)
    return Items(
        document=codes,
        position=np.arange(size),
        session=codes,
        speaker=codes,
        at=np.full(size, np.nan),
        vectors=np.zeros((size, 2), dtype=np.float32),
        message=None if message is None else np.array(message),
    )


def test_each_piece_gets_the_sum_of_its_message() -> None:
    operator = WholeMessage().bind(items([7, 7, 7, 9, 12, 12]))
    assert isinstance(operator, MessageOperator)
    assert operator.pieces == 2
    assert operator.propagate(np.array([1, 2, 3, 4, 5, 6], np.float32)).tolist() == [
        *(6, 6, 6, 4, 11, 11)
    ]
    assert operator.mass().tolist() == [3, 3, 3, 1, 2, 2]


def test_where_messages_are_hardly_cut_it_relates_nothing() -> None:
    cases = [
        [1, 2, 3, 4, 5, 6],
        [1, 1, 2, 3, 4, 5],  # a long message here and there
        [MISSING, MISSING, MISSING, MISSING, MISSING, 4],  # a document beside a chat
        [MISSING] * 6,
        [],
        None,
    ]
    for message in cases:
        operator = WholeMessage().bind(items(message))
        assert isinstance(operator, NullOperator)
        assert not operator.mass().any()
        scores = np.ones(len(items(message)), np.float32)
        assert not operator.propagate(scores).any()


def test_a_few_rows_more_or_less_are_told_without_counting_all() -> None:
    relation = WholeMessage()
    message = [*range(10), 9]
    before = relation.bind(items(message))
    gone = RowChange(0, np.array([0]), added=2, places=np.zeros(0, dtype=np.int64))
    now = [*message[1:], 9, 9]
    rebound, bound = relation.rebind(before, items(now), gone), relation.bind(items(now))
    assert isinstance(rebound, NullOperator)
    assert isinstance(bound, NullOperator)
    assert rebound.mass().shape == bound.mass().shape
    # Near to the border it has to be counted.
    many = RowChange(0, np.array([0, 1, 2]), added=3, places=np.zeros(0, dtype=np.int64))
    assert relation.rebind(before, items([*message[3:], 9, 9, 9]), many) is None
    cut = relation.bind(items([1, 1, 2, 2]))
    assert relation.rebind(cut, items([1, 1, 2, 2, 3]), gone) is None


PADDING = "We went on to speak of curtains, ladders and the price of paint. " * 15
"""Longer than a piece: what stands before and behind it is in pieces of their own."""


def test_a_reply_about_the_question_comes_before_one_that_names_a_word_of_it(
    open_memory: Open,
) -> None:
    memory = open_memory()
    about = " ".join(
        f"The tulips bloom in bed {n}; water tulips weekly. {PADDING}" for n in range(3)
    )
    mention = f"{PADDING} {PADDING} {PADDING} Somebody had painted tulips. {PADDING} {PADDING}"
    memory.add(
        [
            {"role": "assistant", "content": mention},
            {"role": "assistant", "content": about},
        ],
        source="chat",
    )
    [best, *_] = memory.search("tulips", k=1)
    assert best.text in about
    assert best.why.terms["message"] > 0
    assert sum(best.why.terms.values()) == pytest.approx(best.score, abs=1e-4)


def test_context_counts_by_the_message_where_messages_are_cut() -> None:
    plan = beside_messages(DEFAULTS, 3.0)
    before, after = ({w.relation.name: w.alpha for w in of["chat"]} for of in (DEFAULTS, plan))
    assert after == {**before, "context": before["context"] / 3}
    assert plan["text"] == DEFAULTS["text"]
    assert beside_messages(DEFAULTS, 1.0) == DEFAULTS
