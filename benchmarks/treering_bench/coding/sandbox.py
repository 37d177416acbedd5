"""Runs code that a model wrote or a dialogue recorded, behind a boundary of the kernel."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

from treering.errors import InputError

BOUNDARY = Path(__file__).with_name("boundary.py")
CHECK_S = 30.0
"""Setting the boundary up takes a tenth of a second; this bounds a machine that hangs."""


@cache
def require_boundary() -> None:
    """Raise InputError where the kernel cannot shut such code in."""
    checked = subprocess.run(
        [sys.executable, "-I", "-S", str(BOUNDARY), "--check"],
        capture_output=True,
        text=True,
        timeout=CHECK_S,
        check=False,
    )
    if checked.returncode:
        reason = checked.stderr.strip() or f"exit code {checked.returncode}"
        raise InputError(
            f"code under test runs only behind Landlock and seccomp, which fail here ({reason}); "
            "use Linux 5.13 or newer with both"
        )
