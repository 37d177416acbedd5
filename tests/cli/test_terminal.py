"""What a person sees in a terminal: the lines that matter, short paths, times as they are typed."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.cli.conftest import Process, Treering, records
from treering.cli import hits, output
from treering.cli.moments import moment
from treering.cli.output import progress_lines, short_path
from treering.records import Hit, Why

LONG = " ".join(f"Filler sentence number {number} says nothing at all." for number in range(40))
NOW = datetime(2026, 5, 3, 14, 30, tzinfo=timezone(timedelta(hours=2)))


def hit(text: str, kind: str = "text") -> Hit:
    return Hit(1.0, text, "e", "notes", 0, 0, len(text), kind, Why({"lexical": 1.0}))  # type: ignore[arg-type]


def printed(parts: object) -> str:
    return "".join(part if isinstance(part, str) else part[0] for part in parts)  # type: ignore[attr-defined]


def test_a_hit_is_shown_by_the_lines_that_the_query_is_about() -> None:
    text = f"{LONG} The boilers were serviced in March. {LONG}"
    lines = printed(hits.text_parts(hit(text), "boiler service")).strip("\n").splitlines()
    assert len(lines) == hits.SHOWN_LINES
    assert "boilers were serviced" in " ".join(line.strip() for line in lines)
    assert lines[0].strip().startswith("…")
    assert lines[-1].endswith("…")
    assert all(len(line) <= hits.MAX_WIDTH for line in lines)


def test_words_with_the_stem_of_a_word_of_the_query_are_marked_and_stop_words_are_not() -> None:
    parts = hits.text_parts(
        hit("The boilers were serviced, and the cat slept."), "the boiler service"
    )
    assert [part[0] for part in parts if part[1] == hits.MARKED] == ["boilers", "serviced"]


def test_the_whole_text_is_shown_as_it_stands_on_request(treering: Treering) -> None:
    treering("add", f"{LONG}\n\n  The boiler.\n", "--source", "house")
    assert LONG not in treering("search", "boiler").stdout
    found = treering("search", "boiler", "--whole", "-k", "1").stdout
    [hit] = records(treering("search", "boiler", "-k", "1", "--json"))
    assert hit["text"].endswith("\n\n  The boiler.\n")
    lines = hit["text"].rstrip("\n").split("\n")
    assert found.splitlines()[1:] == [f"    {line}" for line in lines]


def test_lines_of_code_are_not_run_together() -> None:
    code = "import os\n\n\ndef total(items):\n    return sum(items)\n\n\ndef other():\n    pass\n"
    shown = printed(hits.text_parts(hit(code, "code"), "total of items"))
    assert "\n    def total(items):\n        return sum(items)" in shown


def test_a_single_text_has_no_score_instead_of_a_zero(treering: Treering) -> None:
    treering("add", "The yellow boat.")
    alone = treering("search", "boat", "--explain")
    assert "0.00\n" not in alone.stdout.replace("confidence 0.00\n", "")
    assert " –  notes" in alone.stdout
    assert "BM25 0." in alone.stdout
    assert "nothing to compare with" in alone.stderr
    treering("add", "An otter sleeps.", "--source", "zoo")
    two = treering("search", "boat")
    assert "–" not in two.stdout
    assert two.stderr == ""


def test_a_path_is_shown_short_and_taken_back_as_it_is_shown(
    treering: Treering, tmp_path: Path
) -> None:
    file = tmp_path / "notes" / "travel" / "croatia.md"
    file.parent.mkdir(parents=True)
    file.write_text("The ferry leaves at 8:30.")
    source = str(file.resolve())
    treering("add", "A ferry.", "--source", source)
    shown = short_path(source)
    assert shown == "./notes/travel/croatia.md"
    assert shown in treering("search", "ferry").stdout
    assert shown in treering("list").stdout
    assert f"1  {shown}" in treering("list", "--sources").stdout
    for given in (shown, "./notes/", "./notes/travel/"):
        assert [entry["source"] for entry in records(treering("list", "--source", given, "--json"))]
    assert short_path("chat with Ana") == "chat with Ana"


def test_a_source_that_no_path_can_be_is_a_name(treering: Treering, tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    for name in ("~nobody-of-this-name", "circle/notes"):
        treering("add", "A ferry.", "--source", name)
        assert len(records(treering("list", "--source", name, "--json"))) == 1


def test_words_for_times_are_those_of_the_user() -> None:
    cases = [
        ("today", "2026-05-03T00:00:00+02:00"),
        ("Yesterday", "2026-05-02T00:00:00+02:00"),
        ("3 days ago", "2026-04-30T00:00:00+02:00"),
        ("2 weeks  ago", "2026-04-19T00:00:00+02:00"),
        ("Tomorrow", "2026-05-04T00:00:00+02:00"),
        ("in 3 days", "2026-05-06T14:30:00+02:00"),
        ("in 1 hour", "2026-05-03T15:30:00+02:00"),
        ("2026", "2026"),
        (None, None),
    ]
    for words, time in cases:
        assert moment(words, NOW) == time


def test_what_expires_at_no_time_to_come_is_refused_before_a_file_is_made(
    treering: Treering, tmp_path: Path
) -> None:
    cases = [
        *((words, "tomorrow or 'in 3 days'") for words in ("next spring", "in 9999 years", "")),
        *((words, "has passed") for words in ("yesterday", "today", "3 days ago", "2020-01-01")),
    ]
    for words, told in cases:
        refused = treering("add", "A code.", "--expires", words)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert told in refused.stderr
        assert not (tmp_path / "life.db").exists()


def test_looking_back_takes_the_same_times_as_filters(treering: Treering) -> None:
    treering("add", "I live in Porto.", "--at", "3 days ago", "--speaker", "Ana", "--kind", "chat")
    treering("add", "I relocated to Lisbon.", "--at", "today", "--speaker", "Ana", "--kind", "chat")
    for command in (["list"], ["search", "Where does Ana live?"], ["facts", "--all"]):
        result = treering(*command, "--as-of", "yesterday", "--json")
        assert [row["text"] for row in records(result)] == ["I live in Porto."], command


def test_a_short_h_is_help(treering: Treering) -> None:
    for command in ((), ("search",), ("code", "index"), ("serve", "key", "add")):
        result = treering(*command, "-h")
        assert result.exit_code == 0
        assert result.stdout == treering(*command, "--help").stdout


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_help_of_an_event_runs_no_hook(process: Process, option: str) -> None:
    shown, _ = process("hook", "turn", option).communicate("{}", timeout=60)
    assert "Agents run `treering hook EVENT`" in shown


def test_without_a_terminal_long_work_says_now_and_then_how_far_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = [0.0]
    move = progress_lines("indexing", lambda: times[-1])
    for second, done in ((1, 1), (2.5, 2), (3, 3), (17, 4), (18, 5), (40, 6), (41, 6)):
        times.append(second)
        move(done * 1000, 6000)
    assert capsys.readouterr().err.splitlines() == [
        "indexing: 2,000 of 6,000, 0:00:06 left",
        "indexing: 5,000 of 6,000, 0:00:04 left",
    ]


def test_a_list_and_hits_fit_a_terminal_and_a_pipe_passes_no_escapes(
    treering: Treering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "PIPE_COLUMNS", 80)
    source = "/srv/projects/harbour/notes/of/the/year/2026.md"
    text = "The ferry \x1b[31mleaves\x1b[0m at \u202eeight in the morning, every day of the week. "
    treering("add", text * 3, "--source", source, "--speaker", "Ana", "--at", "2026-05-03")
    for command in (["list"], ["search", "ferry"], ["context", "ferry"]):
        shown = treering(*command).stdout
        assert not re.search("[\x1b\u202e]", shown), command
        if command != ["context", "ferry"]:
            assert max(map(len, shown.splitlines())) <= 80, command


@pytest.mark.parametrize("command", ["", "search", "tree", "code", "serve key", "tune"])
def test_help_names_no_value_of_a_flag(treering: Treering, command: str) -> None:
    shown = treering(*command.split(), "--help").stdout
    assert "Show this message" in shown
    assert "<bool>" not in shown


def test_lone_surrogates_of_piped_messages_are_replaced_and_told(
    treering: Treering, caplog: pytest.LogCaptureFixture
) -> None:
    lines = ['{"role": "user", "content": "Yes."}', r'{"role": "user", "content": "a \ud83d cut"}']
    treering("add", stdin="\n".join(lines))
    assert "line 2: lone surrogates were replaced by U+FFFD" in caplog.text
    texts = [record["text"] for record in records(treering("list", "--json"))]
    assert texts == ["Yes.", "a \ufffd cut"]


def test_an_argument_that_is_not_utf8_is_stored_with_replacements(treering: Treering) -> None:
    added = treering("add", "caf\udce9 au lait", "--text")
    assert "bytes that are not UTF-8 were replaced" in added.stderr
    assert records(treering("list", "--json"))[0]["text"] == "caf\ufffd au lait"
