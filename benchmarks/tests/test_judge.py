"""The rating of a reply by a model: the prompt, and reading the rating."""

from __future__ import annotations

import pytest

from treering.errors import LLMReplyError
from treering_bench.answer import judge_messages, read_rating


def test_the_judge_prompt_shows_history_question_and_response_under_their_headings() -> None:
    (message,) = judge_messages("HISTORY", "QUESTION", "RESPONSE")
    assert "Related Conversation History\n\nHISTORY\n\nUser Question\n\nQUESTION" in message.content
    assert "Bot Response\n\nRESPONSE\n\nPlease evaluate" in message.content
    assert message.content.endswith("strictly following this format: [[rating]].")


def test_the_last_rating_counts() -> None:
    assert read_rating("It claims [[100]], but it is wrong. [[ 12 ]]") == 0.12


@pytest.mark.parametrize("verdict", ["", "80", "[80]", "[[good]]", "[[0]]", "[[101]]"])
def test_a_verdict_without_a_rating_is_an_error(verdict: str) -> None:
    with pytest.raises(LLMReplyError):
        read_rating(verdict)
