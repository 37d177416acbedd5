from __future__ import annotations

import tomllib

import pytest

from treering.agents import toml_table
from treering.errors import InputError

PATH = ("mcp_servers", "treering")
TABLE = {"command": r"C:\Programs\treering.exe", "args": ["mcp", "--memory", "/home/ä b/🌳.db"]}

CONFIG = """# mine
model = "o5" # the good one

[mcp_servers.other] # kept
command = "x"

[projects."/home/me"]
trust_level = "trusted"
"""


@pytest.mark.parametrize("text", ["", CONFIG, CONFIG.rstrip("\n"), CONFIG.replace("\n", "\r\n")])
def test_a_table_is_put_at_the_end_and_taken_out_again(text: str) -> None:
    after = toml_table.put(text, PATH, TABLE)
    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"]["treering"] == TABLE
    before = tomllib.loads(text)
    assert tomllib.loads(toml_table.take(after, PATH, before)) == before


def test_a_table_that_others_follow_is_taken_out_alone() -> None:
    more = "\n[tui]\ntheme = 1\n"
    text = toml_table.put(CONFIG, PATH, TABLE) + more
    rest = tomllib.loads(CONFIG + more)
    assert tomllib.loads(toml_table.take(text, PATH, rest)) == rest
    assert "# kept" in toml_table.take(text, PATH, rest)


@pytest.mark.parametrize("text", ["mcp_servers = {}\n", 'mcp_servers = "x"\n'])
def test_a_table_that_would_not_be_read_is_not_written(text: str) -> None:
    with pytest.raises(InputError, match="write it as a"):
        toml_table.put(text, PATH, TABLE)


def test_a_table_without_a_header_is_not_guessed_at() -> None:
    text = "[mcp_servers]\ntreering = {command = 'x'}\n"
    with pytest.raises(InputError, match="not written under a header of its own"):
        toml_table.take(text, PATH, {"mcp_servers": {}})


def test_a_broken_file_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match="line 2"):
        toml_table.read("a = 1\nb = \n")
