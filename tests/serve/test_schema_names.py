"""The names in the OpenAPI document are those that generated clients are built on: they stay."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from treering.serve.mcp import tools

NAMES = Path(__file__).with_name("schema_names.txt").read_text("utf-8").split()
"""A name that goes, or comes, is a change of the interface: it is told in the changelog."""


def test_the_names_of_the_document_are_these_and_no_others(client: TestClient) -> None:
    document = client.get("/v1/openapi.json").json()
    assert sorted(document["components"]["schemas"]) == NAMES


def test_every_name_that_is_referred_to_is_there(client: TestClient) -> None:
    text = client.get("/v1/openapi.json").text
    referred = {part.split('"', 1)[0] for part in text.split("#/components/schemas/")[1:]}
    assert referred
    assert referred <= set(NAMES)


def test_tools_of_the_model_context_protocol_name_no_class() -> None:
    for tool in tools.list_tools():
        assert not {"$defs", "title"} & tool.input_schema.keys()
        for described in tool.input_schema["properties"].values():
            assert not {"$ref", "title"} & described.keys()
