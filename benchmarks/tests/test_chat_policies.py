"""Chat policies compared on a conversation of our own."""

from __future__ import annotations

import json
from pathlib import Path

from test_play import published
from treering.llm.scripted import ScriptedLLM
from treering_bench.chat_policies import (
    ChatComparison,
    needed_rounds,
    rated_replies,
)
from treering_bench.play import conversations
from worlds import BagOfWords, Bench


def compared(llm: ScriptedLLM, *policies: str, budget: int = 400) -> ChatComparison:
    return ChatComparison(policies, llm, BagOfWords(), budget)


def silent(done: int, total: int, doing: str) -> None:
    assert 0 < done <= total
    assert doing


def test_a_policy_with_room_shows_every_round_that_is_needed(tmp_path: Path) -> None:
    chats = list(conversations(published(tmp_path)))
    figures = needed_rounds(chats, compared(ScriptedLLM(["A wave.", "2", "4"]), "window"), silent)
    assert figures["conversations"] == 1
    assert figures["alone"] == figures["joined"]
    assert figures["alone"]["window"]["shown whole"] == 1.0


def test_a_narrow_window_misses_the_first_round(tmp_path: Path) -> None:
    chats = list(conversations(published(tmp_path)))
    long = "A wave of light " * 20
    llm = ScriptedLLM([long, long, long])
    figures = needed_rounds(chats, compared(llm, "window", budget=250), silent)
    assert figures["alone"]["window"]["shown whole"] == 0.0


def test_a_conversation_with_an_unread_rating_is_left_out(tmp_path: Path) -> None:
    [chat] = conversations(published(tmp_path))
    llm = ScriptedLLM(["A wave.", "2", "4", "Yes."] * 2)
    judge = ScriptedLLM(["[[87]]", "I like it."])
    figures = rated_replies([chat, chat], compared(llm, "window"), judge, silent)
    assert figures["rating"] == {"window": 87.0}
    assert figures["left out, a rating could not be read"] == 1


def test_the_command_ends_with_the_figures_and_what_they_were_measured_with(
    bench: Bench, tmp_path: Path
) -> None:
    data, out = published(tmp_path), tmp_path / "figures.json"
    llm = bench.model("A wave.\n2\n4")
    arguments = ("--data", data, "--policy", "window", "--out", out, "--json")
    told = bench.object("chat", "needed", *llm, *arguments)
    assert told["benchmark"] == "chat needed"
    assert told["alone"]["window"]["shown whole"] == 1.0
    assert len(told["data_sha256"]) == 64
    assert told["budget"] == 2000
    assert json.loads(out.read_text()) == told
    # Kept replies: a second run asks the model nothing.
    assert bench.object("chat", "needed", *bench.model(""), *arguments)["alone"] == told["alone"]


def test_a_policy_that_is_not_there_is_refused(bench: Bench, tmp_path: Path) -> None:
    data = published(tmp_path)
    result = bench("chat", "needed", *bench.model("x"), "--data", data, "--policy", "nothing")
    assert result.exit_code == 2
    assert "no 'nothing' to measure; there are auto" in result.stderr
