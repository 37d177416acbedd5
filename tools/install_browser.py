"""Install a Chromium for the tests of the page if it is missing; ``make test`` calls this.

Without it all other tests run, and the last lines of the run say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET: Final = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
"""Options of a Chromium without connections of its own."""
BY_HAND = "apt-get install chromium, or playwright install chromium"
TIME_LIMIT_S = 600

_APT = [
    ["apt-get", "update"],
    # Without a font no text has a width.
    ["apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"],
]
_PLAYWRIGHT = [[sys.executable, "-m", "playwright", "install", "chromium"]]


def main() -> None:
    """Try one way after the other until a Chromium is installed."""
    if _is_there():
        return
    print(f"Installing Chromium for the tests of the page ({BY_HAND}).", flush=True)
    for commands in ([_APT] if _may_use_apt() else []) + [_PLAYWRIGHT]:
        if all(map(_succeeds, commands)) and _is_there():
            return
    print(f"It could not be installed: the tests of the page are skipped. By hand: {BY_HAND}.")


def _may_use_apt() -> bool:
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def _succeeds(command: list[str]) -> bool:
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            env=os.environ | quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"  {' '.join(command)}: {error}")
        return False
    if done.returncode:
        print(f"  {' '.join(command)}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.returncode == 0


def chromium_path(own: str | Path | None = None) -> str | None:
    """Return the path of a Chromium: ``own`` of Playwright if it exists, or the system's."""
    if own is not None and Path(own).exists():
        return str(own)
    return next(filter(None, map(shutil.which, NAMES)), None)


def _is_there() -> bool:
    return chromium_path(_playwrights()) is not None


def _playwrights() -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


if __name__ == "__main__":
    main()
