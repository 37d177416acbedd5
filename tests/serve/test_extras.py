from __future__ import annotations

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
