"""Put values into a settings file as text, and take them out again; other bytes stay.

Comments and trailing commas in JSON are blanked without moving a character, so the standard library
reads the rest and says where each value is. A TOML table goes to the end of its file. Each result
is read again: a text that would mean anything else than expected is never returned.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from treering.errors import InputError

Form = Literal["json", "toml"]
Kind = Literal["set", "first"]


@dataclass(frozen=True, slots=True)
class SettingsEdit:
    """A value at a path: ``set`` there, or ``first`` in the list there.

    What is at the path of a ``set`` is treering's, and each item of a list that has the ``mark``.
    """

    path: tuple[str, ...]
    value: Any
    kind: Kind = "set"
    mark: str = ""


def put_in(text: str, form: Form, edits: Sequence[SettingsEdit]) -> str:
    """Return the text with the edits instead of earlier ones; the same text if it has them.

    Raise InputError if the file is broken, or a place holds another kind of value.
    """
    value = read(text, form)
    if all(_own_values(value, edit) == [edit.value] for edit in edits):
        return text
    text = take_out(text, form, edits)
    for edit in edits:
        text = _put_table(text, edit) if form == "toml" else _put_json(text, edit)
    return text


def take_out(text: str, form: Form, edits: Sequence[SettingsEdit]) -> str:
    """Return the text without treering's values, and without containers that held nothing else."""
    cut = _cut_table if form == "toml" else _cut_json
    for edit in edits:
        while (path := _path_to_remove(text, form, edit)) is not None:
            text = cut(text, path, _without(read(text, form), path))
    return text


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path of keys and places, or None."""
    for key in path:
        if isinstance(key, str) and not (isinstance(value, dict) and key in value):
            return None
        value = value[key]
    return value


def read(text: str, form: Form) -> Any:
    """Return the value of a settings file. Raise InputError, with the line of a mistake."""
    try:
        if form == "toml":
            return tomllib.loads(text)
        plain = _without_trailing_commas(_without_comments(text))
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


Path = tuple[str | int, ...]


def _own_values(value: Any, edit: SettingsEdit) -> list[Any]:
    there = value_at(value, edit.path)
    if edit.kind == "first":
        items = there if isinstance(there, list) else []
        return [item for item in items if edit.mark in _dump(item)]
    return [] if there is None else [there]


def _path_to_remove(text: str, form: Form, edit: SettingsEdit) -> Path | None:
    """Return the path of one of our values, or of the outermost container that holds it alone."""
    value = read(text, form)
    path: Path = edit.path
    own = _own_values(value, edit)
    if not own:
        return None
    if edit.kind == "first":
        path = (*path, value_at(value, path).index(own[0]), *_own_part(own[0], edit.mark))
    while len(path) > 1 and len(value_at(value, path[:-1])) == 1:
        if form == "json" and _has_comment_beside(text, path):
            break
        path = path[:-1]
    return path


def _own_part(item: Any, mark: str) -> Path:
    """Return the path of our part of an item, in which a user has put hooks beside ours."""
    for key, parts in item.items() if isinstance(item, dict) else ():
        own = [mark in _dump(part) for part in parts] if isinstance(parts, list) else []
        if any(own) and not all(own):
            return key, own.index(True)
    return ()


def _without(value: Any, path: Path) -> Any:
    rest = deepcopy(value)
    del value_at(rest, path[:-1])[path[-1]]
    return rest


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# ---------------------------------------------------------------------- JSON with comments

_STRING = r'"(?:[^"\\\n]|\\.)*+"'
_COMMENTS = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/|\A\ufeff", re.DOTALL)
_TRAILING_COMMAS = re.compile(rf"{_STRING}|,(?=\s*[\]}}])")
_SAME_LINE = re.compile(r"[ \t]*(?://[^\n\r]*|/\*[^\n\r]*?\*/[ \t]*(?=[\r\n]))")
"""A comment beside an opening bracket, which belongs to the bracket."""

_decode = json.JSONDecoder().raw_decode


class _Span(NamedTuple):
    """An item of a container: where its key, if any, and its value begin, and where it ends."""

    key: str | int
    start: int
    value: int
    end: int


def _without_comments(text: str) -> str:
    return _COMMENTS.sub(_blank, text)


def _without_trailing_commas(text: str) -> str:
    return _TRAILING_COMMAS.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])


def _spans(text: str, at: int) -> list[_Span]:
    """Return the items of the container that begins at ``at``, in order."""
    plain = _without_trailing_commas(_without_comments(text))
    spans: list[_Span] = []
    place = _next(plain, at + 1)
    while plain[place] not in "]}":
        start, key = place, len(spans)
        if plain[at] == "{":
            key, place = _decode(plain, start)
            place = _next(plain, _next(plain, place) + 1)  # past the colon
        _, end = _decode(plain, place)
        spans.append(_Span(key, start, place, end))
        place = _next(plain, end)
        if plain[place] == ",":
            place = _next(plain, place + 1)
    return spans


def _next(text: str, at: int) -> int:
    """Return the place of the next character that is not white space."""
    return at + len(text[at:]) - len(text[at:].lstrip())


def _place(text: str, path: Path) -> tuple[int, int]:
    """Return how much of a path is there, and where the value at that part of it begins."""
    at = _next(_without_comments(text), 0)
    for depth, key in enumerate(path):
        spans = _spans(text, at) if text[at] in "{[" else []
        span = next((span for span in spans if span.key == key), None)
        if span is None:
            return depth, at
        at = span.value
    return len(path), at


def _has_comment_beside(text: str, path: Path) -> bool:
    """Return whether a container has a comment outside of the only item that it holds."""
    _, at = _place(text, path[:-1])
    [span], bare = _spans(text, at), _without_comments(text)
    end = _next(bare, span.end)
    end = _next(bare, end + 1) if bare[end] == "," else end
    return (
        text[at : span.start] + text[span.end : end] != bare[at : span.start] + bare[span.end : end]
    )


def _put_json(text: str, edit: SettingsEdit) -> str:
    text = text if text.strip() else "{}\n"
    path, value = edit.path, edit.value
    depth, at = _place(text, path)
    if depth == len(path):
        if text[at] != "[":
            raise InputError(f"{'.'.join(path)!r} must be a list")
        return _insert(text, at, value)
    if text[at] != "{":
        where = repr(".".join(path[:depth])) if depth else "the whole file"
        raise InputError(f"{where} must be an object")
    value = [value] if edit.kind == "first" else value
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return _insert(text, at, value, path[depth])


def _insert(text: str, at: int, value: Any, key: str | None = None) -> str:
    """Put in a first member or item, laid out as its neighbours are."""
    spans = _spans(text, at)
    closing = _next(_without_comments(text), at + 1)
    gap = text[at + 1 : spans[0].start if spans else closing]
    name = "" if key is None else f"{_dump(key)}: "
    if spans and "\n" not in gap:
        return f"{text[: at + 1]}{name}{_dump(value)}, {text[at + 1 :]}"
    start = comment.end() if (comment := _SAME_LINE.match(text, at + 1)) else at + 1
    line_end = "\r\n" if "\r\n" in text else "\n"
    outer, step = _indent(text, at), _indent_step(text)
    inner = _indent(text, spans[0].start) if spans else outer + step
    piece = name + json.dumps(value, ensure_ascii=False, indent=step)
    tail = "," if spans else "" if "\n" in gap else f"{line_end}{outer}"
    piece = piece.replace("\n", f"{line_end}{inner}")
    return f"{text[:start]}{line_end}{inner}{piece}{tail}{text[start:]}"


def _cut_json(text: str, path: Path, expected: Any) -> str:
    """Return the text without an item, one comma beside it, and the white space before it."""
    _, at = _place(text, path[:-1])
    spans = _spans(text, at)
    [number] = [number for number, span in enumerate(spans) if span.key == path[-1]]
    bare = _without_comments(text)
    begin, end = spans[number].start, spans[number].end
    if bare[_next(bare, end)] == ",":
        end = _next(bare, end) + 1
    elif number:
        comma = _next(bare, spans[number - 1].end)
        text, begin, end = text[:comma] + text[comma + 1 :], begin - 1, end - 1
    begin = len(text[:begin].rstrip())
    if len(spans) == 1 and text[begin - 1] in "{[" and text[_next(text, end)] in "}]":
        end = _next(text, end)
    return _check_meaning(text[:begin] + text[end:], "json", expected, path)


def _indent(text: str, at: int) -> str:
    """Return the white space at the beginning of the line around a place."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_step(text: str) -> str:
    first = re.search(r"^([ \t]+)[\"\[{]", text, re.MULTILINE)
    return first[1] if first else "  "


def _check_meaning(text: str, form: Form, expected: Any, path: Path) -> str:
    """Return the text if it means what is expected. Raise InputError."""
    try:
        if read(text, form) == expected:
            return text
    except InputError:
        pass
    name = ".".join(map(str, path))
    raise InputError(f"{name!r} is written in a form that cannot be edited; do it by hand")


# ---------------------------------------------------------------------- TOML

_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_COMMENTS_AT_END = re.compile(r"^[ \t]*#[^\n]*(?:\n[ \t\r]*(?:#[^\n]*)?)*\Z", re.MULTILINE)
"""Comments before the next table, which belong to that one."""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def _put_table(text: str, edit: SettingsEdit) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else end if text.endswith("\n") else end + end
    lines = [f"[{'.'.join(map(_toml_key, edit.path))}]"]
    lines += [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in edit.value.items()]
    expected = read(text, "toml")
    above = expected
    for key in edit.path[:-1]:
        above = above.setdefault(key, {})
        if not isinstance(above, dict):
            raise InputError(f"{'.'.join(edit.path)!r}: {key} must be a table")
    above[edit.path[-1]] = edit.value
    return _check_meaning(text + gap + end.join(lines) + end, "toml", expected, edit.path)


def _cut_table(text: str, path: Path, expected: Mapping[str, Any]) -> str:
    """Return the text without the table at a path or below it, from its header to the next."""
    keys = r"[ \t]*\.[ \t]*".join(
        f"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')" for key in map(str, path)
    )
    for match in re.finditer(rf"^[ \t]*\[[ \t]*{keys}[ \t]*[.\]]", text, re.MULTILINE):
        following = _HEADER.search(text, match.end())
        after, end = text[: match.start()], following.start() if following else len(text)
        comments = _COMMENTS_AT_END.search(text, match.end(), end)
        if following or comments:
            after += text[comments.start() if comments else end :]
        elif after:  # the empty line before the table goes, too
            after = after.rstrip() + ("\r\n" if "\r\n" in text else "\n")
        try:
            return _check_meaning(after, "toml", expected, path)
        except InputError:
            continue
    raise InputError(f"{'.'.join(map(str, path))!r} is not a [table] of its own; remove it by hand")


def _toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _toml_value(key)


def _toml_value(value: object) -> str:
    """Return a text or a list of texts, which JSON writes as TOML does."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
