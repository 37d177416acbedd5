from __future__ import annotations

import pytest

from tests.tree.talking import echo
from treering.llm.contract import Reply, Usage
from treering.llm.scripted import FakeLLM
from treering.views.tree.aggregate import Aggregator


def test_the_prompt_is_the_papers_with_both_texts_and_the_number_of_entries() -> None:
    llm = FakeLLM(["Merged."])
    made = Aggregator(llm).aggregate("Ana sails.", ["Ana fishes."], entries=3, limit=128)
    (request,) = llm.requests
    assert request.text.startswith("You will receive two pieces of information: New Information")
    assert "a summary from 3 previous entries. Your task" in request.text
    assert "[New Information]\nAna fishes." in request.text
    assert "[Existing Information (from 3 previous entries)]\nAna sails." in request.text
    assert (made.text, made.made_by, made.usage.calls) == ("Merged.", "scripted", 1)


def test_news_that_do_not_fit_the_window_together_are_merged_in_turn() -> None:
    llm = FakeLLM(echo, context_window=60)
    news = [f"word{number} " * 12 for number in range(4)]
    made = Aggregator(llm).aggregate("Ana sails.", news, entries=1, limit=128)
    assert made.usage.calls == len(llm.requests) == 4
    assert all(f"word{number}" in made.text for number in range(4))
    assert "(from 4 previous entries)" in llm.requests[-1].text


def test_a_template_in_a_text_stays_a_text() -> None:
    llm = FakeLLM(["Merged."])
    Aggregator(llm).aggregate(
        "{new_content}", ["{n_children} {current_content}"], entries=1, limit=128
    )
    assert "\n{new_content}" in llm.requests[0].text
    assert "\n{n_children} {current_content}" in llm.requests[0].text


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("Ana sails. Ben fishes. They m", "Ana sails. Ben fishes."),
        ("Ana sails. Ben fishes.", "Ana sails. Ben fishes."),
        ("- Ana sails\n- Ben fish", "- Ana sails"),
        ("Ana sails and Ben", "Ana sails and Ben"),
    ],
)
def test_a_reply_that_its_limit_cut_ends_with_a_whole_sentence(reply: str, kept: str) -> None:
    llm = FakeLLM([Reply(reply, Usage(1, 10, 10), "scripted", "length")])
    assert (
        Aggregator(llm).aggregate("Ana sails.", ["Ben fishes."], entries=1, limit=128).text == kept
    )
