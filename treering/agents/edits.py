"""What is put into a settings file, and how it is taken out again. Texts in, texts out.

Each change remembers the piece of text it put in. Taking out removes that piece if it still stands
there, byte for byte; where a client has written the file anew since, the value alone is removed.
Either way the result must mean what the file meant, less what was ours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from treering.agents import jsonc, toml_table
from treering.errors import InputError

Form = Literal["json", "toml"]
Kind = Literal["set", "first", "unless"]


@dataclass(frozen=True, slots=True)
class SettingsEdit:
    """A value at a path: ``set`` there, put ``first`` in the list there, or set ``unless`` there
    is one already.

    ``mark`` is a piece of text by which our item of a list is still known when somebody has
    changed it by hand. ``piece`` is what was put into the text, and ``new_containers`` how many of
    the containers on the path were made for it.
    """

    path: tuple[str, ...]
    value: Any
    kind: Kind = "set"
    mark: str = ""
    piece: str = ""
    new_containers: int = 0

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """The change that ``record`` gave."""
        return cls(**{**record, "path": tuple(record["path"])})

    def record(self) -> dict[str, Any]:
        """The change as JSON can hold it."""
        return asdict(self)


def put_in(
    text: str, form: Form, changes: Sequence[SettingsEdit]
) -> tuple[str, list[SettingsEdit]]:
    """The text with the changes, and those that were made, as they were made.

    Raises InputError where something else stands already, or the file is broken.
    """
    done = []
    for change in changes:
        after, done_edit = _put(text, form, change)
        if done_edit is not None:
            done.append(done_edit)
        text = after
    return text, done


def take_out(text: str, form: Form, changes: Sequence[SettingsEdit]) -> str:
    """The text without what ``put_in`` put into it.

    What is gone already is passed over. Raises InputError where ours was changed by hand: what to
    remove is then for a person to say.
    """
    for change in reversed(changes):
        text = _take(text, form, change)
    return text


def is_in(text: str, form: Form, change: SettingsEdit) -> bool:
    """Whether a text has what a change puts in. Raises InputError if it is broken."""
    there = _at(_read(text, form), change.path)
    if change.kind == "first":
        return isinstance(there, list) and change.value in there
    return there is not None and (change.kind == "unless" or bool(there == change.value))


def _put(text: str, form: Form, change: SettingsEdit) -> tuple[str, SettingsEdit | None]:
    value = _read(text, form)
    there = _at(value, change.path)
    if there is not None and change.kind == "unless":
        return text, None
    if there is not None and change.kind == "set":
        raise InputError(
            f"{_shown(change)} is there already and was not written by `treering install`; remove "
            "it by hand, then install again"
        )
    if change.kind == "first" and there is not None and not isinstance(there, list):
        raise InputError(f"{_shown(change)} is {type(there).__name__}; it must be a list")
    if form == "toml":
        after = toml_table.put(text, change.path, change.value)
    elif change.kind == "first":
        after = jsonc.put_first(_document(text), change.path, change.value)
    else:
        after = jsonc.put(_document(text), change.path, change.value)
    missing = sum(_at(value, change.path[:depth]) is None for depth in range(1, len(change.path)))
    missing += change.kind == "first" and there is None
    done = SettingsEdit(
        change.path, change.value, change.kind, change.mark, _piece(text, after), int(missing)
    )
    return after, done


def _document(text: str) -> str:
    return text if text.strip() else "{}\n"


def _piece(before: str, after: str) -> str:
    """What was put in, in one piece."""
    length = len(after) - len(before)
    start = next(
        (
            place
            for place, pair in enumerate(zip(before, after, strict=False))
            if pair[0] != pair[1]
        ),
        len(before),
    )
    return after[start : start + length]


def _take(text: str, form: Form, change: SettingsEdit) -> str:
    value = _read(text, form)
    there = _at(value, change.path)
    if change.kind == "first":
        if not _has_item(there, change):
            return text
    elif there is None:
        return text
    elif there != change.value:
        raise _by_hand(change, there)
    expected = _without(value, change)
    after = _without_piece(text, form, change.piece, expected)
    if after is None and form == "toml":
        return toml_table.take(text, change.path, expected)
    if after is None:
        after = _structurally(text, change, value)
    if _read(after, form) != expected:
        raise _by_hand(change, there)
    return after


def _has_item(there: Any, change: SettingsEdit) -> bool:
    """Whether our item is in a list. Raises InputError if it is, and was changed by hand."""
    if not isinstance(there, list):
        return False
    if change.value in there:
        return True
    for item in there:
        if change.mark and change.mark in json.dumps(item, ensure_ascii=False):
            raise _by_hand(change, item)
    return False


def _without_piece(text: str, form: Form, piece: str, expected: Any) -> str | None:
    """The text without the very piece that was put in, if it then means what is expected."""
    at = text.find(piece) if piece else -1
    while at >= 0:
        after = text[:at] + text[at + len(piece) :]
        if _means(after, form, expected):
            return after
        at = text.find(piece, at + 1)
    return None


def _means(text: str, form: Form, expected: Any) -> bool:
    try:
        return bool(_read(text, form) == expected)
    except InputError:
        return False


def _structurally(text: str, change: SettingsEdit, value: Any) -> str:
    """The text without the value, wherever it stands now and however it is written."""
    path = _emptied(value, change)
    if path is not None:
        return jsonc.take(text, path)
    if change.kind == "first":
        return jsonc.take_item(text, change.path, _at(value, change.path).index(change.value))
    return jsonc.take(text, change.path)


def _emptied(value: Any, change: SettingsEdit) -> tuple[str, ...] | None:
    """The outermost container made for a change that holds nothing else."""
    path, emptied = change.path, None
    left = change.new_containers
    depth = len(path) if change.kind == "first" else len(path) - 1
    while left and depth and len(_at(value, path[:depth])) == 1:
        emptied, depth, left = path[:depth], depth - 1, left - 1
    return emptied


def _without(value: Any, change: SettingsEdit) -> Any:
    """What a file means without a change, and without containers made for it and empty now."""
    rest = deepcopy(value)
    path = _emptied(value, change)
    if path is None and change.kind == "first":
        _at(rest, change.path).remove(change.value)
        return rest
    path = path or change.path
    del _at(rest, path[:-1])[path[-1]]
    return rest


def _read(text: str, form: Form) -> Any:
    if form == "toml":
        return toml_table.read(text)
    return jsonc.read(text).value if text.strip() else {}


def _at(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value


def _shown(change: SettingsEdit) -> str:
    return repr(".".join(change.path))


def _by_hand(change: SettingsEdit, there: Any) -> InputError:
    text = json.dumps(there, ensure_ascii=False, default=str)
    return InputError(
        f"{_shown(change)} was changed by hand since `treering install` wrote it; remove it by "
        f"hand, then run this again: {text[:300]}"
    )
