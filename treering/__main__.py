"""``python -m treering`` is the command ``treering``."""

from __future__ import annotations

from treering.cli.main import app

app()
