"""Which Chromium there is to look at the page with. No I/O but for looking."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET: Final = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
"""Options of a Chromium that asks for nothing by itself."""


def installed(own: str | Path | None = None) -> str | None:
    """The path of a Chromium: ``own``, which Playwright may have, or one of the system's."""
    if own is not None and Path(own).exists():
        return str(own)
    return next(filter(None, map(shutil.which, NAMES)), None)
