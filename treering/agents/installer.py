"""Puts treering into a client's settings, and takes it out again.

The data home has a record of each edit. A file that is as ``install`` left it gets its
former bytes back; from one that was written since, only our values are removed.
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
from treering.agents.clients import Client, Launcher, SettingsFile
from treering.agents.edits import Form, SettingsEdit, is_in, put_in, take_out
from treering.errors import InputError, TextEncodingError
from treering.files import replace_file
from treering.hooks.places import agents_home, data_home, make_private, remove_empty

LOCK_TIMEOUT_S = 10.0
ATTEMPTS = 3
"""So often an install starts over if the client writes its settings at the same time."""


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The change of one file: ``before`` and ``after`` are None without a file.

    ``original`` is the file without treering; ``folders`` are those made for it, innermost first.
    """

    path: Path
    form: Form
    before: bytes | None
    after: bytes | None
    original: bytes | None
    edits: tuple[SettingsEdit, ...] = ()
    folders: tuple[str, ...] = ()

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
    if dry_run:
        return _plan_install(client, launcher)
    with _install_lock():
        plans = _apply(lambda: _plan_install(client, launcher))
        if any(plan.changes_something for plan in plans):
            _write_record(client, launcher, plans)
    return plans


def uninstall(client: Client, *, dry_run: bool = False) -> list[FilePlan]:
    """Remove everything that ``install`` put into a client's settings. Raise InputError."""
    if dry_run:
        return _plan_uninstall(client)
    with _install_lock():
        plans = _apply(lambda: _plan_uninstall(client))
        for noted in _file_records(client):
            _backup(noted).unlink(missing_ok=True)
            remove_empty(map(Path, noted["folders"]))
        _record_path(client).unlink(missing_ok=True)
        remove_empty([_record_path(client).parent])
    return plans


def is_installed(client: Client) -> bool:
    """Return whether treering is installed in a client."""
    return _record_path(client).is_file()


def installed_memory(client: Client) -> str | None:
    """Return the memory that a client was installed with, or None."""
    memory = _record(client).get("memory")
    return None if memory is None else str(memory)


def backups(client: Client) -> list[Path]:
    """Return the copies of the files from before ``install``."""
    return [_backup(noted) for noted in _file_records(client) if noted["existed"]]


# ---------------------------------------------------------------------- planning


def _plan_install(client: Client, launcher: Launcher) -> list[FilePlan]:
    noted = {entry["path"]: entry for entry in _file_records(client)}
    plans = []
    for file in client.files(launcher):
        path = file.path.resolve()  # the file itself, where its name is a link
        plans.append(_plan_file(path, file, noted.pop(str(path), None)))
    # Files of an earlier install that are not used any more are cleaned, too.
    return plans + [_plan_removal(entry) for entry in noted.values()]


def _plan_file(path: Path, file: SettingsFile, noted: dict[str, Any] | None) -> FilePlan:
    before = read_bytes(path)
    with _name_file(path):
        if noted is None:
            original = before
            folders = tuple(str(folder) for folder in path.parents if not folder.exists())
        else:
            original, folders = _original(before, noted), tuple(noted["folders"])
            if _is_current(_decode(before), file, noted):
                edits = tuple(map(SettingsEdit.from_record, noted["edits"]))
                return FilePlan(path, file.form, before, before, original, edits, folders)
        text, done = put_in(_decode(original), file.form, file.edits)
    return FilePlan(path, file.form, before, text.encode(), original, tuple(done), folders)


def _is_current(text: str, file: SettingsFile, noted: dict[str, Any]) -> bool:
    """Return whether a file has all our values, and was not given others before."""
    current = [(edit.path, edit.value) for edit in file.edits]
    before = [(tuple(entry["path"]), entry["value"]) for entry in noted["edits"]]
    is_same = all(pair in current for pair in before)
    return is_same and all(is_in(text, file.form, edit) for edit in file.edits)


def _plan_uninstall(client: Client) -> list[FilePlan]:
    records = _file_records(client)
    if not records:
        raise InputError(
            f"treering was not installed in {client.title}, or by hand; nothing was changed"
        )
    return [_plan_removal(noted) for noted in records]


def _plan_removal(noted: dict[str, Any]) -> FilePlan:
    path = Path(noted["path"])
    before = read_bytes(path)
    with _name_file(path):
        original = _original(before, noted)
    return FilePlan(path, noted["form"], before, original, original)


def _original(before: bytes | None, noted: dict[str, Any]) -> bytes | None:
    """Return a file without treering's values."""
    if before is None:
        return None
    if hashlib.sha256(before).hexdigest() == noted["after"]:
        return files.read_bytes(_backup(noted)) if noted["existed"] else None
    edits = [SettingsEdit.from_record(entry) for entry in noted["edits"]]
    text = take_out(_decode(before), noted["form"], edits)
    return text.encode() if noted["existed"] or text.strip() not in ("", "{}") else None


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


@contextmanager
def _name_file(path: Path) -> Iterator[None]:
    """Name the file in an error."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


# ---------------------------------------------------------------------- doing


def _apply(plan: Callable[[], list[FilePlan]]) -> list[FilePlan]:
    """Plan and write; start over if a file was written between the two."""
    for _ in range(ATTEMPTS):
        plans = plan()
        if _written_all(plans):
            return plans
    raise InputError(
        "the settings were written by another program at the same time; close the client and run "
        "this again"
    )


def _written_all(plans: Sequence[FilePlan]) -> bool:
    """Write all files or none; return whether all were still as they were planned from."""
    done: list[FilePlan] = []
    try:
        for plan in plans:
            if plan.changes_something:
                if read_bytes(plan.path) != plan.before:
                    break
                replace_file(plan.path, plan.after)
                done.append(plan)
        else:
            return True
    except BaseException:
        _restore(done)
        raise
    _restore(done)
    return False


def _restore(done: Sequence[FilePlan]) -> None:
    for plan in reversed(done):
        replace_file(plan.path, plan.before)


@contextmanager
def _install_lock() -> Iterator[None]:
    """Let one install run at a time. Uninstalling leaves nothing behind, not even the lock."""
    lock = FileLock(agents_home() / "install.lock", timeout=LOCK_TIMEOUT_S)
    _acquire(lock)
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()
        remove_empty([agents_home(), data_home()])


def _acquire(lock: FileLock) -> None:
    for _ in range(ATTEMPTS):
        make_private(agents_home())
        try:
            lock.acquire()
        except FileNotFoundError:  # another process has removed the empty folder meanwhile
            continue
        except Timeout as error:
            raise InputError(
                f"another `treering install` is at work for more than {LOCK_TIMEOUT_S:g} s; wait "
                f"for it, or remove {lock.lock_file}"
            ) from error
        return
    raise InputError(f"{lock.lock_file} cannot be made; see who else writes to that folder")


# ---------------------------------------------------------------------- the record


def _record_path(client: Client) -> Path:
    return agents_home() / "installed" / f"{client.name}.json"


def _record(client: Client) -> dict[str, Any]:
    """Return the record of a client's install; an empty one by default."""
    content = read_bytes(_record_path(client))
    if content is None:
        return {}
    try:
        record: dict[str, Any] = json.loads(content)
        record["files"]  # it raises
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{_record_path(client)} is damaged, so the edits in {client.title} are not known; "
            "take treering out by hand and remove that file"
        ) from error
    return record


def _file_records(client: Client) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = _record(client).get("files", [])
    return records


def _write_record(client: Client, launcher: Launcher, plans: Sequence[FilePlan]) -> None:
    """Write the record, and a copy of each file as it was before."""
    folder = make_private(_record_path(client).parent)
    records = []
    for number, plan in enumerate(plan for plan in plans if plan.edits):
        noted = {
            "path": str(plan.path),
            "form": plan.form,
            "existed": plan.original is not None,
            "after": hashlib.sha256(plan.after or b"").hexdigest(),
            "folders": plan.folders,
            "backup": str(folder / f"{client.name}.{number}.before"),
            "edits": [edit.record() for edit in plan.edits],
        }
        if plan.original is not None:
            replace_file(_backup(noted), plan.original, private=True)
        records.append(noted)
    record = {"client": client.name, "memory": launcher.memory, "files": records}
    content = json.dumps(record, indent=2)
    replace_file(_record_path(client), content.encode(), private=True)


def _backup(noted: dict[str, Any]) -> Path:
    return Path(noted["backup"])
