"""Puts treering into a client's settings, and takes it out again.

Its server is called ``treering`` there, and its hooks run ``treering hook``: that tells them from
others.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

from treering import files
from treering.agents.clients import Client, Launcher, SettingsFile
from treering.agents.edits import put_in, read, take_out, value_at
from treering.errors import InputError, TextEncodingError
from treering.files import replace_file
from treering.hooks.places import agents_home, data_home, make_private, remove_empty

_ANY: Final = Launcher(("treering",), "")
"""Its edits are in the places of all others."""


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The change of one file: ``before`` and ``after`` are None without a file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def changes_something(self) -> bool:
        """Whether the file is written at all."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as ``diff -u`` shows it, with one line around each piece."""
        before, after = (
            (part or b"").decode(errors="replace").splitlines(keepends=True)
            for part in (self.before, self.after)
        )
        lines = unified_diff(before, after, str(self.path), str(self.path), n=1)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def install(client: Client, launcher: Launcher, *, dry_run: bool = False) -> list[FilePlan]:
    """Put treering into all of a client's files or none. Raise InputError.

    A second call changes nothing; one with other options replaces the values.
    """

    def add(text: str, file: SettingsFile) -> str:
        return put_in(text or file.start, file.form, file.edits)

    plans = _plan(client, launcher, add)
    if not dry_run:
        _write(plans)
        for plan, file in zip(plans, client.files(_ANY), strict=True):
            if plan.before is None or not plan.changes_something:
                continue
            backup, before = _backup(client, plan.path), _decode(plan.before)
            if take_out(before, file.form, file.edits) == before or not backup.exists():
                make_private(backup.parent)
                replace_file(backup, plan.before, private=True)
    return plans


def uninstall(client: Client, *, dry_run: bool = False) -> list[FilePlan]:
    """Remove everything that ``install`` put into a client's settings. Raise InputError.

    A file that then means the same as before ``install`` is as it was, in its layout, too. The
    copies from before ``install`` stay.
    """

    def remove(text: str, file: SettingsFile) -> str:
        rest = take_out(text, file.form, file.edits)
        with suppress(InputError):  # a copy that somebody has changed
            before = _decode(read_bytes(_backup(client, file.path.resolve())))
            if rest != text and before and read(before, file.form) == read(rest, file.form):
                return before
        return "" if rest != text and rest.strip() in ("", "{}", file.start.strip()) else rest

    plans = _plan(client, _ANY, remove)
    if not any(plan.changes_something for plan in plans):
        raise InputError(f"treering is not in the settings of {client.title}; nothing was changed")
    if not dry_run:
        _write(plans)
        for plan in plans:
            if plan.after is None:
                home = Path.home()
                remove_empty(folder for folder in plan.path.parents if home in folder.parents)
        remove_empty([agents_home(), data_home()])
    return plans


def installed_server(client: Client) -> Any:
    """Return the MCP server that a client's settings have for treering, or None."""
    file = client.files(_ANY)[0]
    with suppress(InputError):  # a broken file: `install` says what is wrong with it
        return value_at(read(_decode(read_bytes(file.path)), file.form), file.edits[0].path)
    return None


def installed_memory(client: Client) -> str | None:
    """Return the memory that a client was installed with, or None."""
    server = installed_server(client)
    if not isinstance(server, dict):
        return None
    words = server.get("args") or server.get("command")
    if not isinstance(words, list) or "--memory" not in words[:-1]:
        return None
    return str(words[words.index("--memory") + 1])


def backups(client: Client) -> list[Path]:
    """Return the copies of the files from before ``install``."""
    paths = (_backup(client, file.path.resolve()) for file in client.files(_ANY))
    return [path for path in paths if path.is_file()]


def _plan(
    client: Client, launcher: Launcher, change: Callable[[str, SettingsFile], str]
) -> list[FilePlan]:
    plans = []
    for file in client.files(launcher):
        path = file.path.resolve()  # the file itself, where its name is a link
        before = read_bytes(path)
        try:
            text = _decode(before)
            after = change(text, file)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        if after != text:  # a link keeps its file
            empty = b"{}\n" if file.form == "json" else b""
            content = after.encode() or (empty if file.path.is_symlink() else None)
        else:
            content = before
        plans.append(FilePlan(path, before, content))
    return plans


def _write(plans: list[FilePlan]) -> None:
    """Write all files or none. Raise InputError if another program has written one meanwhile."""
    done: list[FilePlan] = []
    try:
        for plan in plans:
            if read_bytes(plan.path) not in (plan.before, plan.after):
                raise InputError(
                    f"{plan.path} was written by another program at the same time; close the "
                    "client and run this again"
                )
            if plan.changes_something:
                replace_file(plan.path, plan.after)
                done.append(plan)
    except BaseException:
        for plan in reversed(done):
            replace_file(plan.path, plan.before)
        raise


def read_bytes(path: Path) -> bytes | None:
    """Return the content of a file, None without one. Raise InputError."""
    try:
        return files.read_bytes(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); nothing was changed"
        ) from error


def _decode(content: bytes | None) -> str:
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        raise TextEncodingError(f"not UTF-8 at byte {error.start}; save it as UTF-8") from error


def _backup(client: Client, path: Path) -> Path:
    return agents_home() / "backups" / f"{client.name}.{path.name}"
