"""The page on the server says what there is."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.testclient import TestClient

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "serve.md").read_text("utf-8")


def test_every_route_that_is_named_is_there_and_every_part_is_named(client: TestClient) -> None:
    paths = set(client.get("/v1/openapi.json").json()["paths"])
    named = set(re.findall(r"/v1/[a-z-]+(?=[`\s,/])", PAGE))
    parts = {f"/v1/{path.split('/')[2]}" for path in paths} - {"/v1/page"}  # the page's own
    assert named - {"/v1/chat", "/v1/openapi"} <= parts
    assert parts <= named | {"/v1/chat"}
