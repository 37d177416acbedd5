"""Prompts as plain-text files, ``NAME.vN.txt``; a changed wording is a new version.

Texts of users and of the memory are data in them: each is inserted once and never read as a
template again, and anything in it that looks like one of the template's own delimiters is broken up
with a space.
The paper's prompts are as printed, LongBench's "asconcisely" included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
# It takes no white space back: a value may be white space for long.
_TAG = re.compile(r"<\s*+(?:/\s*+)?([a-z_]+)\b", re.IGNORECASE)
_HEADING = re.compile(r"^\[\s*([A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)*)", re.MULTILINE)
_FENCE = re.compile("`{3,}")
_NUMBER_MARK = re.compile(r"\[(?=\d+(?:\s*[,;]\s*\d+)*\])")
_RATING_MARK = re.compile(r"\[(?=\[)|\](?=\])")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template with ``{placeholders}``."""

    name: str
    version: int
    template: str

    def fill(self, **values: str) -> str:
        """The template with every placeholder replaced by its value, delimiters in it broken up.

        The names must be exactly the placeholders.
        """
        names = set(_PLACEHOLDER.findall(self.template))
        if names != values.keys():
            raise TypeError(f"prompt {self.name!r} takes {sorted(names)}, not {sorted(values)}")
        safe = {name: self._neutralise(value) for name, value in values.items()}
        # One pass over the template: a placeholder inside a value is never seen.
        return _PLACEHOLDER.sub(lambda match: safe[match[1]], self.template)

    def _neutralise(self, text: str) -> str:
        tags = set(_TAG.findall(self.template))
        text = _TAG.sub(lambda tag: f"< {tag[0][1:]}" if tag[1].lower() in tags else tag[0], text)
        for heading in _HEADING.findall(self.template):
            text = re.sub(rf"\[(?=\s*{heading}\b)", "(", text, flags=re.IGNORECASE)
        if "```" in self.template:
            text = _FENCE.sub(lambda fence: " ".join(fence[0]), text)
        if "[[" in self.template:
            text = _RATING_MARK.sub(lambda mark: f"{mark[0]} ", text)
        if "[" in self.template:
            text = _NUMBER_MARK.sub("[ ", text)
        return text


def load(name: str, version: int = 1) -> Prompt:
    """The prompt of that name in this package."""
    text = files(__name__).joinpath(f"{name}.v{version}.txt").read_text(encoding="utf-8")
    return Prompt(name, version, text.rstrip("\n"))
