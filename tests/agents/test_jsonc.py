from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.agents import jsonc
from treering.errors import InputError

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=5).filter(lambda key: key != "ours"), VALUES, max_size=4)
LAYOUTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])

ZED = """// Zed settings
{
  // The theme
  "theme": "One Dark", // not the light one
  "context_servers": {
    "other": { "command": "x", "args": [] }, /* kept */
  },
  "vim_mode": true, // trailing comma below
}
"""


def test_comments_and_trailing_commas_are_read() -> None:
    value = jsonc.read(ZED).value
    assert value["context_servers"] == {"other": {"command": "x", "args": []}}
    assert value["vim_mode"] is True


def test_a_member_goes_in_first_and_every_other_byte_stays() -> None:
    after = jsonc.put(ZED, ("context_servers", "ours"), {"command": "t", "args": ["mcp"]})
    lines = after.splitlines()
    assert [line for line in ZED.splitlines() if line not in lines] == []
    assert jsonc.read(after).value["context_servers"]["ours"] == {"command": "t", "args": ["mcp"]}
    assert after.index('"ours"') < after.index('"other"')
    assert '\n    "ours": {\n      "command": "t",' in after  # indented as its neighbours are


def test_a_comment_beside_an_opening_bracket_stays_beside_it() -> None:
    after = jsonc.put('{ // mine\n  "a": 1\n}\n', ("ours",), 2)
    assert after == '{ // mine\n  "ours": 2,\n  "a": 1\n}\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "ours": {\n    "b": 1\n  }\n}'),
        ("{ }", '{\n  "ours": {\n    "b": 1\n  }\n }'),
        ("{\n}\n", '{\n  "ours": {\n    "b": 1\n  }\n}\n'),
        ('{"a": 1}', '{"ours": {"b": 1}, "a": 1}'),
        ('{\r\n\t"a": 1\r\n}', '{\r\n\t"ours": {\r\n\t\t"b": 1\r\n\t},\r\n\t"a": 1\r\n}'),
        ("{\n  // nothing yet\n}", '{\n  "ours": {\n    "b": 1\n  }\n  // nothing yet\n}'),
    ],
)
def test_the_layout_of_the_file_is_followed(before: str, after: str) -> None:
    assert jsonc.put(before, ("ours", "b"), 1) == after


def test_an_item_goes_before_those_of_others() -> None:
    text = '{\n  "hooks": {\n    "Stop": [\n      {"theirs": 1}\n    ]\n  }\n}\n'
    after = jsonc.put_first(text, ("hooks", "Stop"), {"ours": 1})
    assert jsonc.read(after).value["hooks"]["Stop"] == [{"ours": 1}, {"theirs": 1}]
    assert jsonc.read(jsonc.take_item(after, ("hooks", "Stop"), 0)).value == json.loads(text)


@given(OBJECTS, LAYOUTS, VALUES)
def test_what_is_put_in_and_taken_out_leaves_the_rest(
    before: dict[str, Any], layout: Any, value: Any
) -> None:
    text = json.dumps(before, indent=layout, ensure_ascii=False)
    after = jsonc.put(text, ("ours",), value)
    assert jsonc.read(after).value == {"ours": value, **before}
    assert jsonc.read(jsonc.take(after, ("ours",))).value == before


@given(OBJECTS.filter(bool), LAYOUTS, st.data())
def test_any_member_can_be_taken_out(before: dict[str, Any], layout: Any, data: Any) -> None:
    key = data.draw(st.sampled_from(sorted(before)))
    text = json.dumps(before, indent=layout)
    rest = {name: value for name, value in before.items() if name != key}
    assert jsonc.read(jsonc.take(text, (key,))).value == rest


@given(VALUES, LAYOUTS)
def test_whatever_json_is_is_read_as_json_reads_it(value: Any, layout: Any) -> None:
    text = json.dumps(value, indent=layout)
    assert jsonc.read(text).value == json.loads(text)


def test_members_between_comments_are_taken_out_whole() -> None:
    assert jsonc.take('{"a": 1, /* x, y */ "b": 2}', ("b",)) == '{"a": 1 /* x, y */}'
    assert jsonc.take('{"a": 1, // x\n "b": 2,}', ("a",)) == '{ // x\n "b": 2,}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3: a comma or }"),
        ('{"a" 1}', "line 1: a colon"),
        ('{"a":', "line 1: a value should stand before the end of the file"),
        ('{"a": [1,\n  2', "line 2: a comma or ] should stand before the end of the file"),
        ("{a: 1}", "a key in quotes"),
        ('{"a": tru}', "a value"),
        ('{"a": 1} x', "the end"),
        ("", "a value"),
        ('{"a": [1', "a comma or ]"),
        ('{"a": 1, "a": 2}', "no second 'a'"),
        ('{"a": "x\ny"}', "a text"),
        ("[" * 500, "levels"),
    ],
)
def test_a_broken_text_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("}", r"\}").replace("]", r"\]")):
        jsonc.read(text)


def test_a_path_through_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="'hooks' is an array; it must be an object"):
        jsonc.put('{"hooks": []}', ("hooks", "Stop"), [])
    with pytest.raises(InputError, match="must be an array"):
        jsonc.put_first('{"hooks": {"Stop": 3}}', ("hooks", "Stop"), {})
    with pytest.raises(InputError, match="the whole file is an array"):
        jsonc.put("[]", ("hooks",), {})
