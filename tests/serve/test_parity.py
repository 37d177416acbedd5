"""What can be asked for over HTTP is what ``Memory`` takes: nothing is missing, nothing made up."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest

from treering.code.memory import CodeMemory
from treering.ingest.where import Where
from treering.memo.view import MemoView
from treering.memory import Memory
from treering.serve.rest import chat, code, entries, memos, tree, wire
from treering.tree.view import TreeView

ONLY_HERE = {"progress", "count_tokens", "self"}
"""Callbacks cannot be sent."""


@pytest.mark.parametrize(
    ("body", "method", "differing"),
    [
        (wire.Search, Memory.search, set()),
        (wire.SearchMany, Memory.search_many, set()),
        (wire.WantedContext, Memory.context, set()),
        (wire.WantedBrief, Memory.brief, set()),
        (wire.Question, Memory.ask, set()),
        (wire.NewText, Memory.add, {"text", "content"}),
        (wire.NewMessages, Memory.add, {"messages", "content"}),
        (entries.Listed, Memory.page, set()),
        (entries.Doomed, Memory.forget, {"ids", "entry_ids"}),
        (chat.Said, Memory.chat, {"stream"}),
        (tree.TreeSearch, TreeView.search, set()),
        (memos.Which, MemoView.list, set()),
        (memos.MemoSearch, MemoView.search, set()),
        (memos.Chosen, MemoView.choose, set()),
        (memos.Change, MemoView.edit, {"memo_id"}),
        (memos.Merge, MemoView.merge, {"ids", "memo_ids"}),
        (memos.Split, MemoView.split, {"memo_id"}),
        (code.CodeSearch, CodeMemory.search, set()),
        (code.CodeMap, CodeMemory.map, set()),
        (code.CodeTree, CodeMemory.index, set()),
        (code.Worked, CodeMemory.record, set()),
        (code.Wanted, CodeMemory.generate, set()),
        (code.Asked, CodeMemory.about, set()),
        (code.Forsaken, CodeMemory.forget_rounds, set()),
        (code.Noted, CodeMemory.note, set()),
        (code.Checked, CodeMemory.check, set()),
    ],
)
def test_a_body_has_the_parameters_of_its_method_with_their_defaults(
    body: type[Any], method: Callable[..., Any], differing: set[str]
) -> None:
    taken = dict(signature(method).parameters)
    filters = set(Where.__annotations__) if taken.pop("where", None) else set()
    given = set(body.model_fields)
    assert given ^ (set(taken) | filters) <= differing | ONLY_HERE
    for name in given & set(taken) - {"root"}:  # the current folder is not the client's
        default = taken[name].default
        field = body.model_fields[name]
        assert field.is_required() == (default is taken[name].empty), name
        if not field.is_required():
            assert field.default == default, name
