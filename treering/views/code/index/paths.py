"""The purpose of a repository's files, and the files that a search may find.

A question about code is answered by code. Tests say the same in more words, and a list of words
says every word: both would rank before the code itself, so they count less. A question that names
them asks for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import PurePosixPath
from typing import Final, Literal

from treering.errors import InputError, MissingExtra, UnknownName
from treering.search.terms import words
from treering.views.code.parse.language import language_of

Purpose = Literal["code", "test", "text"]
"""``text`` is prose, data or settings."""

ASIDE: Final = 0.5
"""The share of its score above the least that a fragment of an unwanted file keeps."""

_TEST_FOLDERS: Final = frozenset(
    ("test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "fixtures", "e2e")
)
_TEST_FILE: Final = re.compile(
    r"(?:test|conftest|test_.*|.*[_.-](?:test|tests|spec|specs)|Test[A-Z].*|.*[a-z0-9](?:Test|Tests|Spec))"
)
_TEST_WORDS: Final = frozenset(
    ("test", "tests", "tested", "testing", "fixture", "fixtures", "spec", "specs", "pytest")
)
_PROSE: Final = frozenset((".md", ".rst", ".adoc", ".txt", ".html"))
_PROSE_WORDS: Final = frozenset(
    ("doc", "docs", "documentation", "documented", "guide", "manual", "readme")
)


def purpose_of(path: str) -> Purpose:
    """The purpose of the file at a path, by its name and folders."""
    file = PurePosixPath(path)
    if _TEST_FOLDERS.intersection(part.lower() for part in file.parts[:-1]):
        return "test"
    if language_of(path) is None:
        return "text"
    return "test" if _TEST_FILE.fullmatch(file.stem) else "code"


def is_asked_for(query: str, near: str | None = None) -> Callable[[str], bool]:
    """Tells of a path whether a question asks for such a file; any question asks for code.

    Who writes ``near`` a path needs files of the same purpose.
    """
    asked = words(query)
    beside = None if near is None else purpose_of(near)

    def answers(path: str) -> bool:
        purpose = purpose_of(path)
        if purpose in ("code", beside):
            return True
        if purpose == "test":
            return bool(_TEST_WORDS & asked)
        file = PurePosixPath(path)
        named = {file.stem.lower(), file.suffix.removeprefix(".").lower()}
        is_prose = file.suffix.lower() in _PROSE
        return bool(named & asked) or (is_prose and bool(_PROSE_WORDS & asked))

    return answers


def files_at(paths: Collection[str], patterns: Sequence[str]) -> frozenset[str]:
    """Those of some paths that meet a pattern as in ``.gitignore``, such as ``src/`` or ``*.py``.

    A pattern after ``!`` leaves files out of all others, or of those that another pattern meets.
    Raises InputError, MissingExtra, and UnknownName if no file is left.
    """
    if isinstance(patterns, str) or not patterns or not all(p.strip(" !") for p in patterns):
        raise InputError(
            f"paths is {patterns!r}; give a list of patterns such as ['src/', '*.py']",
            param="paths",
        )
    try:
        from pathspec import GitIgnoreSpec
    except ModuleNotFoundError as error:
        raise MissingExtra.of("pathspec", "code") from error
    try:
        within = GitIgnoreSpec.from_lines([p for p in patterns if p[0] != "!"] or ["*"])
        without = GitIgnoreSpec.from_lines([p[1:] for p in patterns if p[0] == "!"])
        chosen = frozenset(within.match_files(paths)) - frozenset(without.match_files(paths))
    except ValueError as error:
        raise InputError(f"paths {', '.join(patterns)}: {error}") from error
    if not chosen:
        raise UnknownName(
            f"no indexed file is at {', '.join(patterns)}; give paths from the root of the "
            "repository, such as src/ or *.py"
        )
    return chosen
