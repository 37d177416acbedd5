"""Code that a model writes, on a small shop of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from test_coding import BODY, codeif
from test_suites import lines, write
from tests.code.repositories import SHOP
from treering.llm.scripted import ScriptedLLM
from treering_bench.coding import completion_trial as completion
from treering_bench.coding import sessions
from treering_bench.coding.sessions import CodingDialogue, ProjectSources
from worlds import Bench

PASSES = "def test_one():\n    assert Cart().total() == 0"
FAILS = "def test_two():\n    assert Cart().total() == 1"
NEEDS = "def test_three(shop):\n    assert shop"
WRITTEN = "def total(self):\n    return 0"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for path, text in SHOP.items():
        write(tmp_path / "sources" / "shop" / path, text)
    return tmp_path / "sources"


def published(tmp_path: Path, *tests: list[str]) -> Path:
    named = {
        f"round {n}": {"requirement": f"Requirement {n}.", "unit_test": unit_tests}
        for n, unit_tests in enumerate(tests)
    }
    return write(
        tmp_path / "l2.jsonl", lines(codeif(requirements=named, **{"multi-turn": list(named)}))
    )


def coding(tmp_path: Path, sources: Path, *tests: list[str]) -> CodingDialogue:
    [only] = sessions.dialogues(published(tmp_path, *tests), sources)
    return only


def test_tests_end_as_they_do_in_a_process_of_their_own(tmp_path: Path, sources: Path) -> None:
    place = ProjectSources(sources)
    only = coding(tmp_path, sources, [PASSES])
    assert only.module == "shop.cart"
    ended = sessions.outcomes(place, only, only.source, [PASSES, FAILS, NEEDS])
    assert ended == ["passed", "failed", "broken"]
    assert sessions.outcomes(place, only, "not python", [PASSES])[0].startswith("no import")


def test_code_under_test_writes_nowhere_else_and_starts_nothing(
    tmp_path: Path, sources: Path
) -> None:
    only = coding(tmp_path, sources, [PASSES])
    secret = tmp_path / "secret"
    tests = [
        f"def test_write():\n    open({str(secret)!r}, 'w')",
        "def test_start():\n    os.system('true')",
    ]
    ended = sessions.outcomes(ProjectSources(sources), only, only.source, tests)
    assert ended == ["failed", "failed"]
    assert not secret.exists()


def test_an_instruction_that_fails_takes_no_outcome_of_the_next(
    tmp_path: Path, sources: Path
) -> None:
    only = coding(tmp_path, sources, [FAILS, FAILS.replace("two", "four")], [PASSES])
    assert sessions._passed(ProjectSources(sources), only, only.source, 2) == [False, True]


def test_a_dialogue_whose_true_code_passes_too_little_is_left_out(
    tmp_path: Path, sources: Path
) -> None:
    place = ProjectSources(sources)
    assert sessions.usable(place, coding(tmp_path, sources, [PASSES], [FAILS])) is None
    passing = [PASSES.replace("test_one", f"test_{n}") for n in range(sessions.PASSED)]
    usable = sessions.usable(place, coding(tmp_path, sources, [NEEDS], passing))
    assert usable is not None
    assert usable.tests == (tuple(passing),)
    assert usable.instructions[0].endswith("Requirement 0.\nRequirement 1.")


def test_sessions_compare_the_whole_conversation_with_code_memory(
    bench: Bench, tmp_path: Path, sources: Path
) -> None:
    passing = [PASSES.replace("test_one", f"test_{n}") for n in range(sessions.PASSED)]
    data = published(tmp_path, passing)
    arguments = ("--data", data, "--sources", sources, "--rounds", 1, "--json")
    # Code memory asks for a note after the round, too.
    llm = bench.model("\n".join([json_line(WRITTEN)] * 9))
    told = bench.object("code", "sessions", *llm, *arguments)
    assert (told["found"], told["usable"]) == (1, 1)
    assert told["full"]["IA"] == 1.0
    assert told["memory"]["dialogues"] == 1
    assert told["memory"]["judge"] == "names"
    assert "judge" not in told["full"]


WRONG = WRITTEN.replace("0", "1")


def test_feedback_is_given_until_the_tests_pass(tmp_path: Path, sources: Path) -> None:
    llm = ScriptedLLM([WRONG, WRONG, WRITTEN])
    only = coding(tmp_path, sources, [PASSES], [FAILS])
    told = sessions.session_figures(
        ProjectSources(sources), [only], llm, 5, lambda *_: None, ("full",), feedback=True
    )
    assert told["full"]["pass@1 by round"] == [0, 0, 1, 1, 1]
    said = [request.messages[-1].content.splitlines()[0] for request in llm.requests]
    assert said[1:] == [sessions.FEEDBACK] * 2
    assert llm.left == 0


def test_the_papers_parts_can_be_left_out_and_are_named_beside_the_figures(
    tmp_path: Path, sources: Path
) -> None:
    keep = json.dumps({"mode": "KEEP", "action": "", "target_context": []})
    llm = ScriptedLLM(lambda request: keep if "ADD" in request.text else WRITTEN)
    only = coding(tmp_path, sources, [PASSES])
    ways = ("codemem", "codemem-ctxmem", "codemem-ctxast", "codemem-sessast")
    told = sessions.session_figures(ProjectSources(sources), [only], llm, 1, lambda *_: None, ways)
    parts = {way: (told[way]["detector"], told[way]["context"]) for way in ways}
    assert parts == {
        "codemem": ("printed", "selected"),
        "codemem-ctxmem": ("printed", "static"),
        "codemem-ctxast": ("printed", "added"),
        "codemem-sessast": ("none", "selected"),
    }
    assert {told[way]["judge"] for way in ways} == {"llm"}


def json_line(code: str) -> str:
    """Code on one line, as the scripted model gives a line a reply."""
    return code.replace("\n    ", " ")


def test_completion_asks_with_and_without_fragments(
    bench: Bench, tmp_path: Path, sources: Path
) -> None:
    about = {"fpath_tuple": ["owner_shop", "shop", "cart.py"], "ground_truth": BODY}
    data = write(tmp_path / "function_2k.jsonl", lines({"prompt": "", "metadata": about}))
    arguments = ("--data", data, "--sources", sources, "--json")
    told = bench.object("code", "completion", *bench.model("total = 0\nx\nx"), *arguments)
    assert {told[way]["tasks"] for way in completion.DEFAULT_WAYS} == {1}
    nothing = bench("code", "completion", *bench.model(""), *arguments, "--minutes", 0)
    assert nothing.exit_code == 0  # all three replies are kept
