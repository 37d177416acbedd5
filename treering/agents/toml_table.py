"""One table in a TOML file: put at its end and taken out again, all else as it was.

The standard library reads TOML and cannot write it. A table can be appended as text; what the text
means before and after is compared, so a file that would mean anything else is never written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from treering.errors import InputError

KeyPath = tuple[str, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


def read(text: str) -> dict[str, Any]:
    """What a text means. Raises InputError, naming the line."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(str(error)) from error


def put(text: str, path: KeyPath, table: Mapping[str, Any]) -> str:
    """The text with a table that is not there yet at its end. Raises InputError."""
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else end if text.endswith(("\n", "\r\n")) else end + end
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in table.items()]
    after = text + gap + end.join(lines) + end
    try:
        is_right = tomllib.loads(after) == _with(read(text), path, dict(table))
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise InputError(
            f"the table {'.'.join(path)!r} cannot be put at the end, as {path[0]!r} is written "
            "on one line; write it as a [table] of its own"
        )
    return after


def take(text: str, path: KeyPath, expected: Mapping[str, Any]) -> str:
    """The text without the table at a path, from its header to the next.

    Raises InputError if there is no way to leave a text that means what is ``expected``.
    """
    header = re.compile(
        r"^[ \t]*\[[ \t]*" + r"[ \t]*\.[ \t]*".join(map(_key_pattern, path)) + r"[ \t]*\]",
        re.MULTILINE,
    )
    for match in header.finditer(text):
        following = _HEADER.search(text, match.end())
        after = text[: match.start()] + text[following.start() if following else len(text) :]
        try:
            if tomllib.loads(after) == expected:
                return after
        except tomllib.TOMLDecodeError:
            continue
    raise InputError(f"the table {'.'.join(path)!r} is not written under a header of its own")


def _with(value: Mapping[str, Any], path: KeyPath, table: Mapping[str, Any]) -> dict[str, Any]:
    if len(path) == 1:
        return {**value, path[0]: dict(table)}
    below = value.get(path[0], {})
    return {**value, path[0]: _with(below if isinstance(below, Mapping) else {}, path[1:], table)}


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _key_pattern(key: str) -> str:
    return f"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')"


def _value(value: object) -> str:
    """A text or a list of texts; JSON writes both as TOML does, but for the characters beyond the
    Basic Multilingual Plane that it would escape as pairs.
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
