"""JSON with comments, changed in place: every byte that is not ours stays as it is.

Settings files are people's own: their comments, order, indentation and line ends must survive. So
a text is read into nodes that know where they stand, and a change is a piece of text put in or
taken out. Comments and trailing commas are read as the editors' own JSONC readers do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from treering.errors import InputError

KeyPath = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_SAME_LINE = re.compile(r"[ \t]*(?://[^\n\r]*|/\*[^\n\r]*?\*/[ \t]*(?=[\r\n]))")
"""A comment after an opening bracket, which speaks of what is opened."""
_MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and where it stands: ``text[start:end]``.

    ``members`` are those of an object, ``items`` those of an array.
    """

    start: int
    end: int
    value: Any
    members: Mapping[str, JsonMember] = field(default_factory=dict)
    items: tuple[JsonNode, ...] = ()


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A key of an object and its value; ``start`` is where the key stands."""

    start: int
    node: JsonNode


def read(text: str) -> JsonNode:
    """The nodes of a text. Raises InputError, naming the line."""
    return _Reader(text).document()


def put(text: str, path: KeyPath, value: Any) -> str:
    """The text with a value at a path that is not there yet; what is above it is made if need be.

    Raises InputError where the path leads through something that is no object.
    """
    node, depth = read(text), 0
    while depth < len(path) - 1 and path[depth] in node.members:
        node, depth = node.members[path[depth]].node, depth + 1
    if not isinstance(node.value, dict):
        raise InputError(f"{_shown(path[:depth])} is {_kind(node)}; it must be an object")
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return _insert(text, node, value, path[depth])


def put_first(text: str, path: KeyPath, value: Any) -> str:
    """The text with one more item, the first, in the array at a path. Raises InputError."""
    node = find(read(text), path)
    if node is None:
        return put(text, path, [value])
    if not isinstance(node.value, list):
        raise InputError(f"{_shown(path)} is {_kind(node)}; it must be an array")
    return _insert(text, node, value)


def take(text: str, path: KeyPath) -> str:
    """The text without the member at a path, which must be there."""
    root = read(text)
    parent = find(root, path[:-1])
    assert parent is not None
    members = list(parent.members.values())
    spans = [(member.start, member.node.end) for member in members]
    return _remove(text, parent, spans, list(parent.members).index(path[-1]))


def take_item(text: str, path: KeyPath, place: int) -> str:
    """The text without an item of the array at a path, which must be there."""
    node = find(read(text), path)
    assert node is not None
    return _remove(text, node, [(item.start, item.end) for item in node.items], place)


def find(node: JsonNode, path: Sequence[str]) -> JsonNode | None:
    """The node at a path, or None."""
    for key in path:
        if key not in node.members:
            return None
        node = node.members[key].node
    return node


def _insert(text: str, node: JsonNode, value: Any, key: str | None = None) -> str:
    """Put in a first member or item. In one piece, so that it can be taken out again exactly."""
    first = _first(node)
    at = node.start + 1
    gap = text[at : node.end - 1 if first is None else first]
    if first is not None and "\n" not in gap:
        return f"{text[:at]}{_piece(value, key, None)}, {text[at:]}"
    if comment := _SAME_LINE.match(text, at):
        at = comment.end()
    line_end = "\r\n" if "\r\n" in text else "\n"
    outer, unit = _indent(text, node.start), _unit(text)
    inner = outer + unit if first is None else _indent(text, first)
    piece = _piece(value, key, unit).replace("\n", f"{line_end}{inner}")
    tail = "," if first is not None else "" if "\n" in gap else f"{line_end}{outer}"
    return f"{text[:at]}{line_end}{inner}{piece}{tail}{text[at:]}"


def _remove(text: str, parent: JsonNode, spans: list[tuple[int, int]], place: int) -> str:
    """Take out a member or item, one comma beside it, and the white space before it."""
    start, end = spans[place]
    begin = spans[place - 1][1] if place else parent.start + 1
    after = _BLANK.match(text, end)
    assert after is not None
    if text[after.end()] == ",":
        end = after.end() + 1
    elif place:
        comma = begin + _comma(text[begin:start])
        text = text[:comma] + text[comma + 1 :]
        start, end, begin = start - 1, end - 1, comma
    while start > begin and text[start - 1] in " \t\r\n":
        start -= 1
    if len(spans) == 1 and text[end : parent.end - 1].isspace():
        end = parent.end - 1  # what is empty again is {} or [] again
    return text[:start] + text[end:]


def _comma(gap: str) -> int:
    """Where the comma stands between two members, which may have comments between them."""
    at = 0
    while True:
        blank = _BLANK.match(gap, at)
        assert blank is not None
        if gap[blank.end()] == ",":
            return blank.end()
        at = blank.end() + 1


def _first(node: JsonNode) -> int | None:
    if node.members:
        return min(member.start for member in node.members.values())
    return node.items[0].start if node.items else None


def _piece(value: Any, key: str | None, unit: str | None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=unit)
    return text if key is None else f"{json.dumps(key, ensure_ascii=False)}: {text}"


def _indent(text: str, at: int) -> str:
    """The white space that the line around a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation, as the text has it."""
    first = re.search(r"^([ \t]+)[\"\[{]", text, re.MULTILINE)
    return first[1] if first else "  "


_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}
"""What JSON calls the values that Python reads."""


def _kind(node: JsonNode) -> str:
    return _KINDS.get(type(node.value), "null")


def _shown(path: Sequence[str]) -> str:
    return repr(".".join(path)) if path else "the whole file"


class _Reader:
    """Reads a document from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def document(self) -> JsonNode:
        self._blank()
        node = self._value()
        self._blank()
        if self._at < len(self._text):
            raise self._error("the end")
        return node

    def _value(self) -> JsonNode:
        start = self._at
        match self._text[start : start + 1]:
            case "{":
                members: dict[str, JsonMember] = {}
                for key, member in self._nested("}", self._member):
                    if key in members:
                        raise self._error(f"no second {key!r}")
                    members[key] = member
                value = {key: member.node.value for key, member in members.items()}
                return JsonNode(start, self._at, value, members=members)
            case "[":
                items = tuple(self._nested("]", self._value))
                return JsonNode(start, self._at, [item.value for item in items], items=items)
            case '"':
                value = self._token(_STRING, "a text")
            case _:
                value = self._token(_WORD, "a value")
        return JsonNode(start, self._at, value)

    def _nested(self, closing: str, read_item: Callable[[], Any]) -> Iterator[Any]:
        self._at += 1
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"at most {_MAX_DEPTH} levels")
        self._blank()
        while self._text[self._at : self._at + 1] != closing:
            yield read_item()
            self._blank()
            if self._text[self._at : self._at + 1] == ",":
                self._at += 1
                self._blank()
            elif self._text[self._at : self._at + 1] != closing:
                raise self._error(f"a comma or {closing}")
        self._at += 1
        self._depth -= 1

    def _member(self) -> tuple[str, JsonMember]:
        start = self._at
        key = self._token(_STRING, "a key in quotes")
        self._blank()
        if self._text[self._at : self._at + 1] != ":":
            raise self._error("a colon")
        self._at += 1
        self._blank()
        return key, JsonMember(start, self._value())

    def _token(self, pattern: re.Pattern[str], what: str) -> Any:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise self._error(what)
        try:
            value = json.loads(match[0])
        except ValueError as error:
            raise self._error(what) from error
        self._at = match.end()
        return value

    def _blank(self) -> None:
        blank = _BLANK.match(self._text, self._at)
        assert blank is not None
        self._at = blank.end()

    def _error(self, what: str) -> InputError:
        line = self._text.count("\n", 0, self._at) + 1
        rest = self._text[self._at : self._at + 20]
        near = repr(rest.split("\n")[0]) if rest else "the end of the file"
        return InputError(f"line {line}: {what} should stand before {near}")
