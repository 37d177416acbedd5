"""What can be asked for over HTTP is what ``Memory`` takes: nothing is missing, nothing made up."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import pytest

from treering.ingest.where import Where
from treering.memory import Memory
from treering.serve.rest import chat, code, entries, memos, tree, upkeep, wire
from treering.views.choices import Choices
from treering.views.code.memory import CodeMemory
from treering.views.memos.view import MemoView
from treering.views.tree.view import TreeView

ONLY_HERE = {"progress", "count_tokens", "self"}
"""Callbacks cannot be sent."""


@pytest.mark.parametrize(
    ("body", "method", "differing"),
    [
        (wire.SearchRequest, Memory.search, set()),
        (wire.SearchManyRequest, Memory.search_many, set()),
        (wire.ContextRequest, Memory.context, set()),
        (wire.BriefRequest, Memory.brief, set()),
        (wire.AskRequest, Memory.ask, set()),
        (wire.AddTextRequest, Memory.add, {"text", "content", "sync", "force"}),
        (wire.AddMessagesRequest, Memory.add, {"messages", "content", "sync", "force"}),
        (entries.EntryListRequest, Memory.page, set()),
        (entries.ForgetRequest, Memory.forget, {"ids", "entry_ids"}),
        (entries.PinRequest, Memory.pin, {"entry_id"}),
        (entries.SupersedeRequest, Memory.supersede, set()),
        (upkeep.RebuildRequest, Memory.rebuild, set()),
        (upkeep.ConfigureRequest, Memory.configure, set()),
        (chat.ChatRequest, Memory.chat, {"stream"}),
        (chat.ChatPromptRequest, Memory.chat_prompt, set()),
        (tree.TreeSearchRequest, TreeView.search, set()),
        (tree.TreeDrawRequest, TreeView.draw, set()),
        (tree.TreeReplantRequest, TreeView.replant, set()),
        (tree.TreeSettleRequest, TreeView.settle, set()),
        (memos.MemoListRequest, MemoView.list, set()),
        (memos.MemoSearchRequest, MemoView.search, set()),
        (memos.MemoChoiceRequest, MemoView.choose, set()),
        (memos.MemoEditRequest, MemoView.edit, {"memo_id"}),
        (memos.MemoPinRequest, MemoView.pin, {"memo_id"}),
        (memos.MemoSettleRequest, MemoView.settle, set()),
        (memos.MemoMergeRequest, MemoView.merge, {"ids", "memo_ids"}),
        (memos.MemoSplitRequest, MemoView.split, {"memo_id"}),
        (code.CodeSearchRequest, CodeMemory.search, set()),
        (code.CodeMapRequest, CodeMemory.map, set()),
        (code.CodeIndexRequest, CodeMemory.index, set()),
        (code.CodeRecordRequest, CodeMemory.record, set()),
        (code.CodeGenerateRequest, CodeMemory.generate, set()),
        (code.CodeAboutRequest, CodeMemory.about, set()),
        (code.ForgetRoundsRequest, CodeMemory.forget_rounds, set()),
        (code.CodeNoteRequest, CodeMemory.note, set()),
        (code.CodeCheckRequest, CodeMemory.check, set()),
    ],
)
def test_a_body_has_the_parameters_of_its_method_with_their_defaults(
    body: type[Any], method: Callable[..., Any], differing: set[str]
) -> None:
    taken = dict(signature(method).parameters)
    filters = set(Where.__annotations__) if taken.pop("where", None) else set()
    filters |= set(Choices.__annotations__) if taken.pop("choices", None) else set()
    given = set(body.model_fields)
    assert given ^ (set(taken) | filters) <= differing | ONLY_HERE
    given -= {name for name in taken if taken[name].kind is Parameter.VAR_POSITIONAL}
    for name in given & set(taken) - {"root"}:  # the current folder is not the client's
        default = taken[name].default
        field = body.model_fields[name]
        assert field.is_required() == (default is taken[name].empty), name
        if not field.is_required():
            assert field.default == default, name
