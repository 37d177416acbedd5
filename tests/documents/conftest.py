"""Processes that read documents are forked as other programs of tests: ``tests/programs.py``."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from tests.programs import Program
from treering.ingest.documents import reader


@pytest.fixture(autouse=True)
def forked_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    forking = SimpleNamespace(Popen=Program, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr(reader, "subprocess", forking)
