"""A body to write: its place, the query, and measures of how much of it was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

from treering.split.text import WINDOW_LINES
from treering.views.code.index.code_index import CodeHit

_NAME = re.compile(r"[^\W\d]\w*")
_DEFINED = re.compile(
    r"^\s*(?:async )?(?:def|class) (\w+)|^\s*(?:self\.)?(\w+)\s*(?::[^=\n]+)?=(?!=)", re.M
)


class Target(Protocol):
    """The code that should be found for a body to be written."""

    def found(self, hits: Sequence[CodeHit]) -> float:
        """The share of it that fragments hold."""
        ...

    def named(self, repository_map: str) -> float:
        """The share of it that a map of signatures names."""
        ...

    def precision(self, hits: Sequence[CodeHit]) -> float:
        """The share of the fragments that hold something of it; 0 without fragments."""
        ...


@dataclass(frozen=True, slots=True)
class CodeTask:
    """A function whose body was cut out of a file of a project.

    ``text`` is the file without the body, ``line`` where the body was, ``query`` what is searched
    for. ``project`` names a folder of the sources, ``path`` a file in it. ``code`` is the true
    code: the body or line that is missing, or the function that a dialogue asks for, whose rounds
    have the ``instructions``.
    """

    id: str
    project: str
    path: str
    text: str
    line: int
    query: str
    target: Target
    category: str = ""
    instructions: tuple[str, ...] = ()
    code: str = ""

    @property
    def prefix(self) -> str:
        """The file up to the hole."""
        return "".join(self.text.splitlines(keepends=True)[: self.line - 1])


@dataclass(frozen=True, slots=True)
class OmittedTask:
    """A task that cannot be measured with the given sources, and the reason."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Dotted names of the functions, classes and attributes that the true body uses."""

    names: tuple[str, ...]

    def found(self, hits: Sequence[CodeHit]) -> float:
        """The share that fragments define, or for an attribute assign to in its class."""
        return fmean(any(_defines(hit, name) for hit in hits) for name in self.names)

    def precision(self, hits: Sequence[CodeHit]) -> float:
        """The share of fragments that define any of the names."""
        used = [any(_defines(hit, name) for name in self.names) for hit in hits]
        return fmean(used) if used else 0.0

    def named(self, repository_map: str) -> float:
        """The share that the map defines; attributes are never on it."""
        last = (re.escape(name.rsplit(".", 1)[-1]) for name in self.names)
        return fmean(bool(re.search(rf"(?:def|class) {name}\b", repository_map)) for name in last)


@dataclass(frozen=True, slots=True)
class Words:
    """Words that ``read`` finds in code: identifiers of the true body, or names to be defined."""

    words: frozenset[str]
    read: Callable[[str], frozenset[str]]

    def found(self, hits: Sequence[CodeHit]) -> float:
        """The share that fragments hold."""
        return self.named("\n".join(hit.text for hit in hits))

    def precision(self, hits: Sequence[CodeHit]) -> float:
        """The share of fragments that hold any."""
        used = [not self.words.isdisjoint(self.read(hit.text)) for hit in hits]
        return fmean(used) if used else 0.0

    def named(self, repository_map: str) -> float:
        """The share that a text holds."""
        return len(self.words & self.read(repository_map)) / max(len(self.words), 1)


def last_lines(prefix: str, prediction: str = "") -> str:
    """The query of a completion: the last lines before the hole, in a window of 20 lines.

    It ends with a ``prediction`` in RepoCoder's later steps.
    """
    lines = prefix.splitlines()
    following = prediction.splitlines()[: WINDOW_LINES // 2]
    return "\n".join([*lines[-(WINDOW_LINES - len(following)) :], *following])


def definitions(code: str) -> frozenset[str]:
    """The names of functions, classes and variables that a text of Python defines."""
    return frozenset(name for groups in _DEFINED.findall(code) for name in groups if name)


def identifiers(code: str) -> frozenset[str]:
    """The names in a text, keywords among them."""
    return frozenset(_NAME.findall(code))


def _defines(hit: CodeHit, name: str) -> bool:
    """Whether a fragment holds the definition of a dotted name, or assigns to an attribute."""
    *owner, last = name.split(".")
    module = hit.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if not name.startswith(module):
        return False
    defined = re.search(rf"^\s*(?:async )?(?:def|class) {re.escape(last)}\b", hit.text, re.M)
    in_class = not owner or owner[-1] in (*hit.definition.split("."), module.split(".")[-1])
    in_class = in_class or f"class {owner[-1]}" in hit.text
    assigned = re.search(rf"(?:^|[\s.]){re.escape(last)}\s*(?::[^=\n]+)?=[^=]", hit.text, re.M)
    return bool(in_class and (defined or assigned))
