"""Noun phrases, lists, and what of a phrase is worth keeping. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from treering.views.facts.verbs import (
    ADVERBS,
    DANGLING,
    DETERMINERS,
    JOINING,
    NOW,
    PREPOSITIONS,
    SMALL,
    TRAILING,
)

MAX_VALUE_WORDS: Final = 10


_BEFORE: Final = DETERMINERS | ADVERBS | SMALL
_AFTER: Final = TRAILING | ADVERBS | {"the"}
_NOWADAYS: Final = TRAILING | NOW
_UNITS = {"week", "day", "month", "year", "night", "kilo", "litre"}


_COUNTS = {"a", "an", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}


_ENDS: Final = frozenset(["rather", "instead", "because", "so"])
"""Words behind which a phrase goes on to something else."""

_BETWEEN = {"over", "by", "x", "to", "till", "until", "and", "in", "for"}


def noun_phrase(words: Sequence[str]) -> str:
    """The noun phrase that words begin with, without its article; "called Juno" belongs to it."""
    start = 0
    while start < len(words) and words[start].lower() in _BEFORE:
        start += 1
    end = start
    while end < len(words) and (
        words[end].lower() not in PREPOSITIONS or _is_measure(words, start, end)
    ):
        end += 1
    for place in range(start + 1, end):  # "meat a while back" is meat, "six and a half" is all that
        is_rate = place + 1 < end and words[place + 1].lower() in _UNITS
        is_new = words[place].lower() in ("a", "an") and words[place - 1].lower() not in JOINING
        if is_new and not is_rate:
            end = place
            break
    phrase = list(words[start : min(end, start + MAX_VALUE_WORDS)])
    while phrase and phrase[-1].lower() in _AFTER:
        phrase.pop()
    return " ".join(phrase).replace(" ,", ",")


def placed(words: Sequence[str]) -> str:
    """A noun phrase with the place behind it: "a croft on Skye"."""
    phrase = noun_phrase(words)
    last = phrase.split()[-1:]
    at = words.index(last[0]) + 1 if last and last[0] in words else len(words)
    after = words[at : at + 2]
    if len(after) == 2 and after[0] in ("in", "on", "at", "near") and after[1][:1].isupper():
        place = noun_phrase(words[at + 1 :])
        return f"{phrase} {after[0]} {place}"
    return phrase


def _is_measure(words: Sequence[str], start: int, place: int) -> bool:
    """Whether the word at a place stands between two numbers: "140 over 90"."""
    if not start < place < len(words) - 1 or words[place].lower() not in _BETWEEN:
        return False
    return words[place - 1][-1:].isdigit() and words[place + 1][:1].isdigit()


def trimmed(words: Sequence[str]) -> str:
    """A phrase up to the first comma, without the words at its end that only say "now"."""
    phrase = _listed(words)
    lower = [word.lower() for word in phrase]
    if not _ENDS.isdisjoint(lower):
        phrase = phrase[: next((n for n, word in enumerate(lower) if n and word in _ENDS), None)]
    phrase = phrase[: MAX_VALUE_WORDS if "," not in words else 2 * MAX_VALUE_WORDS]
    while phrase and phrase[-1].lower() in _NOWADAYS:
        phrase.pop()
    if [word.lower() for word in phrase[-2:]] == ["these", "days"]:
        phrase = phrase[:-2]
    while phrase and phrase[-1].lower() in DANGLING:
        phrase.pop()
    if phrase and phrase[0].lower() in ("a", "an"):
        phrase = phrase[1:]
    return " ".join(phrase).replace(" ,", ",")


def _listed(words: Sequence[str]) -> list[str]:
    """Words up to the first comma behind which no list goes on: "a cat, a tortoise and a dog"."""
    for place, word in enumerate(words):
        if word != ",":
            continue
        after = words[place + 1] if place + 1 < len(words) else ""
        is_named = after == "the" and "".join(words[place + 2 : place + 3])[:1].isupper()
        is_item = is_named or after.lower() in _COUNTS or after[:1].isdigit() or after[:1].isupper()
        if not is_item or after in ("I", "I'm"):
            return list(words[:place])
    return list(words)


def is_telling(words: Sequence[str]) -> bool:
    """Whether one of these words is a name or a number."""
    return any(
        word[:1].isupper() or any(map(str.isdigit, word)) or "." in word[1:-1] for word in words
    )
