"""Prompts asked over cases made by hand: what counts as right."""

from __future__ import annotations

from treering.llm.ask import NOT_IN_MEMORY
from treering.llm.scripted import ScriptedLLM
from treering_bench.prompt_trials import CASES, ask_cases, token_estimate
from worlds import Bench


def test_an_answer_is_right_if_it_holds_the_word_and_cites_the_passage() -> None:
    case = CASES[0]
    replies = ["In Porto [1].", "In Porto [2].", "In Lima [1].", NOT_IN_MEMORY]
    figures = ask_cases(ScriptedLLM(replies), [case] * 4)
    assert [reply["right"] for reply in figures["replies"]] == [True, False, False, False]
    assert (figures["right"], figures["of"]) == (1, 4)


def test_what_the_memory_does_not_hold_must_not_be_answered() -> None:
    case = next(case for case in CASES if not case.holds)
    figures = ask_cases(ScriptedLLM([NOT_IN_MEMORY, "Her name is Eva [1]."]), [case] * 2)
    assert [reply["right"] for reply in figures["replies"]] == [True, False]


def test_the_estimate_of_tokens_is_compared_with_the_models_count() -> None:
    figures = token_estimate(ScriptedLLM([]))
    assert figures["Python"]["texts"] == 8
    assert figures["English"]["lowest"] <= figures["English"]["median"]


def test_the_command_shows_what_a_model_says(bench: Bench) -> None:
    llm, _ = bench.model("\n".join(["x"] * 60))[:2], None
    told = bench.object("prompts", *llm, "--json")
    assert told["ask, held out"]["of"] == 6
    assert told["papers"]["story"] == "x"
    assert "not read" in told["structured"]
