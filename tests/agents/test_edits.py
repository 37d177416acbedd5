"""Edits of settings files: put in and taken out, with every other byte as it was."""

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
LAYOUTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])
EDITS = (
    SettingsEdit(("servers", "ours"), {"command": "t", "args": ["mcp"]}),
    SettingsEdit(("hooks", "Start"), {"hooks": [{"command": "t hook start"}]}, "first", "t hook s"),
    SettingsEdit(("hooks", "Stop"), {"hooks": [{"command": "t hook end"}]}, "first", "t hook e"),
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
COMMENTS = st.sampled_from(["", "// mine\n", "/* a, { */ ", "\n\n"])

ZED = """// Zed settings
{
  // The theme
  "theme": "One Dark", // not the "light" one
  "servers": {
    "other": { "command": "x", "args": [] }, /* kept */
  },
  "vim_mode": true, // trailing comma below
}
"""
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


@given(FILES, LAYOUTS, COMMENTS, COMMENTS)
def test_an_edit_is_put_in_and_taken_out_of_a_file_in_any_layout(
    value: dict[str, Any], layout: Any, before: str, after: str
) -> None:
    text = before + json.dumps(value, indent=layout) + "\n" + after
    changed = put_in(text, "json", EDITS)
    assert read(changed, "json")["servers"]["ours"] == EDITS[0].value
    assert put_in(changed, "json", EDITS) == changed
    rest = take_out(changed, "json", EDITS)
    assert read(rest, "json") == without_empty(value)
    assert rest.startswith(before)
    assert rest.endswith(after)


@given(FILES, LAYOUTS, LAYOUTS)
def test_it_is_taken_out_of_a_file_that_was_written_again(
    value: dict[str, Any], layout: Any, other: Any
) -> None:
    changed = put_in(json.dumps(value, indent=layout), "json", EDITS)
    again = json.dumps({"first": 1} | read(changed, "json"), indent=other)
    assert read(take_out(again, "json", EDITS), "json") == without_empty({"first": 1} | value)


@given(FILES, LAYOUTS)
def test_containers_that_others_use_since_stay(value: dict[str, Any], layout: Any) -> None:
    changed = put_in(json.dumps(value, indent=layout), "json", EDITS)
    theirs = SettingsEdit(("hooks", "Stop"), {"new": 1}, "first", "new")
    rest = read(take_out(put_in(changed, "json", [theirs]), "json", EDITS), "json")
    assert rest["hooks"]["Stop"] == [{"new": 1}]
    assert rest == without_empty(value | {"hooks": rest["hooks"]})


@pytest.mark.parametrize(("form", "text"), [("json", ZED), ("toml", CODEX)])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments_and_every_other_byte_stay(form: Form, text: str, end: str) -> None:
    before = text.replace("\n", end)
    edit = EDITS[0] if form == "json" else TABLE
    changed = put_in(before, form, [edit])
    lines = changed.splitlines(keepends=True)
    assert [line for line in before.splitlines(keepends=True) if line not in lines] == []
    assert take_out(changed, form, [edit]).rstrip() == before.rstrip()


def test_the_layout_of_the_file_is_followed() -> None:
    cases = [
        ("", '{\n  "ours": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{\n  "ours": {\n    "b": 1\n  }\n}'),
        ("{\n}\n", '{\n  "ours": {\n    "b": 1\n  }\n}\n'),
        ('{"a": 1}', '{"ours": {"b": 1}, "a": 1}'),
        ('{\r\n\t"a": 1\r\n}', '{\r\n\t"ours": {\r\n\t\t"b": 1\r\n\t},\r\n\t"a": 1\r\n}'),
        ("{\n  // nothing yet\n}", '{\n  "ours": {\n    "b": 1\n  }\n  // nothing yet\n}'),
        ('{ // mine\n  "a": 1\n}', '{ // mine\n  "ours": {\n    "b": 1\n  },\n  "a": 1\n}'),
    ]
    for before, after in cases:
        assert put_in(before, "json", [SettingsEdit(("ours", "b"), 1)]) == after


def test_an_item_is_put_before_those_of_others() -> None:
    text = '{\n  "hooks": {\n    "Stop": [\n      {"theirs": 1}\n    ]\n  }\n}\n'
    edit = SettingsEdit(("hooks", "Stop"), {"ours": 1}, "first", "ours")
    changed = put_in(text, "json", [edit])
    assert read(changed, "json")["hooks"]["Stop"] == [{"ours": 1}, {"theirs": 1}]
    assert take_out(changed, "json", [edit]) == text


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('{"a": 1, /* x, y */ "b": 2}', '{"a": 1 /* x, y */}'),
        ('{"b": 2, // x\n "a": 1,}', '{ // x\n "a": 1,}'),
        ('{"b": 2,}', "{}"),
        ('{"a": [1,], "b": 2, }', '{"a": [1,], }'),
    ],
)
def test_a_member_is_taken_out_with_one_comma(text: str, rest: str) -> None:
    assert take_out(text, "json", [SettingsEdit(("b",), 2)]) == rest


def test_a_broken_text_is_refused_with_its_line() -> None:
    cases: list[tuple[Form, str, str]] = [
        ("json", '{\n  "a": 1\n  "b": 2\n}', "line 3: "),
        ("json", '{"a" 1}', "line 1: "),
        ("json", '{"a": [1,\n  2', "line 2: "),
        ("json", "{a: 1}", "line 1: "),
        ("json", '{"a": 1} x', "line 1: "),
        ("json", '{"a": 1, "a": 2}', "twice, one of a"),
        ("json", '{"a": "x\ny"}', "line 1: "),
        ("json", "[" * 100_000, "recursion"),
        ("toml", "a = 1\nb = \n", "line 2"),
    ]
    for form, text, said in cases:
        with pytest.raises(InputError, match=said):
            read(text, form)


@pytest.mark.parametrize(
    ("text", "edit", "said"),
    [
        ('{"hooks": []}', EDITS[2], "'hooks' must be an object"),
        ('{"hooks": {"Stop": 3}}', EDITS[2], r"'hooks\.Stop' must be a list"),
        ("[]", EDITS[2], "the whole file must be an object"),
    ],
)
def test_a_place_that_holds_something_else_is_refused(
    text: str, edit: SettingsEdit, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        put_in(text, "json", [edit])


@pytest.mark.parametrize("text", ["mcp_servers = {}\n", 'mcp_servers = "x"\n'])
def test_a_table_that_would_not_be_read_is_not_written(text: str) -> None:
    with pytest.raises(InputError, match="mcp_servers"):
        put_in(text, "toml", [TABLE])


def test_a_table_is_taken_out_alone() -> None:
    more = "\n[tui]\ntheme = 1\n"
    changed = put_in(CODEX, "toml", [TABLE])
    rest = take_out(changed + more, "toml", [TABLE])
    assert read(rest, "toml") == read(CODEX + more, "toml")
    assert "# kept" in rest


@pytest.mark.parametrize("below", ["# about the next\n[tui]\nx = 1\n", "# mine\n", "#\n\n# mine"])
def test_comments_below_a_table_stay(below: str) -> None:
    text = put_in(CODEX, "toml", [TABLE]) + "\n" + below
    assert take_out(text, "toml", [TABLE]) == f"{CODEX}\n{below}"


@pytest.mark.parametrize("comment", ["// mine", "/* mine */"])
def test_a_container_with_a_comment_stays(comment: str) -> None:
    text = '{\n  "servers": { ' + comment + "\n  }\n}\n"
    assert take_out(put_in(text, "json", EDITS[:1]), "json", EDITS[:1]) == text


def test_a_hook_that_was_put_beside_ours_stays() -> None:
    theirs = {"command": "say done"}
    value = {"hooks": {"Start": [{"hooks": [theirs, *EDITS[1].value["hooks"]]}]}}
    rest = {"hooks": {"Start": [{"hooks": [theirs]}]}}
    assert read(take_out(json.dumps(value), "json", EDITS), "json") == rest
    renewed = read(put_in(json.dumps(value), "json", EDITS[1:2]), "json")
    assert renewed["hooks"]["Start"] == [EDITS[1].value, {"hooks": [theirs]}]


def test_a_table_without_a_header_is_left_for_its_user() -> None:
    with pytest.raises(InputError, match=r"is not a \[table\] of its own"):
        without = [SettingsEdit(TABLE.path, "x")]
        take_out("[mcp_servers]\ntreering = 'x'\nother = 1\n", "toml", without)


def test_earlier_values_are_replaced() -> None:
    text = '{"a": 1, "hooks": {"Start": [{"command": "t hook start --old"}, {"theirs": 1}]}}'
    value = read(put_in(text, "json", EDITS), "json")
    assert value["hooks"]["Start"] == [EDITS[1].value, {"theirs": 1}]
    assert put_in(json.dumps(value), "json", EDITS) == json.dumps(value)
