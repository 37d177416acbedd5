"""Nothing in the package opens files but ``treering.files``: another way to a file of a user could
lead to the memory itself, whose locks are lost when it is opened and closed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import treering

PACKAGE = Path(treering.__file__).parent
OPENERS = {"open", "fdopen", "FileIO", "read_bytes", "read_text", "fromfile", "memmap"}
COPIERS = {"copy", "copy2", "copyfile", "copytree"}

ALLOWED = {
    ("files.py", "os.open(path, os.O_RDONLY | getattr(os, 'O_BINARY', 0))"): "the opener",
    ("files.py", "os.fdopen(descriptor, 'rb', closefd=False)"): "the opener",
    ("files.py", "path.open('rb')"): "a member of an archive that is open",
    (
        "posix_locks.py",
        "os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE)",
    ): "a new file only",
    ("posix_locks.py", "FileIO(name, 'r+')"): "kept open as long as the database is",
    ("backup.py", "os.open(folder, os.O_RDONLY)"): "a folder, to sync it",
    ("temporary.py", "os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)"): "the same",
    ("plugins.py", "package.read_text('entry_points.txt')"): "what an installed package brings",
    ("route.py", "file.read_bytes()"): "a part of the page, which comes with the package",
    ("front.py", "ANSWERS.read_bytes()"): "what comes with the package",
    ("front.py", "fdopen(1, 'wb', closefd=False)"): "standard output",
    ("front.py", "fdopen(self._input, 'rb')"): "standard input",
    ("front.py", "fdopen(self._pipe, 'wb')"): "a pipe",
    ("minilm.py", "path.open('rb')"): "the bundled model",
    ("language.py", "file.read_text(encoding='utf-8')"): "queries, which come with the package",
    ("temporary.py", "part.open('w', encoding='utf-8', newline='\\n')"): "a new file",
    ("failures.py", "os.open(os.devnull, os.O_WRONLY)"): "no file",
    ("project.py", "path.open('rb')"): "git's settings, read before a memory is open",
    ("project.py", "path.read_bytes()"): "when hooks were switched, in a folder of our own",
    ("connection.py", "os.open(os.devnull, os.O_RDONLY)"): "no file: is a descriptor free?",
    ("inbox.py", "path.read_bytes()"): "messages that wait, in a folder of our own",
    ("places.py", "path.read_bytes()"): "records of hooks, in a folder of our own",
    ("inbox.py", "os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 384)"): "a new file only",
    ("inbox.py", "os.fdopen(handle, 'wb')"): "the same",
    ("inbox.py", "os.open(folder, os.O_RDONLY)"): "a folder, to sync it",
    ("files.py", "os.fdopen(handle, 'wb')"): "a new file beside settings",
    ("hook_log.py", "os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 384)"): "our own log",
    ("hook_log.py", "os.fdopen(handle, 'ab')"): "the same",
    ("endpoint.py", "place.path.read_bytes()"): "where a server of hooks is, in our own folder",
    ("endpoint.py", "os.open(place.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 384)"): "a new file",
    ("endpoint.py", "os.fdopen(handle, 'w', encoding='ascii')"): "the same",
    ("endpoint.py", "log.open('wb')"): "the log of a server that is started",
}
"""Why a call may stay, by the file's name and the call."""


def calls(tree: ast.AST) -> Iterator[tuple[str, str, ast.Call]]:
    """Each call with the name of what is called and what that is looked up in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, ast.unparse(node.func.value), node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, "", node


def opens_a_file(name: str, owner: str) -> bool:
    if "Memory" in owner or owner in ("webbrowser",) or "files(" in owner:
        return False  # a memory, and resources of the package
    if not owner and name in ("read_text", "read_bytes"):
        return False  # a function of ours, which opens what it reads with the opener
    return name in OPENERS or (owner == "shutil" and name in COPIERS)


def test_only_the_opener_opens_files_and_each_exception_has_its_reason() -> None:
    seen = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, owner, call in calls(ast.parse(path.read_text("utf-8"))):
            if opens_a_file(name, owner) and owner not in ("files", "treering.files"):
                seen.add((path.name, ast.unparse(call)))
    assert seen - ALLOWED.keys() == set(), "read it with treering.files, or give the reason here"
    assert ALLOWED.keys() - seen == set(), "no longer there"
