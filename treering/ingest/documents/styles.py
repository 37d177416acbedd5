"""Which elements of an HTML page its own styles hide. Scripts and linked sheets are not read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from bs4 import BeautifulSoup, Tag

_HIDING = {("display", "none"), ("visibility", "hidden")}
_PROPERTIES = {name for name, _ in _HIDING}
# Comments and strings, also unfinished ones, may hold braces that end no rule.
_NO_RULE = re.compile(r"""/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?""", re.S)
_PLAIN_SELECTOR = re.compile(r"[\w-]*(?:[.#][\w-]+)+")
_NAMES = re.compile(r"[.#]?[\w-]+")
_ON_SCREEN = ("", "all", "screen")
_ALWAYS_SHOWN = ("html", "body")  # a page that hides itself as a whole is shown by its script

Weight = tuple[int, ...]
"""Which of several declarations holds: the greatest, as CSS ranks them."""


@dataclass(frozen=True, slots=True)
class StyleDeclaration:
    """A value of ``display`` or ``visibility``."""

    name: str
    value: str
    important: bool


@dataclass(frozen=True, slots=True)
class StyleRule:
    """Declarations for the elements that have all of ``names``: ``.class``, ``#id`` or a tag."""

    names: frozenset[str]
    declarations: tuple[StyleDeclaration, ...]
    place: int

    def weight(self, declaration: StyleDeclaration) -> Weight:
        """An id counts more than classes, these more than a tag; of equals the last holds."""
        signs = [name[0] for name in self.names]
        ids, classes = signs.count("#"), signs.count(".")
        return (declaration.important, 0, ids, classes, len(signs) - ids - classes, self.place)


class PageStyles:
    """The rules of a page's ``<style>`` elements that say what is shown, by plain selectors.

    Rules for some media only, and selectors of states or of elements in others, are left out.
    """

    def __init__(self, soup: BeautifulSoup) -> None:
        self._rules: defaultdict[str, list[StyleRule]] = defaultdict(list)
        place = 0
        for sheet in soup.find_all(_is_sheet):
            for names, declarations in _rules(sheet.get_text()):
                place += 1
                rule = StyleRule(names, declarations, place)
                self._rules[min(names)].append(rule)  # an id or a class: these sort before tags

    def hides(self, element: Tag) -> bool:
        """Whether an element is not displayed or not visible by the declarations that hold."""
        if element.name in _ALWAYS_SHOWN:
            return False
        holding: dict[str, tuple[Weight, str]] = {}
        for declaration, weight in self._declarations(element):
            weighed = (weight, declaration.value)
            holding[declaration.name] = max(holding.get(declaration.name, weighed), weighed)
        return any((name, value) in _HIDING for name, (_, value) in holding.items())

    def _declarations(self, element: Tag) -> Iterator[tuple[StyleDeclaration, Weight]]:
        for place, declaration in enumerate(_declarations(str(element.get("style", "")))):
            yield declaration, (declaration.important, 1, place)
        names = {element.name, f"#{element.get('id')}"}
        names.update(f".{name}" for name in element.get_attribute_list("class"))
        for name in names & self._rules.keys():
            for rule in self._rules[name]:
                if rule.names <= names:
                    yield from ((each, rule.weight(each)) for each in rule.declarations)


def _is_sheet(element: Tag) -> bool:
    """Whether it is a style sheet for a screen, and for readers whose browser runs scripts."""
    return (
        element.name == "style"
        and str(element.get("media", "")).strip().lower() in _ON_SCREEN
        and element.find_parent(["noscript", "template"]) is None
    )


def _rules(sheet: str) -> Iterator[tuple[frozenset[str], tuple[StyleDeclaration, ...]]]:
    """The rules that stand in no other, such as one for a medium, and have a plain selector."""
    text = _NO_RULE.sub(" ", sheet)
    depth = end = start = 0
    for brace in re.finditer("[{}]", text):
        if brace[0] == "{":
            start = start if depth else brace.end()
            depth += 1
            continue
        depth = max(depth - 1, 0)
        if depth:
            continue
        declarations = tuple(_declarations(text[start : brace.start()].partition("{")[0]))
        # A statement such as `@import` may stand before the selectors.
        for selector in text[end : start - 1].rpartition(";")[2].split(",") if declarations else ():
            if _PLAIN_SELECTOR.fullmatch(selector.strip()):
                yield frozenset(_NAMES.findall(selector)), declarations
        end = start = brace.end()


def _declarations(text: str) -> Iterator[StyleDeclaration]:
    for declaration in text.lower().split(";"):
        name, _, value = declaration.partition(":")
        if name.strip() in _PROPERTIES:
            value, mark, _ = value.partition("!")
            yield StyleDeclaration(name.strip(), value.strip(), bool(mark))
