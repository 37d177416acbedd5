"""The bench of candidates fills a schema, and compares what is found with ranking everything."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tests.embedders import HashingEmbedder
from tests.postgres_server import new_schema
from treering_bench.cli import app, candidates


def test_candidates_are_compared_with_ranking_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "open_embedder", lambda name: HashingEmbedder())
    options = ["--fragments", "150", "--questions", "3", "--json"]
    command = ["candidates", new_schema(), *options]
    for _ in range(2):  # what the schema has is not stored again
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        figures = json.loads(done.stdout)
        assert figures["fragments"] == 150
        for compared in figures["filters"].values():
            assert compared["found"] == 1.0
            assert compared["found_p50_ms"] > 0
