from __future__ import annotations

from pathlib import Path

import pytest

from tests.llm.test_extras import run

SERVE = "from treering.cli.main import app; app(['serve', '--port', '0', '-m', '{path}'])"
MCP = "from treering.cli.main import app; app(['mcp', '{path}'])"
POSTGRES = "from treering import Memory; Memory.open('postgresql:///life')"
OPEN = "from treering import Memory; Memory.open('http://127.0.0.1:9')"


@pytest.mark.parametrize(
    ("blocked", "code", "extra"),
    [
        *((name, SERVE, "serve") for name in ("fastapi", "uvicorn", "prometheus_client", "mcp")),
        *((name, MCP, "mcp") for name in ("mcp", "mcp_types")),
        *((name, OPEN, "client") for name in ("httpx2", "pydantic")),
        *((name, POSTGRES, "postgres") for name in ("psycopg", "psycopg_pool")),
    ],
)
def test_a_missing_extra_names_its_install_command(
    blocked: str, code: str, extra: str, tmp_path: object
) -> None:
    done = run([blocked], code.format(path=f"{tmp_path}/life.db"))
    assert f"is not installed; run: pip install 'treering[{extra}]'" in done.stderr
    assert done.returncode != 0


def test_the_server_starts_without_the_sdk_of_mcp(tmp_path: Path) -> None:
    code = (
        "from treering.serve.app import create_app; "
        "from treering.serve.settings import ServerSettings; "
        f"create_app(ServerSettings(url={str(tmp_path / 'life.db')!r}))"
    )
    done = run(["mcp.server", "mcp.shared", "mcp_types"], code)
    assert done.returncode == 0, done.stderr
