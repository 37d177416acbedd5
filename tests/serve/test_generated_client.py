"""A client that openapi-python-client generates from the OpenAPI document, on a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.serve.live import serving

GENERATOR = Path(sys.prefix) / "openapi"
"""Where ``make openapi`` puts the generator."""

STREAMED = {"/v1/import"}
"""Takes JSON lines, which the generator does not know."""


def generate(document: dict[str, Any], folder: Path) -> None:
    (folder / "openapi.json").write_text(json.dumps(document))
    (folder / "plain.yaml").write_text("post_hooks: []")  # else ruff formats what it makes
    arguments = [
        "generate",
        "--path",
        "openapi.json",
        "--output-path",
        "generated",
        "--meta",
        "none",
        "--config",
        "plain.yaml",
    ]
    subprocess.run(
        [sys.executable, "-m", "openapi_python_client", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(GENERATOR)},
        capture_output=True,
        timeout=60,
        check=True,
    )


@pytest.mark.skipif(not GENERATOR.is_dir(), reason="openapi-python-client is not installed")
def test_a_generated_client_adds_searches_and_forgets(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    with serving(url=path) as url:
        paths = (document := httpx2.get(f"{url}/v1/openapi.json").json())["paths"]
        generate(document, tmp_path)
        functions = [*(tmp_path / "generated" / "api").glob("*/[!_]*.py")]
        assert len(functions) == sum(len(paths[each]) for each in paths.keys() - STREAMED)

        models = import_module("generated.models")
        add = import_module("generated.api.entries.entries_add").sync
        search = import_module("generated.api.recall.recall_search").sync
        forget = import_module("generated.api.entries.entries_forget").sync
        with import_module("generated.client").Client(base_url=url) as client:
            hive = models.AddRequestMetadataType0.from_dict({"hive": 3})
            bees = models.AddRequest(text="Ana keeps bees.", metadata=hive)
            query = models.SearchRequest(query="bees")
            added = add(client=client, body=bees)
            [hit] = search(client=client, body=query)
            assert (hit.entry_id, hit.text) == (added.ids[0], "Ana keeps bees.")
            assert hit.metadata.to_dict() == {"hive": 3}
            forgotten = forget(client=client, body=models.ForgetRequest(ids=added.ids))
            assert (forgotten.entries, forgotten.scrubbed) == (added.ids, True)
            assert search(client=client, body=query) == []
