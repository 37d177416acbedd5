from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from treering.errors import InputError, LLMNotConfigured, UnknownName
from treering.llm.scripted import ScriptedLLM
from treering_bench.answer import AnswerSettings
from treering_bench.embedding import QuestionCache
from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.policy.registry import policies
from treering_bench.prompts import answer_prompt
from treering_bench.registry import Benchmark, DataSource
from treering_bench.report import Scores, summary
from treering_bench.results import Results, this_run
from treering_bench.run import (
    Measurement,
    answer_level,
    drawn,
    evidence_level,
    run_benchmark,
    word_level,
)
from treering_bench.space import TaskSpace
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion
from worlds import BagOfWords, chat_task, remembered

DATA = Path("not read")


class Loader:
    """Two chats, and how many tasks were taken."""

    def __init__(self) -> None:
        self.taken = 0

    def __call__(self, path: Path) -> Iterator[Task]:
        for name in ("first", "second"):
            self.taken += 1
            yield chat_task(name)


def measure(
    out: Path,
    *names: str,
    level: Measurement | None = None,
    limit: int | None = None,
    loader: Callable[[Path], Iterator[Task]] | None = None,
    embedder: BagOfWords | None = None,
) -> Scores:
    level = level or evidence_level()
    bench = Benchmark("locomo", "ours", loader or Loader(), DataSource("https://x", "ours", "none"))
    run = this_run("locomo", "0" * 64, 0, {"level": level.name})
    with Results(out, run) as results:
        run_benchmark(
            bench,
            DATA,
            policies(names, 0),
            level,
            results,
            QuestionCache(embedder or BagOfWords()),
            limit=limit,
        )
        return Scores.of(results.run, results.measured.values())


def test_every_question_with_evidence_meets_every_policy(tmp_path: Path) -> None:
    scores = measure(tmp_path / "r.jsonl", "all")
    means = summary(scores)
    assert {policy["n"] for policy in means.values()} == {4.0}
    assert means["whole"]["recall@all"] == 1.0
    assert "recall@10" not in means["whole"]
    assert means["treering"]["recall@10"] == 1.0
    assert "recall@all" not in means["context"]
    assert means["context"]["recall@250tokens"] == 1.0


def test_a_model_that_the_environment_names_takes_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is measured must be what the header says, on whoever's machine."""
    monkeypatch.setenv("TREERING_LLM_BASE_URL", "http://localhost:1/v1#m")
    asked: list[str] = []

    def pick(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        with pytest.raises(LLMNotConfigured):
            space._memory.ask(question.text)
        asked.append(question.id)
        return space.pieces

    bench = Benchmark("locomo", "ours", Loader(), DataSource("https://x", "ours", "none"))
    run = this_run("locomo", "0" * 64, 0, {})
    with Results(tmp_path / "r.jsonl", run) as results:
        spy = RetrievalPolicy("spy", pick)
        run_benchmark(bench, DATA, [spy], evidence_level(), results, QuestionCache(BagOfWords()))
    assert asked


def test_data_without_a_question_that_counts_are_refused(tmp_path: Path) -> None:
    def of_another_shape(path: Path) -> Iterator[Task]:
        yield replace(chat_task("empty"), questions=())

    with pytest.raises(InputError, match="holds no question whose evidence is marked"):
        measure(tmp_path / "r.jsonl", "own", loader=of_another_shape)


def test_a_limit_counts_questions_and_takes_no_task_beyond_it(tmp_path: Path) -> None:
    loader = Loader()
    scores = measure(tmp_path / "r.jsonl", "dense", limit=2, loader=loader)
    assert list(scores.by_policy["dense"]) == [("first", "1"), ("first", "2")]
    assert loader.taken == 1


def test_a_sample_is_drawn_from_all_tasks_and_holds_every_smaller_one() -> None:
    tasks = [
        replace(chat_task(), questions=tuple(TaskQuestion(f"{n}-{m}", "?") for m in range(20)))
        for n in range(3)
    ]
    everything = [question for task in tasks for question in task.questions]

    def sample(size: int, seed: int = 0) -> set[str]:
        chosen = drawn(tasks, lambda question: question.id != "0-0", size, seed)
        return {question.id for question in everything if chosen(question)}

    small, large = sample(6), sample(20)
    assert (len(small), len(large)) == (6, 20)
    assert small < large
    assert {name[0] for name in large} == {"0", "1", "2"}
    assert sample(6, seed=1) != small
    assert len(sample(100)) == 59
    assert not sample(1) & {"0-0"}


def test_a_run_goes_on_where_it_stopped_without_remembering_finished_tasks(
    tmp_path: Path,
) -> None:
    out = tmp_path / "r.jsonl"
    measure(out, "dense", limit=3)
    embedder = BagOfWords()
    scores = measure(out, "dense", embedder=embedder)
    assert len(scores.by_policy["dense"]) == 4
    asked = [text for texts, query in embedder.calls if query for text in texts]
    assert asked == ["Who has a bicycle?"]
    added = [text for texts, query in embedder.calls if not query for text in texts]
    assert len(added) == 6  # one task's turns, not both


def test_each_question_is_embedded_once_for_all_policies(tmp_path: Path) -> None:
    embedder = BagOfWords()
    measure(tmp_path / "r.jsonl", "treering", "dense", "fusion", "context", embedder=embedder)
    asked = [text for texts, query in embedder.calls if query for text in texts]
    assert sorted(asked) == ["Where did my sister go in spring?", "Who has a bicycle?"]


def test_answers_are_made_from_the_passages_in_reading_order(tmp_path: Path) -> None:
    llm = ScriptedLLM(["Porto", "nobody", "it is not said"])
    level = answer_level(AnswerSettings(llm, answer_prompt("search-results")), budget=200)
    scores = measure(tmp_path / "r.jsonl", "whole", level=level, limit=3)
    results = llm.requests[0].text.partition("[ Search Results ]")[2]
    assert results.index("Porto in spring") < results.index("rows on it")
    lines = list(scores.by_policy["whole"].values())
    assert lines[0].metrics["token_f1"] == 1.0
    assert lines[0].details["answer"] == "Porto"
    assert lines[0].metrics["tokens prompt"] > 0
    assert lines[1].metrics["token_f1"] == 0.0


CHAT = chat_task()
UNANSWERED = replace(CHAT.questions[1], answers=())  # its evidence is D3 and D4


def loading(*questions: TaskQuestion) -> Callable[[Path], Iterator[Task]]:
    return lambda _: iter([replace(CHAT, questions=questions)])


def test_a_judge_that_rates_sees_the_evidence_and_never_what_a_policy_picked(
    tmp_path: Path,
) -> None:
    judge = ScriptedLLM(["Faithful. [[80]]"])
    level = answer_level(AnswerSettings(ScriptedLLM(["Ben."]), answer_prompt("chat"), judge), 60)
    scores = measure(tmp_path / "r.jsonl", "whole", level=level, loader=loading(UNANSWERED))
    [line] = scores.by_policy["whole"].values()
    assert line.metrics["rating"] == 0.8
    shown = judge.requests[0].text.rpartition("User Question")[0]
    assert "Ben: I bought a red bicycle yesterday." in shown
    assert "Ana: Mine was stolen last week." in shown
    assert "Porto" not in shown


def test_what_no_answer_is_right_to_counts_for_its_evidence_alone(tmp_path: Path) -> None:
    twisted = replace(UNANSWERED, id="4", answerable=False)
    judge = ScriptedLLM(["Faithful. [[80]]"])
    level = answer_level(AnswerSettings(ScriptedLLM(["Ben."]), answer_prompt("chat"), judge), 60)
    loader = loading(UNANSWERED, twisted)
    answered = measure(tmp_path / "a.jsonl", "whole", level=level, loader=loader)
    assert list(answered.by_policy["whole"]) == [("chat", "2")]
    found = measure(tmp_path / "e.jsonl", "whole", loader=loader)
    assert list(found.by_policy["whole"]) == [("chat", "2"), ("chat", "4")]


def test_a_preset_decides_how_policies_search_that_do_not_say_otherwise(tmp_path: Path) -> None:
    searched: list[int] = []

    def counting(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        passages = space.search(question)
        searched.append(len(passages))
        return passages

    def measured(preset: str | None, file: str) -> None:
        bench = Benchmark("locomo", "ours", Loader(), DataSource("https://x", "ours", "none"))
        with Results(tmp_path / file, this_run("locomo", "0" * 64, 0, {})) as results:
            run_benchmark(
                bench, DATA, [RetrievalPolicy("counting", counting)], evidence_level(), results,
                QuestionCache(BagOfWords()), preset=preset,
            )  # fmt: skip

    measured("memtree-chat", "tree.jsonl")
    assert set(searched) == {5}  # three nodes of the tree: two rounds of two messages, and one
    measured(None, "plain.jsonl")
    assert max(searched) > 3
    with pytest.raises(InputError, match="'memtree' is for text, and this benchmark is of chats"):
        measured("memtree", "texts.jsonl")


def test_settings_go_on_top_of_a_preset_and_others_are_refused(tmp_path: Path) -> None:
    task = chat_task()
    with remembered(tmp_path, task, BagOfWords()) as space:
        space.configure("memtree-chat", {"k": 2, "base": 0.2})
        assert space._memory.configure().k == 2
        assert space._memory.tree.settings().threshold.base == 0.2
        assert len(space.search(task.questions[0])) <= 4  # rounds of two messages
        with pytest.raises(UnknownName, match="no setting 'depth'; there are"):
            space.configure(None, {"depth": 3})


def test_without_marked_evidence_the_answers_words_are_looked_for(tmp_path: Path) -> None:
    scores = measure(tmp_path / "r.jsonl", "tree-traversal", "whole", level=word_level())
    means = summary(scores)
    assert means["whole"]["words@1000tokens"] == pytest.approx(2 / 3, abs=1e-6)
    assert means["tree-traversal"]["words@1000tokens"] == means["whole"]["words@1000tokens"]
    assert means["whole"]["n"] == 6.0  # all but one of the answers' words are said


def test_of_a_passage_longer_than_a_budget_the_beginning_counts(tmp_path: Path) -> None:
    text = "kite " + "sand " * 600 + "boat"
    questions = (TaskQuestion("1", "What?", ("kite",)), TaskQuestion("2", "What?", ("boat",)))
    task = Task("story", (Document("story", (DocumentPiece("story", text),)),), questions)
    everything = RetrievalPolicy("everything", lambda space, _: space.pieces)
    with remembered(tmp_path, task, BagOfWords()) as space:
        measured = [word_level().measure(everything, space, asked) for asked in questions]
    assert [one.metrics["words@250tokens"] for one in measured] == [1.0, 0.0]


def test_baselines_are_flat_whatever_a_preset_says(tmp_path: Path) -> None:
    task = chat_task()
    with remembered(tmp_path, task, BagOfWords()) as space:
        space.configure("memtree-chat", {})
        for policy in policies(["own", "bm25", "dense"], 0):
            assert policy.pick is not None
            found = policy.pick(space, task.questions[0])
            assert not [passage for passage in found if passage.sources]
