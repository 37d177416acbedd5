"""Fixtures: those of treering's own tests, and a small world in a memory."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.cli.conftest import PLUGINS
from treering_bench.perf import fresh
from treering_bench.space import TaskSpace
from worlds import BagOfWords, Bench, chat_task, remembered

pytest_plugins = ["tests.conftest"]


@pytest.fixture(autouse=True)
def forked_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    context = get_context("forkserver")
    context.set_forkserver_preload([fresh.__name__])
    monkeypatch.setattr(fresh, "get_context", lambda way: context)


@pytest.fixture
def embedder() -> BagOfWords:
    return BagOfWords()


@pytest.fixture
def space(embedder: BagOfWords) -> Iterator[TaskSpace]:
    with remembered(chat_task(), embedder) as found:
        yield found


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.syspath_prepend(PLUGINS)
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path)
