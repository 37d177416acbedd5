"""The loop of all benchmarks, on questions about two small chats, and the results that it keeps."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from treering.errors import InputError, LLMNotConfigured
from treering.llm.contract import Message
from treering.llm.scripted import FakeLLM, Line, Request
from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.models import KeptModel, TimeUp
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.policy.registry import policies
from treering_bench.questions import evidence, words
from treering_bench.questions import remembered as opened
from treering_bench.report import summary
from treering_bench.results import Results, read
from treering_bench.runner import chosen
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion
from worlds import BagOfWords, chat_task, measure, remembered

CHAT = chat_task()
UNANSWERED = replace(CHAT.questions[1], answers=())  # its evidence is D3 and D4


def test_every_question_with_evidence_meets_every_policy(tmp_path: Path) -> None:
    means = summary(measure(tmp_path, "all"))
    assert {policy["n"] for policy in means.values()} == {4.0}
    assert means["whole"]["recall@all"] == 1.0
    assert "recall@10" not in means["whole"]
    assert means["treering"]["recall@10"] == means["treering"]["all@10"] == 1.0
    assert "recall@all" not in means["context"]
    assert means["context"]["recall@250tokens"] == 1.0


def test_a_run_goes_on_and_opens_no_group_that_is_done(tmp_path: Path) -> None:
    measure(tmp_path, "dense", limit=3)
    embedder = BagOfWords()
    scores = measure(tmp_path, "dense", embedder=embedder)
    assert len(scores.by_policy["dense"]) == 4
    asked = [text for texts, query in embedder.calls if query for text in texts]
    assert asked == ["Who has a bicycle?"]
    added = [text for texts, query in embedder.calls if not query for text in texts]
    assert len(added) == 6  # one task's turns, not both


def test_each_question_is_embedded_once_for_all_policies(tmp_path: Path) -> None:
    embedder = BagOfWords()
    measure(tmp_path, "treering", "dense", "fusion", "context", embedder=embedder)
    asked = [text for texts, query in embedder.calls if query for text in texts]
    assert sorted(asked) == ["Where did my sister go in spring?", "Who has a bicycle?"]


def test_a_limit_counts_questions_and_reads_no_task_beyond_it(tmp_path: Path) -> None:
    taken: list[str] = []

    def load(_: Path) -> Iterator[Task]:
        for name in ("first", "second"):
            taken.append(name)
            yield chat_task(name)

    scores = measure(tmp_path, "dense", limit=2, loader=load)
    assert list(scores.by_policy["dense"]) == [("first", "1"), ("first", "2")]
    assert taken == ["first"]


def test_a_sample_is_drawn_from_all_groups_and_holds_every_smaller_one() -> None:
    def groups() -> Iterator[tuple[str, Sequence[TaskQuestion]]]:
        for n in range(3):
            yield str(n), [TaskQuestion(f"{n}-{m}", "?") for m in range(20)]

    def sample(size: int, seed: int = 0) -> set[str]:
        kept = chosen(groups, limit=None, sample=size, seed=seed)
        return {question.id for _, questions in kept for question in questions}

    small, large = sample(6), sample(20)
    assert (len(small), len(large)) == (6, 20)
    assert small < large
    assert {name[0] for name in large} == {"0", "1", "2"}
    assert sample(6, seed=1) != small
    assert len(sample(100)) == 60


def test_data_without_a_question_that_counts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds nothing whose evidence is marked"):
        measure(tmp_path, "own", loader=lambda _: iter([replace(chat_task(), questions=())]))


def test_a_model_that_the_environment_names_takes_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is measured must be what the header says, on whoever's machine."""
    monkeypatch.setenv("TREERING_LLM_BASE_URL", "http://localhost:1/v1#m")
    with opened(CHAT, BagOfWords()) as space, pytest.raises(LLMNotConfigured):
        space._memory.ask("Where?")


# ---------------------------------------------------------------- results


def test_lines_are_read_back_with_their_header_also_packed_and_half_written(
    tmp_path: Path,
) -> None:
    measure(tmp_path, "dense")
    path = tmp_path / "r.jsonl"
    run, found = read(path)
    assert (run.benchmark, run.settings["level"], len(found)) == ("locomo", "evidence", 4)
    packed = tmp_path / "r.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed) == (run, found)
    path.write_bytes(path.read_bytes()[:-20])
    assert len(measure(tmp_path, "dense").by_policy["dense"]) == 4
    assert {line.key for line in read(path)[1]} == {line.key for line in found}


@pytest.mark.parametrize(
    ("change", "named"),
    [({"commit": "a"}, "commit"), ({"data_sha256": "1"}, "data_sha256"), ({"seed": 7}, "seed")],
)
def test_lines_of_another_run_never_mix(
    tmp_path: Path, change: dict[str, object], named: str
) -> None:
    measure(tmp_path, "dense", limit=1)
    path = tmp_path / "r.jsonl"
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"another {named}; give another --out"):
        Results(path, replace(read(path)[0], **change))  # type: ignore[arg-type]
    assert path.read_bytes() == before


# ---------------------------------------------------------------- answers and words


def test_answers_are_made_from_the_passages_in_reading_order(tmp_path: Path) -> None:
    llm = FakeLLM(["Porto", "nobody", "it is not said"])
    scores = measure(tmp_path, "whole", llm=llm, budget=200, limit=3)
    results = llm.requests[0].text.partition("[ Search Results ]")[2]
    assert results.index("Porto in spring") < results.index("rows on it")
    first, second, _ = scores.by_policy["whole"].values()
    assert (first.metrics["token_f1"], second.metrics["token_f1"]) == (1.0, 0.0)
    assert first.details["answer"] == "Porto"
    assert first.details["position"] == 0.0
    assert second.details["position"] == 0.5
    assert first.metrics["tokens prompt"] > 0
    assert llm.closed


def test_a_judge_that_rates_sees_the_evidence_and_never_what_a_policy_picked(
    tmp_path: Path,
) -> None:
    judge = FakeLLM(["Faithful. [[80]]"])
    twisted = replace(UNANSWERED, id="4", answerable=False)  # counts for its evidence alone
    scores = measure(
        tmp_path, "whole", llm=FakeLLM(["Ben."]), judge=judge, prompt="chat", budget=60,
        loader=lambda _: iter([replace(CHAT, questions=(UNANSWERED, twisted))]),
    )  # fmt: skip
    [line] = scores.by_policy["whole"].values()
    assert line.metrics["rating"] == 0.8
    shown = judge.requests[0].text.rpartition("User Question")[0]
    assert "Ben: I bought a red bicycle yesterday." in shown
    assert "Ana: Mine was stolen last week." in shown
    assert "Porto" not in shown


def test_without_marked_evidence_the_answers_words_are_looked_for(tmp_path: Path) -> None:
    means = summary(measure(tmp_path, "tree-traversal", "whole", marked=False))
    assert means["whole"]["words@1000tokens"] == pytest.approx(2 / 3, abs=1e-6)
    assert means["tree-traversal"]["words@1000tokens"] == means["whole"]["words@1000tokens"]
    assert means["whole"]["n"] == 6.0  # all but one of the answers' words are said


def test_of_a_passage_longer_than_a_budget_the_beginning_counts() -> None:
    text = "kite " + "sand " * 600 + "boat"
    questions = (TaskQuestion("1", "What?", ("kite",)), TaskQuestion("2", "What?", ("boat",)))
    task = Task("story", (Document("story", (DocumentPiece("story", text),)),), questions)
    everything = RetrievalPolicy("everything", lambda space, _: space.pieces)
    with remembered(task, BagOfWords()) as space:
        measured = [words(everything, space, asked) for asked in questions]
    assert [one.metrics["words@250tokens"] for one in measured] == [1.0, 0.0]


# ---------------------------------------------------------------- presets


def test_a_preset_decides_how_many_hits_there_are_only_if_it_prints_a_number() -> None:
    def found(preset: str | None, task: Task, **settings: object) -> list[RetrievedPassage]:
        with opened(task, BagOfWords(), preset=preset, settings=settings) as space:
            space.remember()
            return space.search(task.questions[0])

    assert len(found("memtree-chat", CHAT)) == 5  # three nodes: two rounds of two, and one
    assert len(found("memtree-chat", CHAT, k=1)) <= 2
    story = " ".join(f"Sentence {n} goes on and on." for n in range(2_000))
    asked = (TaskQuestion("1", "Which?"),)
    long = Task("story", (Document("story", (DocumentPiece("s", story),)),), asked)
    assert len(found("fragrel-b-story", long)) > 10
    with pytest.raises(InputError, match="'memtree' is for text, and this benchmark is of chats"):
        found("memtree", CHAT)
    with pytest.raises(InputError, match="no setting 'depth'; there are"):
        found(None, CHAT, depth=3)


@pytest.mark.parametrize("name", ["own", "bm25", "dense", "dense+relations", "with:context"])
def test_baselines_are_flat_whatever_a_preset_says(name: str) -> None:
    with opened(CHAT, BagOfWords(), preset="memtree-chat") as space:
        space.remember()
        for policy in policies([name], 0):
            found = evidence(policy, space, CHAT.questions[0])
            assert found.metrics["reach@2000tokens"] == found.metrics["recall@2000tokens"]


# ---------------------------------------------------------------- kept replies

ASKED = [Message("user", "Hi?")]


def test_a_reply_is_asked_for_once_even_by_another_run(tmp_path: Path) -> None:
    def line(_: Request) -> Line:
        return f"Reply {len(llm.requests)}."

    llm = FakeLLM(line)
    for _ in range(2):
        kept = KeptModel(llm, tmp_path / "replies.jsonl")
        first = kept.complete(ASKED, max_tokens=5, temperature=0.0)
        assert (first.text, first.usage.calls) == ("Reply 1.", 1)
        assert kept.complete(ASKED, max_tokens=6, temperature=0.0).text == "Reply 2."
        assert list(kept.stream(ASKED, max_tokens=5, temperature=0.0)) == ["Reply 1."]
        assert kept.usage.calls == 2
    assert len(llm.requests) == 2


def test_a_reply_that_was_being_kept_when_a_run_was_killed_is_asked_for_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "replies.jsonl"

    def ask(text: str, *script: str) -> str:
        asked = [Message("user", text)]
        kept = KeptModel(FakeLLM(script), path)
        return kept.complete(asked, max_tokens=9, temperature=0.0).text

    assert [ask("one", "one"), ask("two", "two")] == ["one", "two"]
    path.write_bytes(path.read_bytes()[:-7])
    assert [ask("one"), ask("two", "again"), ask("two")] == ["one", "again", "again"]


def test_a_run_whose_time_is_up_ends_and_keeps_what_it_has(tmp_path: Path) -> None:
    kept = KeptModel(FakeLLM(["a"]), tmp_path / "x.jsonl", minutes=0)
    with pytest.raises(TimeUp):
        kept.complete(ASKED, max_tokens=5, temperature=0.0)
    measure(tmp_path, "dense", llm=FakeLLM(["Porto"]), limit=1)
    scores = measure(tmp_path, "dense", llm=FakeLLM([]), minutes=0)
    assert len(scores.by_policy["dense"]) == 1
    out = tmp_path / "tree.jsonl"
    written: dict[str, Any] = {
        "preset": "memtree-chat",
        "setting": ["tree_base=-1"],
        "minutes": 0,
        "out": out,
    }
    tree = measure(tmp_path, "tree-collapsed", summaries=FakeLLM([]), **written)
    assert not tree.by_policy
    rows = (tmp_path / "r.replies.jsonl").read_text("utf-8").splitlines()
    assert json.loads(rows[0])["reply"]["text"] == "Porto"
    assert len(rows) == 1
