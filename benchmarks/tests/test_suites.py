"""Each loader on a few rows of our own in the published file format."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from treering.errors import InputError
from treering_bench.registry import Benchmark, benchmark, benchmarks
from treering_bench.task import Task
from worlds import lines, write


def load(name: str, path: Path) -> list[Task]:
    found = benchmark(name)
    assert isinstance(found, Benchmark)
    return list(found.load(path))


def test_locomo_keeps_sessions_turns_captions_and_times_and_mends_evidence(tmp_path: Path) -> None:
    ana = {"speaker": "Ana", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a red kite"}
    sample = {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ana",
            "session_2": [ana],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [{"speaker": "Ben", "dia_id": "D1:1", "text": "Hi"}],
            "session_1_date_time": "12:05 am on 1 May, 2023",
            "session_3_date_time": "1:00 pm on 9 May, 2023",
            "session_3": [],
        },
        "qa": [
            {"question": "?", "answer": 2022, "evidence": ["D1:1; D2:1", "D"], "category": 1},
            {"question": "?", "answer": "x", "evidence": ["D:2:1", "D9:9"], "category": 4},
            {"question": "?", "adversarial_answer": "x", "evidence": ["D1:1"], "category": 5},
        ],
    }
    [task] = load("locomo", write(tmp_path / "locomo1.json", [sample]))
    assert [document.source for document in task.documents] == ["session_1", "session_2"]
    [turn] = task.documents[1].pieces
    assert (turn.unit, turn.text, turn.speaker) == ("D2:1", "Look! [image: a red kite]", "Ana")
    assert turn.at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    multi, single, twisted = task.questions
    assert multi.evidence == {"D1:1", "D2:1"}
    assert multi.answers == ("2022",)
    assert single.evidence == {"D2:1"}
    assert single.category == "single-hop"
    assert twisted.evidence == {"D1:1"}
    assert twisted.category == "adversarial"
    assert (twisted.answers, twisted.answerable) == ((), False)


def test_fairytaleqa_reads_a_checkout(tmp_path: Path) -> None:
    write(tmp_path / "split/section-stories/val/fox-story.csv", 'section,text\n1,"A\nfox"\n2,Den\n')
    header = "question_id,local-or-sum,cor_section,attribute1,question,answer1,answer2,answer4\n"
    row = '7,summary,"1, 2",action,Who?,a fox,,the fox\n'
    write(tmp_path / "split/questions/val/fox-questions.csv", header + row)
    [task] = load("fairytaleqa", tmp_path)
    assert [piece.text for piece in task.documents[0].pieces] == ["A\nfox", "Den"]
    [question] = task.questions
    assert question.evidence == {"1", "2"}
    assert question.answers == ("a fox", "the fox")
    assert question.category == "summary"


def test_quality_joins_the_question_sets_of_one_article(tmp_path: Path) -> None:
    def row(number: int, gold: int) -> dict[str, Any]:
        question = {
            "question": "Why?",
            "options": ["no", "yes"],
            "gold_label": gold,
            "difficult": number,
            "question_unique_id": f"5_{number}",
        }
        return {"article_id": "5", "article": "Text.", "questions": [question]}

    path = write(tmp_path / "QuALITY.v1.0.1.htmlstripped.dev", lines(row(0, 2), row(1, 1)))
    [task] = load("quality", path)
    assert [question.answers for question in task.questions] == [("yes",), ("no",)]
    assert [question.category for question in task.questions] == ["easy", "hard"]
    assert task.questions[0].options == ("no", "yes")
    [asked_openly] = load("quality-open", path)
    assert [question.options for question in asked_openly.questions] == [(), ()]
    assert [question.answers for question in asked_openly.questions] == [("yes",), ("no",)]


def test_narrativeqa_leaves_out_stories_that_were_not_downloaded(tmp_path: Path) -> None:
    write(tmp_path / "documents.csv", "document_id,set,kind\na1,test,gutenberg\nb2,test,movie\n")
    header = "document_id,set,question,answer1,answer2\n"
    write(tmp_path / "qaps.csv", header + "a1,test,Who?,Ann,Miss Ann\nb2,test,Where?,Home,\n")
    with pytest.raises(InputError, match=r"download_stories\.sh"):
        load("narrativeqa", tmp_path)
    write(tmp_path / "tmp/a1.content", "Once.")
    [task] = load("narrativeqa", tmp_path)
    assert task.questions[0].answers == ("Ann", "Miss Ann")
    assert task.questions[0].evidence == frozenset()


NEWS = {
    "title": "Kites",
    "source": "The Verge",
    "author": "A. B.",
    "published_at": "2023-09-26T17:01:22+00:00",
    "url": "u1",
}


def test_multihop_rag_has_articles_or_facts_as_evidence(tmp_path: Path) -> None:
    write(tmp_path / "articles/corpus.json", [{**NEWS, "body": "Kites fly."}])
    asked = {"query": "Why?", "answer": "no", "question_type": "t", "evidence_list": [NEWS]}
    write(tmp_path / "articles/MultiHopRAG.json", [asked])
    [task] = load("multihop-rag", tmp_path / "articles")
    assert task.questions[0].evidence == {"u1"}
    [piece] = task.documents[0].pieces
    assert piece.text == "Kites (The Verge, A. B., 2023-09-26): Kites fly."

    facts = [{**NEWS, "fact_id": f"F{n}", "fact": f"Fact {n}."} for n in (0, 1)]
    write(tmp_path / "facts/facts.jsonl", lines(*facts))
    query = {"id": "0", "question": "?", "answer": "no", "question_type": "t"}
    write(tmp_path / "facts/queries.jsonl", lines({**query, "gold_fact_ids": ["F1"]}))
    [task] = load("multihop-rag", tmp_path / "facts")
    assert [piece.unit for piece in task.documents[0].pieces] == ["F0", "F1"]
    assert task.questions[0].evidence == {"F1"}


def test_lihua_world_reads_logs_of_either_name_and_joins_continued_lines(tmp_path: Path) -> None:
    log = "Time: 20260121_10:00\nAdamSmith: Hi: all\n1. one\n\nLiHua: ok\n"
    write(tmp_path / "week3/20260121_1000.txt", log)
    write(tmp_path / "week3/20260122.txt", "Time: 20260122_08:05\nAlice: Bread.\n")
    write(tmp_path / "readme.txt", "not a log")
    row = {"question": "?", "answer": "Yes", "type": "Multi"}
    both = {"0": {**row, "evidence": "20260121_10:00<and>20260701_10:00"}}
    write(tmp_path / "qa/query_set.json", both)
    [task] = load("lihua-world", tmp_path)
    first, second = task.documents
    assert [(p.speaker, p.text) for p in first.pieces] == [
        ("AdamSmith", "Hi: all\n1. one"),
        ("LiHua", "ok"),
    ]
    assert second.pieces[0].at == datetime(2026, 1, 22, 8, 5, tzinfo=UTC)
    assert task.questions[0].evidence == {"20260121_1000", "20260701_1000"}


def test_mtbench_plus_finds_the_rounds_of_every_topic_the_last_question_names(
    tmp_path: Path,
) -> None:
    def turn(label: str, text: str, reply: str = "") -> list[dict[str, str]]:
        human = {"from": "human", "value": text, "turn-info": label}
        return [human, {"from": "chatbot", "value": reply}]

    said = [
        *turn("stem-14-0", "one", reply="uno"),
        *turn("stem-143-0", "two"),
        *turn("writing-8-0", "three"),
        *turn("writing-8-stem-14-Q", "both?"),
    ]
    path = tmp_path / "mtbenchplus.json"
    write(path, [{"id": "m0", "type": "conjunction", "conversations": said}])
    [task] = load("mtbench-plus", path)
    [question] = task.questions
    assert question.text == "both?"
    assert question.evidence == {"stem-14-0", "writing-8-0"}
    assert [p.text for p in task.documents[0].pieces] == ["one", "uno", "two", "three"]


MEMO = """You will be shown 1 Query Sentence and 3 Topic Options.

```
Query Sentence:
I need a loan. And a party.
Topic Options:
(1) loans. bot lends
(see above)
(2) NOTO. None of the others.
(3) party. they dance
```

```
Task Introduction:
"""


def test_memo_instructions_ask_for_topics_and_leave_out_none_of_the_others(tmp_path: Path) -> None:
    rows = [
        {"text": MEMO, "type": "retrieval_dialogsum", "answer": "1#3"},
        {"text": MEMO, "type": "retrieval_topiocqa", "answer": "2"},
        {"text": "write", "type": "writing_dialogsum", "answer": "[]"},
    ]
    both, none = load("memo-instructions", write(tmp_path / "test.jsonl", lines(*rows)))
    assert both.questions[0].text == "I need a loan. And a party."
    assert both.questions[0].evidence == {"1", "3"}
    assert [d.pieces[0].text for d in both.documents] == [
        "loans. bot lends\n(see above)",
        "party. they dance",
    ]
    assert none.questions[0].evidence == frozenset()


def test_longmemeval_has_sessions_as_evidence_and_none_for_questions_to_decline(
    tmp_path: Path,
) -> None:
    row = {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "How many?",
        "answer": 3,
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "Three."}, {"role": "assistant", "content": "Ok."}],
            [{"role": "user", "content": ""}],
        ],
        "answer_session_ids": ["s1"],
    }
    declined = {**row, "question_id": "q2_abs"}
    path = write(tmp_path / "longmemeval_s_cleaned.json", [row, declined])
    first, second = load("longmemeval", path)
    assert first.questions[0].evidence == {"s1"}
    assert first.questions[0].at == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    [session] = first.documents
    assert [piece.role for piece in session.pieces] == ["user", "assistant"]
    assert second.questions[0].evidence == frozenset()


def test_msc_appends_the_last_session_and_alternates_speakers(tmp_path: Path) -> None:
    row = {
        "previous_dialogs": [{"dialog": [{"text": "Hi"}, {"text": "Hello"}]}],
        "dialog": [{"text": "Again"}],
        "self_instruct": {"B": "What did I greet with?", "A": "Hello"},
    }
    [task] = load("msc", write(tmp_path / "msc_self_instruct.jsonl", lines(row)))
    assert [len(document.pieces) for document in task.documents] == [2, 1]
    assert [piece.speaker for piece in task.documents[0].pieces] == ["Speaker 1", "Speaker 2"]
    assert task.questions[0].answers == ("Hello",)


def test_every_benchmark_says_where_its_data_is_and_under_which_licence() -> None:
    known = benchmarks()
    assert list(known) == sorted(known)
    for entry in known.values():
        assert entry.url.startswith("https://")
        assert entry.licence


@pytest.mark.parametrize("name", ["locomo", "memo-instructions", "multihop-rag", "narrativeqa"])
def test_a_path_without_the_data_is_an_error_that_names_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=str(tmp_path)):
        load(name, tmp_path / "nothing")


def test_a_broken_line_is_named_by_file_and_number(tmp_path: Path) -> None:
    path = write(tmp_path / "test.jsonl", '{"type": "writing"}\n{"type": \n')
    with pytest.raises(InputError, match=r"test\.jsonl, line 2: not JSON"):
        load("memo-instructions", path)


def test_xquad_is_a_task_a_language_with_paragraphs_as_evidence(tmp_path: Path) -> None:
    asked = {"id": "q1", "question": "Wo?", "answers": [{"text": "Porto", "answer_start": 9}]}
    paragraphs = [{"context": "Sie wohnt in Porto.", "qas": [asked]}, {"context": "Ja.", "qas": []}]
    file = {"data": [{"title": "Leben", "paragraphs": paragraphs}]}
    write(tmp_path / "xquad.de.json", file)
    write(tmp_path / "xquad.zh.json", {"data": []})
    german, chinese = load("xquad", tmp_path)
    assert (german.space, chinese.space) == ("de", "zh")
    assert [document.source for document in german.documents] == ["Leben 1", "Leben 2"]
    [question] = german.questions
    assert question.evidence == {"Leben 1"}
    assert question.answers == ("Porto",)


def test_twowiki_names_passages_by_their_title(tmp_path: Path) -> None:
    write(tmp_path / "corpus.json", [{"title": "Porto", "text": "A city."}])
    write(tmp_path / "gold_titles.jsonl", lines({"question": "What?", "gold_titles": ["Porto"]}))
    [task] = load("twowiki", tmp_path)
    [passage] = task.documents
    assert passage.pieces[0].text == "Porto: A city."
    [question] = task.questions
    assert question.evidence == {"Porto"}
    assert question.category == "1 passages"


def test_beam_carries_times_on_strips_marks_and_gathers_nested_evidence(tmp_path: Path) -> None:
    turn = [
        {"role": "user", "id": 0, "content": "Hi ->-> 1,2", "time_anchor": "March-15-2024"},
        {"role": "assistant", "id": 1, "content": "Hello -> you", "time_anchor": None},
    ]
    probing = {
        "abstention": [{"question": "Who?", "ideal_response": "No."}],
        "knowledge_update": [
            {"question": "When?", "answer": "Now", "source_chat_ids": {"old": [0], "new": [1]}}
        ],
    }
    chat = {"chat": [{"batch_number": 1, "turns": [turn]}], "probing_questions": probing}
    [task] = load("beam", write(tmp_path / "1.json", chat))
    first, second = task.documents[0].pieces
    assert (first.text, second.text) == ("Hi", "Hello -> you")
    assert first.at == second.at == datetime(2024, 3, 15, tzinfo=UTC)
    absent, updated = task.questions
    assert (absent.evidence, absent.category) == (frozenset(), "abstention")
    assert updated.evidence == {"0", "1"}
    assert updated.category == "knowledge update"


def realmem_session(uuid: str, day: str, *turns: dict[str, Any]) -> dict[str, Any]:
    return {"session_uuid": uuid, "current_time": f"{day} (Monday)", "dialogue_turns": list(turns)}


def realmem_turns(said: str, reply: str, sessions: list[str], query: str) -> list[dict[str, Any]]:
    asked = {"is_query": True, "query_id": query, "category_name": "one"} if query else {}
    user = {"speaker": "User", "content": said} | asked
    return [user, {"speaker": "Assistant", "content": reply, "memory_session_uuids": sessions}]


def write_realmem(folder: Path, evidence: str = "s1") -> Path:
    sessions = [
        realmem_session("s0", "2026-01-04", *realmem_turns("Good day.", "Hello.", [], "")),
        realmem_session("s1", "2026-01-05", *realmem_turns("I row in Porto.", "Nice.", [], "")),
        realmem_session(
            "s2",
            "2026-01-06",
            *realmem_turns("Where do I row?", "In Porto.", [evidence, "s2"], "Q-1"),
            *realmem_turns("The library is shut.", "", [], "Q-2"),
        ),
    ]
    return write(folder / "Ana.json", {"dialogues": sessions})


def test_realmem_asks_before_a_session_for_the_earlier_ones(tmp_path: Path) -> None:
    [task] = load("realmem", write_realmem(tmp_path))
    assert task.space == "Ana"
    assert [document.source for document in task.documents] == ["s0", "s1", "s2"]
    assert [piece.role for piece in task.documents[2].pieces] == ["user", "assistant", "user"]
    first, second = task.questions
    assert (first.text, first.before) == ("Where do I row?", "s2")
    assert first.evidence == {"s1"}
    assert first.at == datetime(2026, 1, 6, tzinfo=UTC)
    assert second.evidence == frozenset()


def test_a_folder_without_the_files_of_a_benchmark_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="should hold files xquad"):
        load("xquad", tmp_path)
