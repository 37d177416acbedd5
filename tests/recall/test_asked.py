"""What questions ask for beside their words: when, by whom, by what rule, and in several parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.recall.questions import TALK, bonus, by_text
from treering import Memory
from treering.search.signals.question import side_of
from treering.search.signals.texts import parts_of


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "memory.db", embedder=HashingEmbedder()) as memory:
        yield memory


def add_walks(memory: Memory) -> None:
    """The same said once a month of 2021, as texts."""
    for month in range(1, 13):
        memory.add(f"walk {month}: along the lake", source=f"{month}", at=f"2021-{month:02}-15")


@pytest.mark.parametrize(
    ("question", "walks"),
    [
        ("the walk along the lake in 2021-05", [5]),
        ("the walk along the lake last month", [11]),  # counts from the newest entry
        ("the walk along the lake since 2020", []),  # holds all dated entries
        ("the lake", None),
    ],
)
def test_texts_of_the_time_that_a_question_names_get_a_bonus(
    memory: Memory, question: str, walks: list[int] | None
) -> None:
    add_walks(memory)
    if walks:
        memory.add("walk 0: along the lake", source="undated")
    hits = by_text(memory, question)
    found = [text for text, hit in hits.items() if bonus(hit, "when")]
    assert found == [f"walk {walk}: along the lake" for walk in walks or ()]
    assert any("when" in hit.why.terms for hit in hits.values()) == (walks is not None)


DIARY = {
    "2026-01-05": "Heute habe ich mit dem Klavierunterricht angefangen.",
    "2026-01-19": "Die Katze heißt Miezi und schläft immer auf dem Sofa.",
    "2026-02-02": "Der Zahnarzt Dr. Weber hat mir einen Zahn gezogen.",
    "2026-03-03": "Ich habe den Führerschein bestanden!",
    "2026-03-20": "Besuch von Oma, es gab Apfelkuchen.",
    "2026-04-18": "Der Garten blüht, ich habe Tomaten gepflanzt.",
    "2026-05-09": "Das Fahrrad wurde gestohlen, ich war bei der Polizei.",
}


@pytest.mark.parametrize("name", ["Lena", "user"])
def test_words_without_content_do_not_drown_the_time_that_a_question_names(
    tmp_path: Path, name: str
) -> None:
    said = [
        {"role": "user", "name": name, "content": text, "at": f"{day}T18:00"}
        for day, text in DIARY.items()
    ]
    with Memory.open(tmp_path / "diary.db", llm="none") as memory:  # the bundled model
        memory.add(said, source="diary")
        hits = memory.search("Was war im März 2026?", k=3)
    assert {hit.text for hit in hits[:2]} == {DIARY["2026-03-03"], DIARY["2026-03-20"]}
    assert bonus(hits[2], "when") == 0


@pytest.mark.both_engines
def test_a_date_is_the_day_on_the_clock_of_each_message(open_memory: Open) -> None:
    memory = open_memory(embedder=HashingEmbedder())
    doors = {"red": "01T12:00", "green": "01T23:30", "blue": "02T00:30"}
    talk = [
        {"role": "user", "content": f"I painted the {door}.", "at": f"2026-03-{at}:00-08:00"}
        for door, at in doors.items()
    ]
    memory.add(talk, source="diary")
    memory.add("I painted the black one.", kind="chat", at="2026-03-02T07:30:00Z")
    hits = by_text(memory, "Which door did I paint on 1 March 2026?")
    first = [text for text, hit in hits.items() if bonus(hit, "when")]
    assert sorted(first) == ["I painted the green.", "I painted the red."]
    stored = {entry.text: entry for entry in memory.entries(source="diary")}
    green = stored["I painted the green."].at
    assert green is not None
    assert green.isoformat() == "2026-03-01T23:30:00-08:00"
    memory.replace(stored["I painted the blue."].id, "I painted it yellow.")
    copy = open_memory(space="copy", embedder=HashingEmbedder())
    copy.import_(memory.export())
    days = [entry.at.day for entry in copy.entries(source="diary") if entry.at]
    assert days == [1, 1, 2]


def test_yesterday_is_the_day_of_whoever_asks(memory: Memory) -> None:
    for day, at in {
        "first": "02-28T10:30",
        "second": "02-28T11:30",
        "third": "03-01T11:30",
    }.items():
        memory.add(f"the {day} walk", source=day, at=f"2026-{at}:00Z")
    hits = memory.search("the walk of yesterday", as_of="2026-03-02T08:00:00+13:00")
    assert {hit.text for hit in hits if bonus(hit, "when")} == {"the second walk"}


def chat(memory: Memory, *turns: tuple[str, str]) -> None:
    """A chat with an assistant, with talk before."""
    talk = [("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(TALK)]
    memory.add([{"role": role, "content": text} for role, text in (*talk, *turns)], source="chat")


QUESTION = ("user", "my budget for sneakers is 100")
REPLY = ("assistant", "for a budget of 100 these sneakers are good")


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("what is my budget for sneakers", QUESTION),
        ("which sneakers did you recommend for my budget", REPLY),
    ],
)
def test_a_question_asks_for_the_turns_of_the_user_or_the_assistant(
    memory: Memory, question: str, best: tuple[str, str]
) -> None:
    chat(memory, QUESTION, REPLY)
    hits = by_text(memory, question)
    assert [bonus(hits[text], "role") > 0 for _, text in (QUESTION, REPLY)] == [
        best is QUESTION,
        best is REPLY,
    ]


def test_whom_a_question_asks_of() -> None:
    cases = [
        ("What is my budget?", "user"),
        ("Where did I say I\u2019ve been?", "user"),
        ("Can you suggest some books for me?", "user"),
        ("What have you recommended?", "assistant"),
        ("Which film did you previously mention to me?", "assistant"),
        ("Can you summarize what I said about my will?", None),
        ("When is the webinar?", None),
        ("Who wrote the iliad?", None),
    ]
    for question, side in cases:
        assert side_of(question) == side


def test_what_a_user_always_wants_comes_up(memory: Memory) -> None:
    wish = "Always name the narrator when I ask about audiobooks."
    quoted = "One should always name the narrator of audiobooks."
    chat(memory, ("user", wish), ("assistant", quoted))
    hits = by_text(memory, "good audiobooks with a narrator")
    assert bonus(hits[wish], "wish") > 0
    assert bonus(hits[quoted], "wish") == 0


COMPANY = (
    "which company, that bought the maker of golden trackers for runners in Oslo, is said to pay "
    "harbour fees for its barges on the river Elbe each winter"
)
TRACKERS = "The maker of golden trackers for runners in Oslo was bought."
BARGES = "Harbour fees are paid for barges on the river Elbe each winter."


def test_each_part_of_a_long_question_finds_its_text(memory: Memory) -> None:
    for number, text in enumerate([*TALK, TRACKERS, BARGES]):
        memory.add(text, source=f"{number}")
    hits = by_text(memory, COMPANY)
    assert bonus(hits[TRACKERS], "parts") > 0.5
    assert bonus(hits[BARGES], "parts") > 0.5
    assert bonus(hits[TALK[0]], "parts") < 0.1
    assert "parts" not in by_text(memory, "who bought the maker of trackers")[TRACKERS].why.terms


def test_a_question_has_the_parts_that_are_long_enough_and_a_long_text_none() -> None:
    assert len(parts_of(COMPANY)) == 2
    assert parts_of("who came, and why") == ["who came, and why"]
    part = "the quick brown fox jumps over lazy dogs near rivers"
    assert len(parts_of(", ".join([part] * 3))) == 3
    assert len(parts_of(", ".join([part] * 9))) == 1
    assert len(parts_of("a, " * 20_000)) == 1


def test_a_speaker_called_as_a_month_is_no_time(memory: Memory) -> None:
    turns = [("April", 3), ("Ben", 4), ("April", 5)]
    memory.add(
        [
            {"role": "user", "name": name, "content": f"a letter {n}", "at": f"2021-0{n}-02"}
            for name, n in turns
        ],
        source="talk",
    )
    hits = by_text(memory, "the letter from April")
    assert [bonus(hit, "when") for hit in hits.values()] == [0.0] * 3
    assert any(bonus(hit, "when") for hit in by_text(memory, "the letter in May").values())


def test_where_messages_are_very_long_my_still_finds_what_the_assistant_said(
    memory: Memory,
) -> None:
    answer = "The name of the hotel in Lisbon is Borges. "
    for turn in range(6):
        asked = f"I would like topic{turn}. " + "Filler words about a thing. " * 300
        said = "A reply holds numbers. " * 300
        memory.add(
            [
                {"role": "user", "content": asked},
                {"role": "assistant", "content": answer * (turn == 3) + said},
            ],
            source="talk",
        )
    [hit] = memory.search("what is the name of my hotel in Lisbon?", mode="lexical", k=1)
    assert "Borges" in hit.text
    longest = max(by_text(memory, "my topic3").values(), key=lambda hit: bonus(hit, "role"))
    assert bonus(longest, "role") == pytest.approx(7.5)
