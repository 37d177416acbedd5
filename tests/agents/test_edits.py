from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.test_jsonc import LAYOUTS, VALUES
from treering.agents import jsonc
from treering.agents.edits import SettingsEdit, put_in, take_out
from treering.errors import InputError

EDITS = (
    SettingsEdit(("servers", "ours"), {"command": "t", "args": ["mcp"]}),
    SettingsEdit(("version",), 1, "unless"),
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


@given(FILES, LAYOUTS, COMMENTS, COMMENTS)
def test_what_was_put_in_comes_out_to_the_byte(
    value: dict[str, Any], layout: Any, before: str, after: str
) -> None:
    text = before + json.dumps(value, indent=layout) + "\n" + after
    changed, done = put_in(text, "json", EDITS)
    assert jsonc.read(changed).value["servers"]["ours"] == EDITS[0].value
    assert take_out(changed, "json", done) == text


@given(FILES, LAYOUTS, LAYOUTS)
def test_it_comes_out_of_a_file_that_was_written_anew(
    value: dict[str, Any], layout: Any, other: Any
) -> None:
    changed, done = put_in(json.dumps(value, indent=layout), "json", EDITS)
    anew = json.dumps({"first": 1} | jsonc.read(changed).value, indent=other)
    assert jsonc.read(take_out(anew, "json", done)).value == {"first": 1} | value


@given(FILES, LAYOUTS)
def test_containers_that_others_use_since_stay(value: dict[str, Any], layout: Any) -> None:
    changed, done = put_in(json.dumps(value, indent=layout), "json", EDITS)
    shared = jsonc.put_first(changed, ("hooks", "Stop"), {"new": 1})
    rest = jsonc.read(take_out(shared, "json", done)).value
    assert rest["hooks"]["Stop"] == [{"new": 1}]
    assert {key: rest[key] for key in value.keys() - {"hooks"}} == {
        key: value[key] for key in value.keys() - {"hooks"}
    }


def test_a_record_gives_the_edit_again() -> None:
    _, done = put_in("", "json", EDITS)
    records = json.loads(json.dumps([edit.record() for edit in done]))
    assert [SettingsEdit.from_record(record) for record in records] == done


def test_an_item_that_was_changed_by_hand_is_named() -> None:
    changed, done = put_in("", "json", EDITS)
    with pytest.raises(InputError, match=r"'hooks\.Start' was changed by hand"):
        take_out(changed.replace("t hook start", "t hook start --loud"), "json", done)
