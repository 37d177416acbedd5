"""Anthropic's memory tool (``memory_20250818``) over a memory: its files are sources.

A model with that tool uses six commands on files under ``/memories``. Each file is one entry, and
its source is the path, so ``memory.search`` finds the model's notes, too. No package is needed: a
call is the ``input`` of a ``tool_use`` block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import normpath
from typing import Any, Final

from treering.adapters import storable_value
from treering.errors import InputError, TreeringError, UnknownName
from treering.memory import Memory
from treering.records import Entry
from treering.split.stream import MAX_ENTRY_CHARS

TOOL: Final[Mapping[str, str]] = {"type": "memory_20250818", "name": "memory"}
"""An item for the list of tools of a request."""

COMMANDS: Final = ("view", "create", "str_replace", "insert", "delete", "rename")
ROOT: Final = "/memories"
LEVELS: Final = 2  # of folders that a view of one lists
SNIPPET_LINES: Final = 4  # shown around an edit


class MemoryTool:
    """Runs the commands of the memory tool on a memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def result(self, tool_use_id: str, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ``tool_result`` block that answers a call, or says what is wrong with it."""
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": tool_use_id}
        try:
            return block | {"content": self.run(call)}
        except TreeringError as error:
            return block | {"content": f"Error: {error}", "is_error": True}

    def run(self, call: Mapping[str, Any]) -> str:
        """Return the answer to a call, the input of its ``tool_use`` block.

        Raise InputError for a call that cannot be done, and the errors of the memory.
        """
        arguments = dict(call)
        name = arguments.pop("command", None)
        if name not in COMMANDS:
            raise InputError(f"no command {name!r}; there are {', '.join(COMMANDS)}")
        for argument, value in arguments.items():
            _refuse_other_kinds(f"{name}: {argument}", argument, value)
        try:
            command: Callable[..., str] = getattr(self, name)
            return command(**arguments)
        except TypeError as error:  # an argument too many, or too few
            raise InputError(f"{name}: {error}") from error

    # ------------------------------------------------------------------ the commands

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """Return a file with its lines numbered, or the content of a folder, two levels deep."""
        path = _check_path(path)
        entry = self._file(path)
        if entry is not None:
            first, last = view_range or (1, -1)
            return f"Here's the content of {path} with line numbers:\n" + _number_lines(
                entry.text, first, last
            )
        below = self._below(path)
        if not below and path != ROOT:
            raise _missing_path(path)
        lines = [f"{_size(sum(len(file.text) for file in below))}\t{path}"]
        for name in _list_folder(path, below):
            size = sum(len(file.text) for file in below if _within(file.source, name))
            lines.append(f"{_size(size)}\t{name}")
        return (
            f"Here're the files and directories up to 2 levels deep in {path}, "
            "excluding hidden items and node_modules:\n" + "\n".join(lines)
        )

    def create(self, path: str, file_text: str) -> str:
        """Make a file."""
        path = _check_path(path)
        if path == ROOT or self._file(path) is not None or self._below(path):
            raise InputError(f"File {path} already exists")
        self._write(path, file_text, None)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Replace a text that a file has once."""
        path, entry = self._find_file(path)
        count = entry.text.count(old_str) if old_str else 0
        if not count:
            raise InputError(
                f"No replacement was performed, old_str `{old_str}` did not appear verbatim in "
                f"{path}."
            )
        if count > 1:
            first = old_str.split("\n")[0]
            lines = enumerate(entry.text.split("\n"), start=1)
            numbers = ", ".join(str(number) for number, line in lines if first in line)
            raise InputError(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in "
                f"lines: {numbers}. Please ensure it is unique"
            )
        at = entry.text[: entry.text.index(old_str)].count("\n") + 1
        text = entry.text.replace(old_str, new_str)
        self._write(path, text, entry)
        shown = _number_lines(text, max(at - SNIPPET_LINES, 1), at + SNIPPET_LINES)
        return f"The memory file has been edited.\n{shown}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert a text behind a line; 0 is the beginning."""
        path, entry = self._find_file(path)
        lines = entry.text.split("\n")
        if not 0 <= insert_line <= len(lines):
            raise InputError(
                f"Invalid `insert_line` parameter: {insert_line}. It should be within the range of "
                f"lines of the file: [0, {len(lines)}]"
            )
        lines[insert_line:insert_line] = insert_text.removesuffix("\n").split("\n")
        self._write(path, "\n".join(lines), entry)
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Erase a file, or a folder with all in it, for good."""
        path = _check_path(path)
        if path == ROOT:
            raise InputError(f"{ROOT} itself cannot be deleted; delete what is in it")
        entry = self._file(path)
        gone = [entry] if entry is not None else self._below(path)
        if not gone:
            raise _missing_path(path)
        self._memory.forget(*(file.id for file in gone))
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file, or a folder with all in it. An existing file of the new name stays."""
        old, new = _check_path(old_path), _check_path(new_path)
        entry = self._file(old)
        moved = [entry] if entry is not None else self._below(old)
        if not moved or old == ROOT:
            raise _missing_path(old)
        if self._file(new) is not None or self._below(new):
            raise InputError(f"The destination {new} already exists")
        if _within(new, old):
            raise InputError(f"{old} cannot be moved into itself")
        for file in moved:  # written before the old ones go: nothing is lost between
            self._memory.add(file.text, source=new + file.source[len(old) :], at=file.at)
        self._memory.forget(*(file.id for file in moved))
        return f"Successfully renamed {old} to {new}"

    # ------------------------------------------------------------------ files

    def _file(self, path: str) -> Entry | None:
        return next(self._memory.entries(source=path), None)

    def _below(self, path: str) -> list[Entry]:
        return list(self._memory.entries(source=f"{path}/"))

    def _find_file(self, path: str) -> tuple[str, Entry]:
        path = _check_path(path)
        entry = self._file(path)
        if entry is None:
            raise _missing_path(path)
        return path, entry

    def _write(self, path: str, text: str, entry: Entry | None) -> None:
        text = storable_value(text)
        if len(text) > MAX_ENTRY_CHARS:
            raise InputError(
                f"{path} would have {len(text)} characters; at most {MAX_ENTRY_CHARS}: split it"
            )
        if not text.strip():
            raise InputError(f"{path} would be empty; delete it instead")
        if entry is None:
            self._memory.add(text, source=path)
        elif text != entry.text:
            self._memory.replace(entry.id, text)


def _refuse_other_kinds(what: str, argument: object, value: object) -> None:
    """Raise InputError unless an argument has the type of its name."""
    if argument == "insert_line":
        if type(value) is not int:
            raise InputError(f"{what} is {value!r}; give the number of a line")
    elif argument == "view_range":
        is_range = isinstance(value, list) and [type(line) for line in value] == [int, int]
        if value is not None and not is_range:
            raise InputError(f"{what} is {value!r}; give the numbers of two lines")
    elif not isinstance(value, str):
        raise InputError(f"{what} is {value!r}; give a text")


def _check_path(path: str) -> str:
    """Return a path under the root, without a step up. Raise InputError."""
    if normpath(path) != path.rstrip("/") or "\\" in path:
        raise InputError(f"The path {path!r} is not a plain path under {ROOT}")
    path = path.rstrip("/")
    if not _within(path, ROOT):
        raise InputError(f"The path {path} is not under {ROOT}")
    return path


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _missing_path(path: str) -> UnknownName:
    return UnknownName(f"The path {path} does not exist. Please provide a valid path.")


def _list_folder(folder: str, entries: list[Entry]) -> list[str]:
    """Return files and folders below a folder, two levels deep, without hidden ones."""
    names: dict[str, None] = {}
    for entry in sorted(entries, key=lambda entry: entry.source):
        steps = entry.source[len(folder) + 1 :].split("/")
        if any(step.startswith(".") or step == "node_modules" for step in steps):
            continue
        for depth in range(1, min(len(steps), LEVELS) + 1):
            names["/".join((folder, *steps[:depth]))] = None
    return list(names)


def _size(characters: int) -> str:
    return f"{max(characters / 1024, 0.5):.1f}K" if characters else "4.0K"


def _number_lines(text: str, first: int, last: int) -> str:
    """Return lines with their numbers, from ``first`` to ``last``; -1 is the last one."""
    lines = text.split("\n")
    stop = len(lines) if last == -1 else min(last, len(lines))
    return "\n".join(
        f"{number:6}\t{lines[number - 1]}" for number in range(max(first, 1), stop + 1)
    )
