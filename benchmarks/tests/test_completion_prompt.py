"""RepoCoder's prompt and steps."""

from __future__ import annotations

import pytest

from treering.errors import InputError
from treering.records import Why
from treering.views.code.index.code_index import CodeHit
from treering_bench.coding.completion import complete, completion_prompt, query_of


def hit(path: str, text: str) -> CodeHit:
    return CodeHit(1.0, path, 1, 2, "", text, Why({}))


def words(text: str) -> int:
    return len(text.split())


def test_the_query_is_the_last_lines_and_later_the_prediction_too() -> None:
    prefix = "\n".join(f"line {i}" for i in range(30))
    assert query_of(prefix).splitlines() == [f"line {i}" for i in range(10, 30)]
    second = query_of(prefix, "new 1\nnew 2").splitlines()
    assert second == [*(f"line {i}" for i in range(12, 30)), "new 1", "new 2"]


def test_the_prompt_has_the_papers_form_with_the_best_fragment_last() -> None:
    prompt = completion_prompt(
        [hit("a.py", "x = 1\ny = 2"), hit("b.py", "z = 3")], "w = ", 200, words
    )
    rule = "# " + "-" * 50
    where = "# the below code fragment can be found in:"
    assert prompt == "\n".join(
        [
            "# Here are some relevant code fragments from other files of the repo:",
            rule,
            *(where, "# b.py", rule, "# z = 3", rule),
            *(where, "# a.py", rule, "# x = 1", "# y = 2", rule),
            "",
            "w = ",
        ]
    )


def test_the_prompt_keeps_within_its_budget_by_dropping_what_is_farthest() -> None:
    hits = [hit("a.py", "x " * 10), hit("b.py", "y " * 60)]
    prefix = "\n".join(f"line {i}" for i in range(100))
    prompt = completion_prompt(hits, prefix, 120, words)
    assert words(prompt) <= 120
    assert "a.py" in prompt
    assert "b.py" not in prompt
    assert prompt.endswith("line 99")
    with pytest.raises(InputError, match="last line"):
        completion_prompt([], "one two three", 2, words)


def test_the_second_step_searches_with_the_first_prediction() -> None:
    queries: list[str] = []
    answers = iter(["first", "second"])

    def retrieve(query: str) -> list[CodeHit]:
        queries.append(query)
        return [hit("a.py", "x = 1")]

    made = complete(
        "start", retrieve, lambda _: next(answers), budget=100, count_tokens=words, steps=2
    )
    assert (made, queries) == ("second", ["start", "start\nfirst"])
