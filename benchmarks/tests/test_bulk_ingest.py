"""Ways to take texts in are measured on the same texts, each as a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from treering.errors import InputError
from treering_bench.bulk_ingest import FILE_BYTES, IngestWay, write_texts
from worlds import Bench


def test_each_way_takes_in_the_same(with_plugins: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The boiler is old. Ana lives in Porto.\n\n" * 20)
    arguments = ("--data", tmp_path, "--megabytes", "0.005", "--embedder", "hashing", "--json")
    serial, bulk = with_plugins.object("ingest", *arguments, "--workers", "1")["ways"]
    assert (serial["way"], bulk["way"]) == ("add", "1 here")
    assert serial["fragments"] == bulk["fragments"] >= 5
    assert serial["bytes"] == bulk["bytes"] >= 5_000
    assert all(row["peak_mb"] > 10 and row["texts_per_second"] > 0 for row in (serial, bulk))


def test_texts_are_repeated_until_they_are_enough(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Porto. " * 30_000)
    written = write_texts(tmp_path / "a.txt", tmp_path / "texts", 3 * FILE_BYTES)
    files = sorted((tmp_path / "texts").iterdir())
    assert written == sum(file.stat().st_size for file in files) == 3 * FILE_BYTES
    assert len(files) == 3


def test_a_folder_without_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(InputError, match="has no text"):
        write_texts(tmp_path, tmp_path / "texts", 10)


def test_ways_have_names() -> None:
    names = [IngestWay().name, IngestWay(2).name, IngestWay(1, "local").name]
    assert names == ["add", "2 here", "1 on Ray"]
