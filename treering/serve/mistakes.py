"""What is wrong with a request, in its sender's words: ``messages[0].content must be a string``.

Pydantic names its own types and the branches of unions; neither says anything to a client.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

_BRANCH: Final = re.compile(r"[A-Z]\w*Request")
_TYPE: Final = re.compile(r"(str|int|float|bool|list|dict)|\w+\[.*\]")
_NOUNS: Final = {
    "string": "a string",
    "list": "a list",
    "dict": "an object",
    "model": "an object",
    "model_attributes": "an object",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}
_OF_ANOTHER_TYPE: Final = re.compile(rf"({'|'.join(_NOUNS)})_(type|parsing|from_float)")
_LIMITS: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not a field of this request",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} character(s)",
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} items",
    "too_short": "must have at least {min_length} items",
    "string_unicode": "has a character that is no valid Unicode, such as half of a pair",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "json_type": "must be JSON",
}


def mistakes(errors: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Each place that is wrong (``where``), and how (``what``), without what was sent.

    ``errors`` are those of a validation, in its own form.
    """
    branches: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for error in errors:
        branches[_branch(error)][_place(error)].append(error)
    # Of several forms that a body may have, the client meant the one with the fewest mistakes.
    fewest = min(map(len, branches.values()), default=0)
    meant = [places for places in branches.values() if len(places) == fewest]
    if len(meant) > 1 and all(_is_missing(places) for places in meant):
        names = " or ".join(place for places in meant for place in places)
        return [{"where": names, "what": "is missing"}]
    return [
        {"where": place, "what": _beside(place, of_place, branches) or _what(of_place)}
        for places in meant[:1]
        for place, of_place in places.items()
    ]


def in_words(wrong: Sequence[Mapping[str, str]]) -> str:
    """Mistakes as one text, as a client or a model is told them."""
    return "; ".join(f"{mistake['where']} {mistake['what']}" for mistake in wrong)


def _beside(
    place: str,
    errors: Sequence[Mapping[str, Any]],
    branches: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
) -> str | None:
    """What to say of a field that belongs to another form of the body; None of any other."""
    if any(error["type"] != "extra_forbidden" for error in errors):
        return None
    for places in branches.values():
        others = [at for at, of_place in places.items() if of_place[0]["type"] == "extra_forbidden"]
        if place not in places and others:
            return f"cannot be given beside {' and '.join(others)}"
    return None


def _branch(error: Mapping[str, Any]) -> str:
    return next((str(step) for step in error["loc"] if _BRANCH.fullmatch(str(step))), "")


def _place(error: Mapping[str, Any]) -> str:
    """The field, as one would write it: ``messages[0].content``."""
    if _is_unread(error):  # the place is a number of characters, not of a field
        return "the body"
    place = ""
    for step in error["loc"][1:]:  # the first one is body, query, path or header
        if isinstance(step, int):
            place += f"[{step}]"
        elif not _BRANCH.fullmatch(step) and not _TYPE.fullmatch(step):
            place += f".{step}" if place else step
    return place or "the body"


def _is_unread(error: Mapping[str, Any]) -> bool:
    """Whether the whole body is no JSON, and not the value of a parameter."""
    return bool(error["type"] == "json_invalid" and error["loc"][0] == "body")


def _is_missing(places: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    return all(error["type"] == "missing" for of_place in places.values() for error in of_place)


def _what(errors: Sequence[Mapping[str, Any]]) -> str:
    nouns = [noun for noun in map(_noun, errors) if noun]
    if nouns:
        return f"must be {' or '.join(dict.fromkeys(nouns))}"
    error = errors[0]
    context = error.get("ctx", {})
    if _is_unread(error):
        return f"is not valid JSON at character {error['loc'][-1]}: {context['error']}"
    if error["type"] == "json_invalid":  # a field of its own: the reason tells the place in it
        return f"is not valid JSON: {context['error']}"
    limit = _LIMITS.get(error["type"])
    return limit.format(**context) if limit else str(error["msg"])


def _noun(error: Mapping[str, Any]) -> str | None:
    of_type = _OF_ANOTHER_TYPE.fullmatch(error["type"])
    return _NOUNS[of_type[1]] if of_type else None
