"""What ``make docs`` does to the pages: links out of ``docs/`` become links into the repository.

The pages link to the README, the changelog and the benchmarks by path, which is right in a checkout
and on a forge.
"""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(
    r"\[(?P<text>[^\]]+)\]\((?:\.\./)+(?P<path>(?:[A-Z]|benchmarks/)[\w./-]*(?:#[\w-]+)?)\)"
)


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """The page's text; without a ``repo_url`` such a link is what it says, in bold."""
    del page
    forge = str(config.repo_url or "").rstrip("/")

    def link(match: re.Match[str]) -> str:
        text = match["text"]
        return f"[{text}]({forge}/blob/main/{match['path']})" if forge else f"**{text}**"

    return _OUTSIDE.sub(link, markdown)
