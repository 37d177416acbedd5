"""The code in a model's reply."""

from __future__ import annotations

import re

_FENCED = re.compile(r"^[ \t]*```[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


def code_of(reply: str) -> str:
    """The longest fenced block of a reply, or all of it where nothing is fenced.

    The last fence may be missing: a reply that was cut off is still code.
    """
    blocks = _FENCED.findall(reply)
    return max(blocks, key=len) if blocks else reply
