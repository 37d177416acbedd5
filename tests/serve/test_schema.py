"""Requests made from the OpenAPI document, good and bad: none makes the server fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import Phase, given, settings
from schemathesis.checks import not_a_server_error
from starlette.testclient import TestClient

from tests.embedders import HashingEmbedder
from treering.llm.scripted import FakeLLM
from treering.serve.app import create_app
from treering.serve.settings import ServerSettings

EXAMPLES = int(os.environ.get("TREERING_FUZZ", "3"))
"""Requests an operation; the variable asks for more, as `make faults` does."""


schemathesis.serializer.alias("application/x-ndjson", "text/plain")


@pytest.fixture
def schema(path: Path, tmp_path: Path) -> Iterator[Any]:
    """The description of a server that remembers something and has a language model."""
    llm = FakeLLM(lambda _: "In Porto [1].")
    chosen = ServerSettings(path, embedder=HashingEmbedder(), llm=llm, code_roots=(tmp_path,))
    app = create_app(chosen)
    with TestClient(app, base_url="http://localhost") as client:
        client.post("/v1/entries", json={"text": "Ana moved to Porto."})
        yield schemathesis.openapi.from_asgi("/v1/openapi.json", app)


def test_no_request_makes_the_server_fail(schema: Any) -> None:
    for found in schema.get_all_operations():
        strategy = found.ok().as_strategy()

        @given(case=strategy)
        @settings(max_examples=EXAMPLES, phases=[Phase.generate])
        def answered(case: Any) -> None:
            case.call_and_validate(checks=[not_a_server_error])

        answered()
