"""Which definitions a text in plain language speaks of: "why does parse() retry?" names ``parse``.

A word that is nothing but a name of code (``fetch_url``, ``HttpClient``) is one anywhere;
one that could be a word of the language needs a sign: a call's brackets, quotation as code, an
owner before a dot, or "function" and the like beside it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

MAX_MEANINGS = 5
"""A name with more possible definitions says nothing about which is meant."""

# It begins where no other begins and takes nothing back: a text may be one long word.
_START = r"(?<!\w)(?<!\w\.)(?<!\w\#)(?<!\w::)"
_NAME = rf"{_START}[^\W\d]\w*+(?:(?:\.|::|\#)[^\W\d]\w*+)*+"
_SIGNS = re.compile(
    rf"(?P<called>{_NAME})\(|`(?P<quoted>{_NAME})(?:\([^`]*\))?`"
    rf"|\b(?:function|method|class|def|func|fn)\s+(?P<after>{_NAME})"
)
_BEFORE = re.compile(rf"({_NAME})\s+(?:function|method|class)\b")
_POINTING = frozenset(
    {"a", "an", "the", "this", "that", "each", "every", "one", "new", "our", "my"}
)
_WORD = re.compile(_NAME)
_LONG_WORD = re.compile(r"[^\W\d]\w{2,}")
"""Names of fewer than three letters occur in too many questions."""
_PARTS = re.compile(r"\.|::|#")
_OF_CODE = re.compile(r"[^_]_[^_]|[a-z0-9][A-Z]|^_")
"""Two words in one, or a leading underscore: no word of any language looks like that."""
_FILE = re.compile(r".*\.(?:[a-z]{1,4}|com|org)$")


def names_in(text: str) -> frozenset[str]:
    """The names of definitions in a text, dotted where it gives an owner: ``Client.fetch``."""
    marked = {name for match in _SIGNS.finditer(text) for name in match.groups() if name}
    marked |= {name for name in _BEFORE.findall(text) if name.lower() not in _POINTING}
    looks = {word for word in _WORD.findall(text) if _looks_like_code(word)}
    return frozenset(".".join(_PARTS.split(name)) for name in marked | looks)


def last_part(name: str) -> str:
    """The name without its owners."""
    return name.rpartition(".")[2]


def means(name: str, qualified: str) -> bool:
    """Whether a name in a text can be that of a definition; owners must agree if both have some."""
    asked, there = name.split("."), qualified.split(".")
    shared = min(len(asked), len(there))
    return asked[-shared:] == there[-shared:]


def definitions_in(text: str, keys: Iterable[str]) -> list[str]:
    """Those of some definitions, as ``PATH::NAME``, that a text names. A bare word counts, too."""
    by_name: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for key in sorted(keys):
        qualified = key.partition("::")[2]
        by_name[last_part(qualified)].append((key, qualified))
    words = {word for word in _LONG_WORD.findall(text) if word in by_name}
    named: dict[str, None] = {}
    for name in sorted(names_in(text) | words):
        meant = [key for key, there in by_name.get(last_part(name), ()) if means(name, there)]
        named |= dict.fromkeys(meant if len(meant) <= MAX_MEANINGS else ())
    return [*named]


def _looks_like_code(word: str) -> bool:
    parts = _PARTS.split(word)
    if _OF_CODE.search(parts[-1]):
        return True
    return len(parts) > 1 and parts[0][:1].isupper() and not _FILE.match(word)
