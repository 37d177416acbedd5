"""A package of its own that brings something to treering, as if it were installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def install(
    monkeypatch: pytest.MonkeyPatch, folder: Path, module: str, source: str, entry_points: str
) -> None:
    """Put a package with one module and its ``entry_points.txt`` on the path, for one test."""
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    (folder / f"{module}.py").write_text(source)
    monkeypatch.setitem(sys.modules, module, sys)  # as it was, or gone, once the test has ended
    del sys.modules[module]
    monkeypatch.syspath_prepend(str(folder))
