"""The memory tool's six commands, answered in the words that its documentation gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from treering import Memory
from treering.adapters.anthropic_memory import TOOL, MemoryTool
from treering.errors import InputError, UnknownName


@pytest.fixture
def tool(memory: Memory) -> MemoryTool:
    return MemoryTool(memory)


def run(tool: MemoryTool, command: str, **arguments: Any) -> str:
    return tool.run({"command": command, **arguments})


def test_a_file_is_made_viewed_edited_and_found_by_search(tool: MemoryTool, memory: Memory) -> None:
    path = "/memories/preferences.txt"
    told = run(tool, "create", path=path, file_text="Colour: blue\nPet: Miu\n")
    assert told == f"File created successfully at: {path}"
    assert run(tool, "view", path=path) == (
        f"Here's the content of {path} with line numbers:\n"
        "     1\tColour: blue\n     2\tPet: Miu\n     3\t"
    )
    assert run(tool, "view", path=path, view_range=[2, 2]).endswith(":\n     2\tPet: Miu")
    told = run(tool, "str_replace", path=path, old_str="blue", new_str="green")
    assert told.startswith("The memory file has been edited.\n     1\tColour: green")
    told = run(tool, "insert", path=path, insert_line=1, insert_text="Tea: black\n")
    assert told == f"The file {path} has been edited."
    [entry] = memory.entries()
    assert entry.text == "Colour: green\nTea: black\nPet: Miu\n"
    assert memory.search("which colour")[0].source == path


def test_a_folder_lists_two_levels_and_nothing_hidden(tool: MemoryTool) -> None:
    for name in ("a.txt", "b/c.txt", "b/d/e.txt", ".hidden/x", "node_modules/y"):
        run(tool, "create", path=f"/memories/{name}", file_text="x" * 1024)
    assert run(tool, "view", path="/memories").splitlines()[1:] == [
        "5.0K\t/memories",
        "1.0K\t/memories/a.txt",
        "2.0K\t/memories/b",
        "1.0K\t/memories/b/c.txt",
        "1.0K\t/memories/b/d",
    ]
    assert "/memories/b/d/e.txt" in run(tool, "view", path="/memories/b")


def test_files_and_folders_are_renamed_and_deleted(tool: MemoryTool, memory: Memory) -> None:
    run(tool, "create", path="/memories/a/one", file_text="1")
    run(tool, "create", path="/memories/a/two", file_text="2")
    told = run(tool, "rename", old_path="/memories/a", new_path="/memories/b")
    assert told == "Successfully renamed /memories/a to /memories/b"
    assert sorted(entry.source for entry in memory.entries()) == [
        "/memories/b/one",
        "/memories/b/two",
    ]
    assert run(tool, "delete", path="/memories/b/one") == "Successfully deleted /memories/b/one"
    assert run(tool, "delete", path="/memories/b") == "Successfully deleted /memories/b"
    assert list(memory.entries()) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"command": "view", "path": "/memories/none"}, "does not exist"),
        ({"command": "create", "path": "/memories/a", "file_text": "x"}, "already exists"),
        ({"command": "create", "path": "/memories/b", "file_text": " "}, "would be empty"),
        ({"command": "create", "path": "/memories/b", "file_text": "x" * 40_000}, "split it"),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "no"}, "did not appear"),
        (
            {"command": "str_replace", "path": "/memories/a", "old_str": "tea", "new_str": "x"},
            "in lines: 1, 3",
        ),
        (
            {"command": "insert", "path": "/memories/a", "insert_line": 9, "insert_text": "x"},
            r"\[0, 3\]",
        ),
        ({"command": "delete", "path": "/memories"}, "cannot be deleted"),
        ({"command": "delete", "path": "/memories/none"}, "does not exist"),
        (
            {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/a"},
            "already exists",
        ),
        ({"command": "view", "path": "/etc/passwd"}, "not under /memories"),
        ({"command": "view", "path": "/memories/../etc"}, "not a plain path"),
        ({"command": "view", "path": "/memories/%2e%2e/x"}, "does not exist"),
        ({"command": "erase"}, "there are view, create"),
        ({"command": "view"}, "path"),
    ],
)
def test_what_cannot_be_done_is_told_to_the_model_and_changes_nothing(
    call: dict[str, Any], message: str, tool: MemoryTool, memory: Memory
) -> None:
    run(tool, "create", path="/memories/a", file_text="tea\nmilk\ntea")
    with pytest.raises((InputError, UnknownName), match=message):
        tool.run(call)
    block = tool.result("toolu_1", call)
    assert (block["tool_use_id"], block["is_error"]) == ("toolu_1", True)
    assert block["content"].startswith("Error: ")
    assert [entry.text for entry in memory.entries()] == ["tea\nmilk\ntea"]


@pytest.mark.parametrize(
    "call",
    [
        {"command": "view", "path": None},
        {"command": "view", "path": "/memories/a", "view_range": [1]},
        {"command": "view", "path": "/memories/a", "view_range": ["1", "2"]},
        {"command": "view", "path": "/memories/a", "view_range": {}},
        {"command": "str_replace", "path": "/memories/a", "old_str": None, "new_str": "b"},
        {"command": "str_replace", "path": "/memories/a", "old_str": "one", "new_str": None},
        {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": None},
        {"command": "insert", "path": "/memories/a", "insert_line": "0", "insert_text": "b"},
        {"command": "insert", "path": "/memories/a", "insert_line": True, "insert_text": "b"},
        {"command": "create", "path": "/memories/b", "file_text": ["b"]},
        {"command": "rename", "old_path": "/memories/a", "new_path": 7},
    ],
)
def test_what_a_model_gives_in_another_form_is_told_to_it(
    tool: MemoryTool, memory: Memory, call: dict[str, Any]
) -> None:
    run(tool, "create", path="/memories/a", file_text="one")
    block = tool.result("call-1", call)
    assert block["is_error"]
    assert "; give" in block["content"]
    assert [entry.text for entry in memory.entries()] == ["one"]


def test_a_result_is_the_block_that_goes_back(tool: MemoryTool) -> None:
    assert TOOL == {"type": "memory_20250818", "name": "memory"}
    call = {"command": "create", "path": "/memories/a", "file_text": "x"}
    assert tool.result("toolu_1", call) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "File created successfully at: /memories/a",
    }


@given(
    edits=st.lists(
        st.tuples(st.integers(0, 4), st.text(st.sampled_from("ab \n"), max_size=4)), max_size=6
    )
)
def test_inserting_lines_is_what_a_list_of_lines_does(
    edits: list[tuple[int, str]], open_memory: Open, tmp_path: Any
) -> None:
    tool = MemoryTool(open_memory(tmp_path / "edits.db"))
    if tool._file("/memories/f") is not None:
        run(tool, "delete", path="/memories/f")
    run(tool, "create", path="/memories/f", file_text="start")
    lines = ["start"]
    for line, text in edits:
        if line <= len(lines):
            run(tool, "insert", path="/memories/f", insert_line=line, insert_text=text)
            lines[line:line] = text.removesuffix("\n").split("\n")
    shown = run(tool, "view", path="/memories/f").splitlines()[1:]
    assert shown == [f"{number:6}\t{text}" for number, text in enumerate(lines, start=1)]
