import pytest

from treering.llm.scripted import ScriptedLLM
from treering_bench.answer import AnswerSettings, answer, score
from treering_bench.prompts import answer_prompt
from treering_bench.task import TaskQuestion

OPEN = TaskQuestion("1", "Where {does} Ana live?", answers=("Porto", "in Porto, Portugal"))
CHOICE = TaskQuestion("2", "Which?", answers=("a cat",), options=("a dog", "a cat"))


def test_an_answer_is_scored_against_every_reference() -> None:
    llm = ScriptedLLM([" Porto, Portugal \n"])
    answered = answer(OPEN, "Ana {moved} to Porto.", AnswerSettings(llm, answer_prompt("story")))
    assert answered.text == "Porto, Portugal"
    assert answered.metrics["token_f1"] == pytest.approx(2 * 2 / (2 + 3))
    assert answered.metrics["exact_match"] == 0.0
    assert answered.metrics["rouge_l_recall"] == 1.0


def test_the_prompt_is_the_papers_with_context_and_question_as_they_are() -> None:
    llm = ScriptedLLM(["Porto"])
    how = AnswerSettings(llm, answer_prompt("story"), temperature=1.0, seed=7)
    answer(OPEN, "Ana {moved}.", how)
    [request] = llm.requests
    assert request.text.startswith("You are given a story")
    assert "Story: Ana {moved}.\n\nNow, answer" in request.text
    assert "Question: Where {does} Ana live?\n\nAnswer:" in request.text
    assert (request.temperature, request.seed, request.max_tokens) == (1.0, 7, 128)


@pytest.mark.parametrize(
    ("reply", "accuracy"),
    [
        ("B", 1.0),
        ("(B) a cat", 1.0),
        ("A", 0.0),
        ("The answer is B.", 1.0),
        ("a cat", 0.0),
        ("Z", 0.0),
    ],
)
def test_a_choice_is_read_by_its_letter(reply: str, accuracy: float) -> None:
    assert score(CHOICE, reply) == {"accuracy": accuracy}


@pytest.mark.parametrize(("verdict", "judged"), [("1", 1.0), ("0", 0.0), ("'1'", 1.0)])
def test_the_judge_says_whether_the_answer_matches(verdict: str, judged: float) -> None:
    judge = ScriptedLLM([verdict])
    how = AnswerSettings(ScriptedLLM(["Porto"]), answer_prompt("search-results"), judge)
    answered = answer(OPEN, "", how)
    assert answered.metrics["judged"] == judged
    assert "[ Ground-Truth Answer ]\nPorto\n" in judge.requests[0].text
    assert (answered.usage.calls, answered.judging.calls) == (1, 1)


def test_without_a_reference_the_judge_rates_faithfulness_to_the_rounds_asked_about() -> None:
    judge = ScriptedLLM(["Faithful on the whole. [[85]]"])
    how = AnswerSettings(ScriptedLLM(["Hi Ana"]), answer_prompt("chat"), judge)
    asked = TaskQuestion("1", "Who am I?")
    answered = answer(asked, "user: The wrong round", how, "user: I am Ana")
    assert answered.metrics == {"rating": 0.85}
    shown = judge.requests[0].text
    assert "Related Conversation History\n\nuser: I am Ana\n" in shown
    assert "The wrong round" not in shown


@pytest.mark.parametrize("verdict", ["Well, yes.", "[[850]]"])
def test_a_verdict_that_cannot_be_read_is_kept_and_is_no_score(verdict: str) -> None:
    how = AnswerSettings(ScriptedLLM(["x"]), answer_prompt("chat"), ScriptedLLM([verdict]))
    answered = answer(TaskQuestion("1", "?"), "", how)
    assert answered.metrics == {}
    assert answered.unread == {"rating": verdict}
