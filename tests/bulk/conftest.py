"""Workers are forked as other programs of tests are: see ``tests/programs.py``."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from tests.programs import Program
from treering.bulk import processes


@pytest.fixture(autouse=True)
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    forking = SimpleNamespace(Popen=Program, PIPE=subprocess.PIPE)
    monkeypatch.setattr(processes, "subprocess", forking)
