"""Try the wheel in ``dist/`` on the oldest and the newest Python here: ``make release``.

Each gets a new virtual environment with the wheel and its dependencies. Commands then remember,
find and forget in an empty folder with an empty environment.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEWEST_KNOWN = 20  # the last minor version to look for

STEPS = (
    (("--version",), ""),
    (("add", "The boiler was serviced in March.", "-m", "life.db"), "added 1 entry"),
    (("search", "When was the boiler serviced?", "-m", "life.db"), "serviced in March"),
    (("forget", "--source", "notes", "--yes", "-m", "life.db"), "forgot 1 entry"),
    (("search", "boiler", "-m", "life.db"), "nothing found"),
    (("serve", "-m", "life.db"), "pip install 'treering[serve]'"),
)
"""Commands and parts of their output; the last one names a missing extra."""


def pythons() -> list[str]:
    """Return the commands of the oldest and the newest supported Python here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    oldest = re.fullmatch(r">=3\.(\d+)", project["requires-python"])
    assert oldest is not None
    names = (f"python3.{minor}" for minor in range(int(oldest[1]), NEWEST_KNOWN))
    found = [name for name in names if _answers(name)]
    return sorted({found[0], found[-1]}) if found else [sys.executable]


def attempt(python: str, wheel: Path) -> None:
    """Install the wheel with a Python and run the steps. Raise RuntimeError if one fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir()
        _run([python, "-m", "venv", str(folder / "venv")], folder)
        commands = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        _run([str(commands / "pip"), "install", "--quiet", str(wheel)], folder)
        environment = {"PATH": str(commands), "HOME": str(home)}
        for arguments, expected in STEPS:
            command = [str(commands / "treering"), *arguments]
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=home, env=environment, timeout=120
            )
            if expected not in done.stdout + done.stderr:
                raise RuntimeError(f"{python}: {' '.join(command)}\n{done.stdout}{done.stderr}")


def main() -> int:
    """Try each Python; return the number of failures."""
    [wheel] = (ROOT / "dist").glob("*.whl")
    failed = 0
    for python in pythons():
        try:
            attempt(python, wheel)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"{python}: {error}")
        else:
            print(f"{python}: {wheel.name} installs, remembers, finds and forgets")
    return failed


def _answers(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
