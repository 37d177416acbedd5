"""The help of the parameters of operations, one line each.

Requests, options of commands and the reference pages have this help. That of a parameter which is a
setting of a space, too, is with the setting (``treering.views.choices``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from treering.views.choices import settings_by_name

_HELP: Final[Mapping[str, str]] = {
    "alpha": "The weight of all relations, or of each by name.",
    "as_of": "As it was known then: ISO 8601.",
    "budget": "Tokens that it may have.",
    "commits": "The change of a range of commits, A..B.",
    "copies": "Also the copies that were shared with other spaces.",
    "depth": "Commits to look at for each changed file.",
    "expires": "Kept until then: ISO 8601 or seconds.",
    "k": "How many at most.",
    "mask": "Store no keys, passwords and private passages.",
    "min_confidence": "Leave out all that is less sure than this, from 0 to 1.",
    "near": "Where the code will go: PATH or PATH:LINE.",
    "outcome": "How it was received: accepted, rejected, or in other words.",
    "paths": "Only files at these, as in .gitignore: src/, *.py, !tests/",
    "pinned": "Put it before all others; false takes that back.",
    "relations": "Names; by default those that suit the kind of content; []: no relation.",
    "replies": "Also what a model said that may quote them.",
    "rerank": "Order the 50 best again by a package's reranker of this name.",
    "spaces": "Names of the spaces to ask as one; by default its own.",
    "staged": "Check the staged change, not the working tree.",
    "to": "Name of the other space.",
    "upgrade": "Let the model rewrite summaries made without one.",
}


def parameter_help(name: str) -> str | None:
    """Return the help of a parameter; None where its name says enough."""
    setting = settings_by_name().get(name)
    return _HELP.get(name) or (setting[1].help if setting else None)
