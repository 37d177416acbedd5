"""Edits of settings files: put in and taken out, with everything else as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.agents.edits import Form, SettingsEdit, put_in, read, take_out
from treering.errors import InputError

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3)
    ),
    max_leaves=8,
)
EDITS = (
    SettingsEdit(("servers", "ours"), {"command": "t", "args": ["mcp"]}),
    SettingsEdit(("hooks", "Start"), {"hooks": [{"command": "t hook start"}]}, "t hook s"),
    SettingsEdit(("hooks", "Stop"), {"hooks": [{"command": "t hook end"}]}, "t hook e"),
)
ITEMS = st.lists(st.fixed_dictionaries({"theirs": VALUES}), max_size=2)
FILES = st.fixed_dictionaries(
    {},
    optional={
        "servers": st.dictionaries(st.sampled_from(["a", "b"]), VALUES),
        "hooks": st.fixed_dictionaries({}, optional={"Start": ITEMS, "Other": ITEMS}),
        "version": st.integers(),
        "theme": VALUES,
    },
)
CODEX = """# mine
model = "o5" # the good one

[mcp_servers.other] # kept
command = "x"

[projects."/home/me"]
trust_level = "trusted"
"""
TABLE = SettingsEdit(
    ("mcp_servers", "treering"),
    {"command": r"C:\Programs\treering.exe", "args": ["mcp", "--memory", "/home/ä b/🌳.db"]},
)


def without_empty(value: dict[str, Any]) -> dict[str, Any]:
    """The value of a file without what taking out removes: empty containers in our places."""
    hooks = value.get("hooks", {})
    hooks = {name: items for name, items in hooks.items() if items or name != "Start"}
    rest = value | {"hooks": hooks}
    return {key: part for key, part in rest.items() if part or key not in ("servers", "hooks")}


@given(FILES, st.sampled_from([None, 2, 4, "\t"]), st.booleans(), st.sampled_from(["", "\n"]))
def test_an_edit_is_put_in_and_taken_out_of_a_file_in_its_layout(
    value: dict[str, Any], layout: Any, is_ascii: bool, end: str
) -> None:
    text = json.dumps(value, indent=layout, ensure_ascii=is_ascii) + end
    changed = put_in(text, "json", EDITS)
    assert read(changed, "json")["servers"]["ours"] == EDITS[0].value
    assert put_in(changed, "json", EDITS) == changed
    rest = take_out(changed, "json", EDITS)
    assert read(rest, "json") == without_empty(value)
    if value == without_empty(value) and value:
        assert rest == text


@given(FILES)
def test_it_is_taken_out_of_a_file_that_was_written_again(value: dict[str, Any]) -> None:
    again = json.dumps({"first": 1} | read(put_in(json.dumps(value), "json", EDITS), "json"))
    assert read(take_out(again, "json", EDITS), "json") == without_empty({"first": 1} | value)
    theirs = SettingsEdit(("hooks", "Stop"), {"new": 1}, "new")
    rest = read(take_out(put_in(again, "json", [theirs]), "json", EDITS), "json")
    assert rest["hooks"]["Stop"] == [{"new": 1}], "a container that others use since stays"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments_and_every_other_byte_of_toml_stay(end: str) -> None:
    before = CODEX.replace("\n", end)
    changed = put_in(before, "toml", [TABLE])
    lines = changed.splitlines(keepends=True)
    assert [line for line in before.splitlines(keepends=True) if line not in lines] == []
    assert take_out(changed, "toml", [TABLE]).rstrip() == before.rstrip()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "ours": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{\n  "ours": {\n    "b": 1\n  }\n}'),
        ('\ufeff{"a": [1,],}', '{"a": [1], "ours": {"b": 1}}'),
        (
            '{\r\n\t"a": "\\ud800"\r\n}',
            '{\r\n\t"a": "\\ud800",\r\n\t"ours": {\r\n\t\t"b": 1\r\n\t}\r\n}',
        ),
        ('{"ä": "\\uD800"}', '{"\\u00e4": "\\ud800", "ours": {"b": 1}}'),
    ],
)
def test_the_layout_of_the_file_is_followed(before: str, after: str) -> None:
    assert put_in(before, "json", [SettingsEdit(("ours", "b"), 1)]) == after


def test_hooks_of_others_stay_behind_and_beside_ours() -> None:
    theirs, ours = {"command": "say done"}, EDITS[1].value["hooks"]
    text = json.dumps({"hooks": {"Start": [{"a": 1}, {"hooks": [theirs, *ours]}]}})
    rest = [{"a": 1}, {"hooks": [theirs]}]
    assert read(take_out(text, "json", EDITS), "json")["hooks"]["Start"] == rest
    renewed = put_in(text, "json", EDITS[1:2])
    assert read(renewed, "json")["hooks"]["Start"] == [EDITS[1].value, *rest]


@pytest.mark.parametrize("comment", ["// mine", "/* mine */"])
def test_a_file_with_comments_is_refused_with_the_lines_for_its_user(comment: str) -> None:
    text = f'{{\n  "url": "http://x", {comment}\n  "theme": 1,\n}}\n'
    with pytest.raises(InputError) as raised:
        put_in(text, "json", EDITS)
    _, _, lines = str(raised.value).partition("by hand:\n")
    pasted = text.replace("{", lines.rstrip().removesuffix("}") + ",", 1)
    assert put_in(pasted, "json", EDITS) == pasted, "these are all that is needed"
    assert take_out(text, "json", EDITS) == text
    with pytest.raises(InputError, match=r"servers\.ours, hooks\.Start, hooks\.Stop by hand"):
        take_out(pasted, "json", EDITS)


def test_a_broken_text_is_refused_with_its_line() -> None:
    cases: list[tuple[Form, str, str]] = [
        ("json", '{\n  "a": 1\n  "b": 2\n}', "line 3: "),
        ("json", '{"a": [1,\n  2', "line 2: "),
        ("json", '{"a": 1} x', "line 1: "),
        ("json", '{"a": 1, "a": 2}', "twice, one of a"),
        ("json", "[" * 100_000, "recursion"),
        ("toml", "a = 1\nb = \n", "line 2"),
    ]
    for form, text, said in cases:
        with pytest.raises(InputError, match=said):
            read(text, form)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"hooks": []}', "'hooks' must be an object"),
        ('{"hooks": {"Stop": 3}}', r"'hooks\.Stop' must be a list"),
        ("[]", "the whole file must be an object"),
        ('{"a": 1e400}', "a number cannot be written"),
    ],
)
def test_a_file_that_cannot_hold_an_edit_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        put_in(text, "json", [EDITS[2]])


@pytest.mark.parametrize("text", ["mcp_servers = {}\n", 'mcp_servers = "x"\n'])
def test_a_table_that_would_not_be_read_is_not_written(text: str) -> None:
    with pytest.raises(InputError, match="mcp_servers"):
        put_in(text, "toml", [TABLE])


def test_a_table_is_taken_out_with_those_below_it_alone() -> None:
    more = "\n[tui]\ntheme = 1\n"
    below = "\n[mcp_servers.'treering'.tools]\nrecall = 'approve'\n"
    rest = take_out(put_in(CODEX, "toml", [TABLE]) + below + more, "toml", [TABLE])
    assert read(rest, "toml") == read(CODEX + more, "toml")
    assert "# kept" in rest


@pytest.mark.parametrize("below", ["# about the next\n[tui]\nx = 1\n", "# mine\n", "#\n\n# mine"])
def test_comments_below_a_table_stay(below: str) -> None:
    text = put_in(CODEX, "toml", [TABLE]) + "\n" + below
    assert take_out(text, "toml", [TABLE]) == f"{CODEX}\n{below}"


def test_a_table_without_a_header_is_left_for_its_user() -> None:
    with pytest.raises(InputError, match=r"is not a \[table\] of its own"):
        without = [SettingsEdit(TABLE.path, "x")]
        take_out("[mcp_servers]\ntreering = 'x'\nother = 1\n", "toml", without)
