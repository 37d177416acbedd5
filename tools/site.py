"""Turn links out of ``docs/`` into links to the repository, for ``make docs``.

The pages link to the README, examples, tests and benchmarks by path, as a checkout and a forge
need it.
"""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(
    r"\[(?P<text>[^\]]+)\]\((?:\.\./)+(?P<path>(?:[A-Z]|(?:benchmarks|examples|tests)/)[\w./-]*(?:#[\w-]+)?)\)"
)


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Return the text of a page; without a ``repo_url`` such a link becomes bold text."""
    del page
    forge = str(config.repo_url or "").rstrip("/")

    def link(match: re.Match[str]) -> str:
        text = match["text"]
        return f"[{text}]({forge}/blob/main/{match['path']})" if forge else f"**{text}**"

    return _OUTSIDE.sub(link, markdown)
