"""Put values into a settings file, and take them out again.

JSON is written again with the indentation of the file, and a TOML table goes to the end of its file
as text. Comments in JSON would be lost: such a file is refused, with the lines for its user.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from treering.errors import InputError

Form = Literal["json", "toml"]


@dataclass(frozen=True, slots=True)
class SettingsEdit:
    """A value at a path of keys. With a ``mark`` it is an item of the list there.

    Treering's own values are the one at the path, or the items that have the mark.
    """

    path: tuple[str, ...]
    value: Any
    mark: str = ""


def put_in(text: str, form: Form, edits: Sequence[SettingsEdit]) -> str:
    """Return the text with the edits instead of earlier ones; the same text if it has them.

    Raise InputError if the file is broken, has comments in JSON, or holds other things there.
    """
    value = read(text, form)
    if all(_own_values(value, edit) == [edit.value] for edit in edits):
        return text
    if form == "toml":
        text = take_out(text, form, edits)
        for edit in edits:
            text = _put_table(text, edit)
        return text
    lines: dict[str, Any] = {}
    for edit in edits:
        _remove(value, edit)
        _put(value, edit)
        _put(lines, edit)
    by_hand = json.dumps(lines, indent=2, ensure_ascii=False)
    return _write_json(text, value, f"put this in by hand:\n{by_hand}")


def take_out(text: str, form: Form, edits: Sequence[SettingsEdit]) -> str:
    """Return the text without treering's values, and without containers that held nothing else."""
    value = read(text, form)
    own = [edit for edit in edits if _own_values(value, edit)]
    if form == "toml":
        for edit in own:
            text = _cut_table(text, edit)
    elif own:
        for edit in own:
            _remove(value, edit)
        places = ", ".join(".".join(edit.path) for edit in own)
        text = _write_json(text, value, f"remove treering from {places} by hand")
    return text


def value_at(value: Any, path: Sequence[str]) -> Any:
    """Return the value at a path of keys, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def read(text: str, form: Form) -> Any:
    """Return the value of a settings file. Raise InputError, with the line of a mistake."""
    try:
        if form == "toml":
            return tomllib.loads(text)
        plain = _TRAILING_COMMAS.sub(_blank, _without_comments(text.removeprefix("\ufeff")))
        return json.loads(plain, object_pairs_hook=_unique) if plain.strip() else {}
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # tomllib names the line
        raise InputError(str(error)) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError(f"a key is there twice, one of {', '.join(value)}")
    return value


def _own_values(value: Any, edit: SettingsEdit) -> list[Any]:
    there = value_at(value, edit.path)
    if edit.mark:
        items = there if isinstance(there, list) else []
        return [item for item in items if edit.mark in _dump(item)]
    return [] if there is None else [there]


def _put(value: Any, edit: SettingsEdit) -> None:
    """Put a value at its path, or before the other items there. Raise InputError."""
    *keys, last = edit.path
    for depth, key in enumerate((*keys, None)):
        if not isinstance(value, dict):
            where = repr(".".join(edit.path[:depth])) if depth else "the whole file"
            raise InputError(f"{where} must be an object")
        value = value.setdefault(key, {}) if key else value
    if not edit.mark:
        value[last] = edit.value
    elif isinstance(items := value.setdefault(last, []), list):
        items.insert(0, edit.value)
    else:
        raise InputError(f"{'.'.join(edit.path)!r} must be a list")


def _remove(value: Any, edit: SettingsEdit) -> None:
    """Remove treering's values at a path, and containers that they leave empty."""
    if not _own_values(value, edit):
        return
    *above, last = edit.path
    holder = value_at(value, above)
    items = [_without_mark(item, edit.mark) for item in holder[last]] if edit.mark else []
    holder[last] = [item for item in items if item is not None]
    for depth in range(len(edit.path), 0, -1):
        holder = value_at(value, edit.path[: depth - 1])
        if holder[edit.path[depth - 1]]:
            return
        del holder[edit.path[depth - 1]]


def _without_mark(item: Any, mark: str) -> Any:
    """Return an item without the parts of its lists that have the mark; None if none is left."""
    if mark not in _dump(item):
        return item
    lists = {
        key: [part for part in parts if mark not in _dump(part)]
        for key, parts in (item.items() if isinstance(item, dict) else ())
        if isinstance(parts, list)
    }
    return item | lists if any(lists.values()) else None


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# ---------------------------------------------------------------------- JSON

_STRING = r'"(?:[^"\\\n]|\\.)*+"'
_COMMENTS = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMAS = re.compile(rf"{_STRING}|,(?=\s*[\]}}])")


def _without_comments(text: str) -> str:
    return _COMMENTS.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    """Return a text as it is, and anything else as spaces: each line keeps its number."""
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])


def _write_json(text: str, value: Any, by_hand: str) -> str:
    """Return a value as JSON in the form of a text. Raise InputError for one with comments."""
    if _without_comments(text) != text:
        raise InputError(f"it has comments, which would be lost; {by_hand}")
    step = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    is_one_line = "\n" not in text.strip() and bool(read(text, "json"))
    try:
        written = json.dumps(
            value,
            indent=None if is_one_line else step[1] if step else 2,
            ensure_ascii=text.isascii() or "\\ud" in text.lower(),  # maybe half a character
            allow_nan=False,
        )
    except ValueError as error:
        raise InputError(f"a number cannot be written as JSON ({error}); {by_hand}") from error
    end = "\r\n" if "\r\n" in text else "\n"
    return written.replace("\n", end) + (text[len(text.rstrip()) :] if text.strip() else end)


# ---------------------------------------------------------------------- TOML

_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_COMMENTS_AT_END = re.compile(r"^[ \t]*#[^\n]*(?:\n[ \t\r]*(?:#[^\n]*)?)*\Z", re.MULTILINE)
"""Comments before the next table, which belong to that one."""


def _put_table(text: str, edit: SettingsEdit) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else end if text.endswith("\n") else end + end
    # JSON writes a text, or a list of texts, as TOML does.
    values = (f"{key} = {_dump(value)}" for key, value in edit.value.items())
    lines = [f"[{'.'.join(edit.path)}]", *(line.replace("\x7f", "\\u007F") for line in values)]
    expected = read(text, "toml")
    _put(expected, edit)
    return _check_meaning(text + gap + end.join(lines) + end, expected, edit)


def _cut_table(text: str, edit: SettingsEdit) -> str:
    """Return the text without a table and those below it, each from its header to the next."""
    expected = read(text, "toml")
    _remove(expected, edit)
    keys = r"[ \t]*\.[ \t]*".join(f"[\"']?{re.escape(key)}[\"']?" for key in edit.path)
    own = re.compile(rf"^[ \t]*\[[ \t]*{keys}[ \t]*[.\]]", re.MULTILINE)
    while match := own.search(text):
        following = _HEADER.search(text, match.end())
        after, end = text[: match.start()], following.start() if following else len(text)
        comments = _COMMENTS_AT_END.search(text, match.end(), end)
        if following or comments:
            after += text[comments.start() if comments else end :]
        elif after:  # the empty line before the table goes, too
            after = after.rstrip() + ("\r\n" if "\r\n" in text else "\n")
        text = after
    return _check_meaning(text, expected, edit)


def _check_meaning(text: str, expected: Mapping[str, Any], edit: SettingsEdit) -> str:
    """Return a text of TOML if it means what is expected. Raise InputError."""
    try:
        is_right = read(text, "toml") == expected
    except InputError:
        is_right = False
    if not is_right:
        raise InputError(f"{'.'.join(edit.path)!r} is not a [table] of its own; edit it by hand")
    return text
