"""Hooks switched off: for a project, by the user; for everything, by $TREERING_HOOKS=off."""

from __future__ import annotations

import json
import os
from pathlib import Path

from treering.agents.home import agents_home, make_private


def is_off(project: str | None) -> bool:
    """Whether hooks do nothing in a project; None is every folder that is in no repository."""
    if os.environ.get("TREERING_HOOKS", "").lower() in ("off", "0", "no"):
        return True
    return (project or "") in _off()


def switch(project: str | None, on: bool) -> None:
    """Switch hooks on or off in a project."""
    names = _off() - {project or ""} if on else _off() | {project or ""}
    make_private(agents_home())
    from treering.agents.files import replace_file

    replace_file(_path(), json.dumps(sorted(names)).encode(), private=True)


def _path() -> Path:
    return agents_home() / "off.json"


def _off() -> set[str]:
    try:
        names = json.loads(_path().read_bytes())
    except FileNotFoundError:
        return set()
    return {name for name in names if isinstance(name, str)}
