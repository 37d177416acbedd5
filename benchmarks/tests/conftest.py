"""Fixtures: those of treering's own tests, and a small world in a memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import programs
from tests.cli.conftest import PLUGINS, ROOT
from treering_bench import bulk_ingest, server_load
from treering_bench.perf import bystander, fresh
from treering_bench.space import TaskSpace
from worlds import BagOfWords, Bench, chat_task, remembered

pytest_plugins = ["tests.conftest"]


@pytest.fixture(autouse=True)
def forked_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    forking = SimpleNamespace(
        Popen=programs.Program,
        run=programs.run,
        PIPE=subprocess.PIPE,
        DEVNULL=subprocess.DEVNULL,
    )
    for module in (bulk_ingest, server_load):
        monkeypatch.setattr(module, "subprocess", forking)
    context = get_context("forkserver")
    context.set_forkserver_preload([bystander.__name__, fresh.__name__])
    for module in (bystander, fresh):
        monkeypatch.setattr(module, "get_context", lambda way: context)


@pytest.fixture
def embedder() -> BagOfWords:
    return BagOfWords()


@pytest.fixture
def space(tmp_path: Path, embedder: BagOfWords) -> Iterator[TaskSpace]:
    with remembered(tmp_path, chat_task(), embedder) as found:
        yield found


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.syspath_prepend(PLUGINS)
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path)


@pytest.fixture
def with_plugins(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A server in another process knows the models of the tests, too."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT), str(PLUGINS))))
    return bench
