"""Workers on Ray: ``make test-ray`` runs this. Ray takes seconds to start, and warns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

if "TREERING_TEST_RAY" not in os.environ:
    pytest.skip("Ray has tests of its own: make test-ray", allow_module_level=True)

import ray

from tests.bulk.texts import is_whole, journal, write_folder
from tests.bulk.workers import Killing
from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.raised import raises
from treering.bulk.ingest import bulk_ingest
from treering.bulk.ray_actors import RayActors
from treering.errors import InputError

pytestmark = pytest.mark.both_engines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("bulk") / "notes")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """One cluster for all tests of this module: each start takes some seconds."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_authentication_is_on() -> None:
    assert os.environ["RAY_AUTH_MODE"] == "token"


def test_the_journal_is_the_one_that_add_writes(
    open_memory: Open, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    new = tmp_path_factory.mktemp("new")
    serial, bulk = open_memory(new / "serial.db"), open_memory(new / "bulk.db")
    serial.add(folder)
    report = bulk_ingest(bulk, folder, workers=2, ray="auto")
    assert journal(bulk) == journal(serial)
    assert report.texts == bulk.stats().fragments == serial.stats().fragments
    assert is_whole(bulk)
    assert ray.is_initialized()  # what the program has begun goes on


def test_an_actor_that_is_killed_half_way_costs_no_row(
    open_memory: Open, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    new = tmp_path_factory.mktemp("new")
    memory = open_memory(new / "bulk.db", embedder=Killing(new / "asked", at=(5,)))
    steps: list[tuple[int, int]] = []
    bulk_ingest(memory, folder, workers=2, ray="auto", progress=lambda *step: steps.append(step))
    assert steps[-1][0] == steps[-1][1]
    serial = open_memory(new / "serial.db")
    serial.add(folder)
    assert journal(memory) == journal(serial)
    assert memory.stats().fragments == serial.stats().fragments
    assert is_whole(memory)


def test_more_workers_than_processors_are_refused() -> None:
    with raises(InputError, param="workers"):
        RayActors(HashingEmbedder(), 3, "auto")


def test_a_cluster_without_authentication_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(InputError, match=r"RAY_AUTH_MODE is 'disabled'.*set it to 'token'"):
        RayActors(HashingEmbedder(), 1, "auto")
