from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Treering, record, records
from treering.cli.hits import term_parts
from treering.records import Why


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test keeps the file it has filled, for the others to copy."""
    return tmp_path_factory.mktemp("filled") / "life.db"


@pytest.fixture
def filled(treering: Treering, settings: dict[str, str], kept: Path) -> Treering:
    """A memory of five sentences."""
    if kept.exists():
        shutil.copyfile(kept, settings["TREERING_MEMORY"])
        return treering
    for text, speaker, at in (
        ("My sister moved to Porto.", "Ana", "2026-05-03"),
        ("She found a flat by the river.", "Ana", "2026-05-04"),
        ("The otter sleeps.", "Ben", "2026-06-01"),
        ("The otter wakes up.", "Ben", "2026-07-01"),
    ):
        assert treering("add", text, "--speaker", speaker, "--at", at, "--kind", "chat")
    treering("add", "An otter is an animal.", "--source", "book", "--meta", "page=7")
    shutil.copyfile(settings["TREERING_MEMORY"], kept)
    return treering


def test_hits_come_best_first_as_lines_of_json(filled: Treering) -> None:
    found = records(filled("search", "otter sleeps", "--json", "--k", "3"))
    assert len(found) == 3
    assert found[0]["text"] == "The otter sleeps."
    scores = [hit["score"] for hit in found]
    assert scores == sorted(scores, reverse=True)
    for hit in found:
        assert sum(hit["why"]["terms"].values()) == pytest.approx(hit["score"], abs=1e-4)


def test_filters_narrow_search_and_list_alike(filled: Treering) -> None:
    cases: list[tuple[list[str], set[str]]] = [
        (["--speaker", "Ana"], {"My sister moved to Porto.", "She found a flat by the river."}),
        (["--source", "book"], {"An otter is an animal."}),
        (["--meta", "page=7"], {"An otter is an animal."}),
        (["--meta", "page=8"], set()),
        (["--since", "2026-06-01", "--until", "2026-07-01"], {"The otter sleeps."}),
        (["--kind", "text"], {"An otter is an animal."}),
        (["--session", "none"], set()),
        (["--speaker", "Ana", "--source", "book"], set()),
    ]
    for options, expected in cases:
        for command in (["search", "otter", "--json"], ["list", "--json"]):
            result = filled(*command, *options)
            assert result.exit_code == 0
            assert {hit["text"] for hit in records(result)} == expected


def test_nothing_found_is_no_failure(filled: Treering) -> None:
    result = filled("search", "otter", "--speaker", "Nobody")
    told = "nothing found\nno entry has the speaker 'Nobody'\n"
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", told)


def test_relations_can_be_chosen_weighed_and_turned_off(filled: Treering) -> None:
    def terms(*options: str) -> dict[str, float]:
        hits = records(filled("search", "otter", "--json", "-k", "1", *options))
        found: dict[str, float] = hits[0]["why"]["terms"]
        return found

    assert terms("--relation", "none").keys() == {"lexical", "dense"}
    assert terms("--relation", "none", "--mode", "lexical").keys() == {"lexical"}
    assert terms("--relation", "time", "--relation", "context").keys() >= {"time", "context"}
    light, heavy = (
        terms("--relation", "time", "--relation", "context", "--alpha", f"time={weight}")
        for weight in ("0.5", "5")
    )
    assert heavy["time"] / heavy["context"] == pytest.approx(
        10 * light["time"] / light["context"], rel=1e-3
    )


def test_choices_that_cannot_be_meant_are_refused(filled: Treering) -> None:
    cases = [
        ["--relation", "none", "--relation", "time"],
        ["--relation", "kinship"],
        ["--alpha", "much"],
        ["--alpha", "time=1", "--relation", "context"],
        ["--since", "once upon a time"],
        ["--mode", "psychic"],
        ["--k", "0"],
        ["--min-confidence", "nan"],
        ["--min-confidence", "1.5"],
    ]
    for options in cases:
        result = filled("search", "otter", *options)
        assert result.exit_code == 2
        assert result.stdout == ""


def test_explain_shows_terms_that_add_up(filled: Treering) -> None:
    result = filled("search", "otter sleeps", "--explain", "-k", "1")
    lines = [line.split() for line in result.stdout.splitlines() if line.startswith("    ")][1:]
    terms = {name: float(value) for _, name, value, *_ in lines}
    score = terms.pop("score")
    assert terms.keys() >= {"lexical", "dense", "context"}
    assert all(terms.values())
    assert sum(terms.values()) == pytest.approx(score, abs=0.03)
    assert "BM25" in result.stdout
    assert "cosine" in result.stdout


def test_a_score_that_is_almost_zero_has_no_sign_of_its_own() -> None:
    why = Why({"lexical": 0.1, "code": -0.104}, cosine=-0.001)
    shown = "".join(part if isinstance(part, str) else part[0] for part in term_parts(why, -0.004))
    assert "score       +0.00" in shown


def test_a_context_without_room_for_anything_says_so(filled: Treering) -> None:
    for least in ("0", "0.01"):
        result = filled("context", "otter", "--budget", "1", "--min-confidence", least)
        assert result.stdout == ""
        assert "no passage fits the budget\n0 of 1 tokens, 0 passages\n" in result.stderr
    assert record(filled("context", "otter", "--budget", "1", "--json"))["passages"] == []
    unsure = filled("context", "otter", "--budget", "500", "--min-confidence", "1")
    assert "nothing relevant: the surest text has a confidence of" in unsure.stderr


def test_a_context_fits_its_budget_and_nothing_else_is_on_stdout(filled: Treering) -> None:
    result = filled("context", "otter", "--budget", "40")
    assert result.stdout.startswith("[1] ")
    assert "of 40 tokens" in result.stderr
    found = record(filled("context", "otter", "--budget", "40", "--json"))
    assert 0 < found["tokens"] <= 40
    assert found["text"] + "\n" == result.stdout


def test_an_answer_is_printed_with_what_it_cites(filled: Treering, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("The otter sleeps [1].\n" * 2)
    result = filled("ask", "otter", "--source", "book", "--llm", f"scripted#{script}")
    assert result.stdout == "The otter sleeps [1].\n[1] book\n"
    answer = record(filled("ask", "otter", "--json", "--llm", f"scripted#{script}"))
    assert answer["text"] == "The otter sleeps [1]."
    assert len(answer["citations"]) == 1


def test_an_answer_that_cites_what_is_not_there_is_told_apart(
    filled: Treering, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("Surely [99].\n")
    result = filled("ask", "otter", "--llm", f"scripted#{script}")
    assert result.exit_code == 0
    assert "(99): do not trust it" in result.stderr


def test_a_model_that_is_down_has_its_own_exit_code(filled: Treering) -> None:
    result = filled("ask", "otter", "--llm", "down")
    assert (result.exit_code, result.stderr) == (5, "treering: nobody answers\n")


def test_a_piped_chat_answers_every_line_and_remembers(treering: Treering, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("Nice to meet you.\nYour name is Ana.\n")
    result = treering(
        "chat", "--json", "--llm", f"scripted#{script}", stdin="I am Ana.\n\nWho am I?\n"
    )
    assert [reply["text"] for reply in records(result)] == [
        "Nice to meet you.",
        "Your name is Ana.",
    ]
    remembered = [entry["text"] for entry in records(treering("list", "--json"))]
    assert remembered == ["I am Ana.", "Nice to meet you.", "Who am I?", "Your name is Ana."]


def test_a_chat_also_asks_the_spaces_that_are_named(treering: Treering, tmp_path: Path) -> None:
    treering("add", "The boat lies in Faro.", "--space", "crew")
    (tmp_path / "script").write_text("In Faro.\n")
    said = ("chat", "--json", "--llm", f"scripted#{tmp_path / 'script'}")
    reply = record(treering(*said, "--also", "crew", stdin="Where is the boat?\n"))
    assert "The boat lies in Faro." in json.dumps(reply["evidences"])


def test_a_chat_without_a_model_says_so_before_it_makes_or_reads_anything(
    treering: Treering, tmp_path: Path
) -> None:
    result = treering("chat", stdin=b"\xff is no text")
    assert result.exit_code == 5
    assert "no language model is configured" in result.stderr
    assert not (tmp_path / "life.db").exists()


def test_a_brief_without_room_or_without_anything_to_say_says_so(treering: Treering) -> None:
    treering("add", "Always use oak for the deck.")
    small = treering("brief", "--budget", "3")
    assert (small.exit_code, small.stdout) == (0, "")
    assert small.stderr == "nothing to say yet, or not in 3 tokens\n"
    assert record(treering("brief", "--budget", "3", "--json"))["lines"] == []
    treering("forget", "--source", "notes", "--yes")
    assert treering("brief").stderr.startswith("nothing to say yet")


def test_commands_ask_further_spaces(treering: Treering) -> None:
    treering("add", "I moved to Porto in May.", "--space", "ana")
    treering("add", "The office in Porto opens in June.", "--space", "team")
    asked = ("Porto", "--space", "ana", "--also", "team")
    hits = records(treering("search", *asked, "--json"))
    assert sorted(hit["space"] for hit in hits) == ["ana", "team"]
    assert "team: notes" in treering("search", *asked).stdout
    assert "team: notes" in treering("context", *asked).stdout
    assert treering("search", *asked[:-1], "tema").exit_code == 2
