"""Puts treering into a client's settings, and takes it out again.

What was put in is noted in the data home, so that taking out guesses nothing. A file that is as it
was left gets its former bytes back; one that was written since loses what is ours and no more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from treering import files
from treering.agents.clients import Client, SettingsFile
from treering.agents.edits import Form, SettingsEdit, is_in, put_in, take_out
from treering.agents.launch import Launcher
from treering.errors import InputError
from treering.files import replace_file
from treering.hooks.files import read_bytes, remove_empty, text_of
from treering.hooks.places import agents_home, data_home, make_private

LOCK_TIMEOUT_S = 10.0
_MEMORY = "--memory"
ATTEMPTS = 3
"""A client that writes its settings just then is waited out so many times."""


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What becomes of one file: ``before`` and ``after`` are None where there is none.

    ``original`` is what it was, or would be, without treering; ``folders`` are those made for it,
    the innermost first.
    """

    path: Path
    form: Form
    before: bytes | None
    after: bytes | None
    original: bytes | None
    changes: tuple[SettingsEdit, ...] = ()
    folders: tuple[str, ...] = ()

    @property
    def changes_something(self) -> bool:
        """Whether the file is written at all."""
        return self.before != self.after

    def diff(self) -> str:
        """The change as ``diff -u`` shows it, with one line around each piece."""
        before, after = (
            (part or b"").decode(errors="replace").splitlines(keepends=True)
            for part in (self.before, self.after)
        )
        lines = unified_diff(before, after, str(self.path), str(self.path), n=1)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def install(client: Client, launcher: Launcher, *, dry_run: bool = False) -> list[FilePlan]:
    """Put treering into a client's settings; again changes nothing, with other options renews.

    All of its files or none. Raises InputError.
    """
    if dry_run:
        return _plan_install(client, launcher)
    with _alone():
        plans = _done(lambda: _plan_install(client, launcher))
        if any(plan.changes_something for plan in plans):
            _note(client, plans)
    return plans


def uninstall(client: Client, *, dry_run: bool = False) -> list[FilePlan]:
    """Take out what ``install`` put into a client's settings. Raises InputError."""
    if dry_run:
        return _plan_uninstall(client)
    with _alone():
        plans = _done(lambda: _plan_uninstall(client))
        _forget(client)
    return plans


def is_installed(client: Client) -> bool:
    """Whether ``install`` was done for a client and not taken back."""
    return _record_path(client.name).is_file()


def installed_memory(client: Client) -> str | None:
    """Return the memory that a client was installed with; None where it was not."""
    values = [change["value"] for noted in _record(client) for change in noted["changes"]]
    return next((memory for value in values for memory in _memories(value)), None)


def _memories(value: object) -> Iterator[str]:
    """The values of --memory in lists of arguments, wherever these are in a value."""
    if isinstance(value, dict):
        yield from (memory for part in value.values() for memory in _memories(part))
    elif isinstance(value, list):
        if _MEMORY in value[:-1]:
            yield str(value[value.index(_MEMORY) + 1])
        yield from (memory for part in value for memory in _memories(part))


# ---------------------------------------------------------------------- planning


def _plan_install(client: Client, launcher: Launcher) -> list[FilePlan]:
    noted = {entry["path"]: entry for entry in _record(client)}
    plans = []
    for file in client.files(launcher):
        path = file.path.resolve()  # the file itself, where its name is a link
        plans.append(_plan_file(path, file, noted.pop(str(path), None)))
    # What an earlier install put into files that are not used any more goes.
    return plans + [_plan_removal(entry) for entry in noted.values()]


def _plan_file(path: Path, file: SettingsFile, noted: dict[str, Any] | None) -> FilePlan:
    before = read_bytes(path)
    folders = _missing_folders(path) if noted is None else tuple(noted["folders"])
    with _about(path):
        original = before if noted is None else _original(before, noted)
        if noted is not None and _is_done(text_of(before), file, noted):
            changes = tuple(map(SettingsEdit.from_record, noted["changes"]))
            return FilePlan(path, file.form, before, before, original, changes, folders)
        text, done = put_in(text_of(original), file.form, file.changes)
    return FilePlan(path, file.form, before, text.encode(), original, tuple(done), folders)


def _is_done(text: str, file: SettingsFile, noted: dict[str, Any]) -> bool:
    """Whether a file holds what it should, and was not given anything else before."""
    current = [(change.path, change.value) for change in file.changes]
    before = [(tuple(entry["path"]), entry["value"]) for entry in noted["changes"]]
    is_current = all(pair in current for pair in before)
    return is_current and all(is_in(text, file.form, change) for change in file.changes)


def _missing_folders(path: Path) -> tuple[str, ...]:
    return tuple(str(folder) for folder in path.parents if not folder.exists())


def _plan_uninstall(client: Client) -> list[FilePlan]:
    record = _record(client)
    if not record:
        raise InputError(
            f"treering was not installed in {client.title}, or by hand; nothing was changed"
        )
    return [_plan_removal(noted) for noted in record]


def _plan_removal(noted: dict[str, Any]) -> FilePlan:
    path = Path(noted["path"])
    before = read_bytes(path)
    with _about(path):
        original = _original(before, noted)
    return FilePlan(path, noted["form"], before, original, original)


def _original(before: bytes | None, noted: dict[str, Any]) -> bytes | None:
    """A file without what was put into it."""
    if before is None:
        return None
    if hashlib.sha256(before).hexdigest() == noted["after"]:
        return files.read_bytes(_backup(noted)) if noted["existed"] else None
    changes = [SettingsEdit.from_record(entry) for entry in noted["changes"]]
    text = take_out(text_of(before), noted["form"], changes)
    if not noted["existed"] and text.strip() in ("", "{}"):
        return None
    return text.encode()


# ---------------------------------------------------------------------- doing


def _done(plan: Callable[[], list[FilePlan]]) -> list[FilePlan]:
    """Plan and do; again where a file was written between the two."""
    for _ in range(ATTEMPTS):
        plans = plan()
        if _applied(plans):
            return plans
    raise InputError(
        "the settings were written by another program at the same time; close the client and run "
        "this again"
    )


def _applied(plans: Sequence[FilePlan]) -> bool:
    """Write all files or none; whether they were all still as they were planned from."""
    done: list[FilePlan] = []
    try:
        for plan in plans:
            if not plan.changes_something:
                continue
            if read_bytes(plan.path) != plan.before:
                _undo(done)
                return False
            replace_file(plan.path, plan.after)
            done.append(plan)
    except BaseException:
        _undo(done)
        raise
    return True


def _undo(done: Sequence[FilePlan]) -> None:
    for plan in reversed(done):
        replace_file(plan.path, plan.before)


@contextmanager
def _alone() -> Iterator[None]:
    """Two installs at once would each write what the other did not see."""
    lock = FileLock(agents_home() / "install.lock", timeout=LOCK_TIMEOUT_S)
    _acquire(lock)
    try:
        yield
    finally:
        # Uninstalling leaves nothing behind; whoever waits for this file makes it anew.
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()
        remove_empty([agents_home(), data_home()])


def _acquire(lock: FileLock) -> None:
    for _ in range(ATTEMPTS):
        make_private(agents_home())
        try:
            lock.acquire()
        except FileNotFoundError:  # the folder was empty, and somebody who left removed it
            continue
        except Timeout as error:
            raise InputError(
                f"another `treering install` is at work for more than {LOCK_TIMEOUT_S:g} s; wait "
                f"for it, or remove {lock.lock_file}"
            ) from error
        return
    raise InputError(f"{lock.lock_file} cannot be made; see who else writes to that folder")


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """Say which file a failure is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


# ---------------------------------------------------------------------- what is noted


def _record_path(client: str) -> Path:
    return agents_home() / "installed" / f"{client}.json"


def _record(client: Client) -> list[dict[str, Any]]:
    """What was put into each of a client's files; empty if nothing was."""
    content = read_bytes(_record_path(client.name))
    if content is None:
        return []
    try:
        files: list[dict[str, Any]] = json.loads(content)["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{_record_path(client.name)} is damaged, so that what was put into {client.title} is "
            "not known; take treering out by hand and remove that file"
        ) from error
    return files


def _note(client: Client, plans: Sequence[FilePlan]) -> None:
    """Note what was put in, and keep each file as it was before."""
    files = []
    for number, plan in enumerate(plan for plan in plans if plan.changes):
        entry = {
            "path": str(plan.path),
            "form": plan.form,
            "existed": plan.original is not None,
            "after": hashlib.sha256(plan.after or b"").hexdigest(),
            "folders": plan.folders,
            "backup": f"{client.name}.{number}.before",
            "changes": [change.record() for change in plan.changes],
        }
        if plan.original is not None:
            make_private(_backup(entry).parent)
            replace_file(_backup(entry), plan.original, private=True)
        files.append(entry)
    make_private(_record_path(client.name).parent)
    content = json.dumps({"client": client.name, "files": files}, indent=2)
    replace_file(_record_path(client.name), content.encode(), private=True)


def _backup(noted: dict[str, Any]) -> Path:
    return agents_home() / "installed" / str(noted["backup"])


def _forget(client: Client) -> None:
    """Remove what was noted, and the folders that were made and are empty."""
    for noted in _record(client):
        _backup(noted).unlink(missing_ok=True)
        remove_empty(map(Path, noted["folders"]))
    _record_path(client.name).unlink(missing_ok=True)
    remove_empty([_record_path(client.name).parent])


def backups(client: Client) -> list[Path]:
    """Where the files are kept as they were before ``install``."""
    return [_backup(noted) for noted in _record(client) if noted["existed"]]
