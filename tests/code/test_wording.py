"""What an instruction asks for."""

from __future__ import annotations

import pytest

from treering.views.code.guard.wording import read_instruction as read


def test_an_error_and_its_message_are_read() -> None:
    asked = read("It should raise a ValueError with the message 'no such key' if it is missing.")
    assert asked.kind == "raises"
    assert asked.raises == ("ValueError",)
    assert asked.messages == ("no such key",)


@pytest.mark.parametrize(
    ("instruction", "returns"),
    [
        ("Return -1 for an empty list.", ("-1",)),
        ("It should handle an empty string by returning 'none found'.", ("'none found'",)),
        ("The result is an empty list; return an empty list if nothing matches.", ("[]",)),
        ("Returning None when there is no match.", ("None",)),
        ("Handle zero as an edge case, returning an area of zero.", ("0",)),
    ],
)
def test_values_to_return_are_read(instruction: str, returns: tuple[str, ...]) -> None:
    asked = read(instruction)
    assert asked.kind == "returns"
    assert asked.returns == returns


def test_returning_the_argument_as_it_came_is_read() -> None:
    assert read("Return the original text if there is nothing to remove.").unchanged


@pytest.mark.parametrize(
    "instruction",
    [
        "Add type annotations for its parameters and its return type: 'a': int, return: bool.",
        "The code should adhere to PEP 8, including naming conventions.",
        "Keep the cyclomatic complexity at 5 or less.",
    ],
)
def test_what_asks_only_for_form_has_no_behaviour_to_lose(instruction: str) -> None:
    assert read(instruction).kind == "form"


def test_an_instruction_without_such_words_is_of_another_kind() -> None:
    assert read("Write a function that sorts a matrix by the sums of its rows.").kind == "other"
