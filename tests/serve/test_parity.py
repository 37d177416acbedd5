"""What can be asked for over HTTP is what ``Memory`` takes: nothing is missing, nothing made up."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, isfunction, signature
from typing import Any

import pytest

from tests.serve.conftest import serving
from treering.client.memory import (
    RemoteCode,
    RemoteFacts,
    RemoteMemory,
    RemoteMemos,
    RemoteTree,
)
from treering.ingest.where import Where
from treering.memory import Memory
from treering.operations import OPERATIONS, Operation
from treering.serve.rest import chat, custom, requests
from treering.views.code.memory import CodeMemory
from treering.views.facts.view import FactView
from treering.views.memos.view import MemoView
from treering.views.tree.view import TreeView

OWNERS = (Memory, TreeView, MemoView, FactView, CodeMemory)
TWINS = (RemoteMemory, RemoteTree, RemoteMemos, RemoteFacts, RemoteCode)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The description of a server."""
    with serving(tmp_path_factory.mktemp("openapi") / "memory.db") as client:
        found: dict[str, Any] = client.get("/v1/openapi.json").json()
        return found


ONLY_HERE = {"progress", "count_tokens", "self"}
"""Callbacks cannot be sent."""


def test_an_operation_has_its_route_and_the_client_calls_it(document: dict[str, Any]) -> None:
    for operation in OPERATIONS:
        answers = document["paths"][f"/v1{operation.path}"][operation.verb.lower()]
        assert answers["description"]
        [twin] = [kind for kind in TWINS if issubclass(kind, owner(operation))]
        route = getattr(vars(twin)[operation.method.__name__], "route", None)
        assert route in ((operation.verb, operation.path), None)  # None: it is written out there


def owner(operation: Operation) -> type[Any]:
    return {kind.__name__: kind for kind in OWNERS}[operation.method.__qualname__.partition(".")[0]]


def test_every_method_is_an_operation_or_is_called_in_another_way() -> None:
    there = {
        f"{kind.__name__}.{name}"
        for kind in OWNERS
        for name, method in vars(kind).items()
        if isfunction(method) and not name.startswith("_")
    }
    assert there - {one.method.__qualname__ for one in OPERATIONS} == {
        *("Memory.close", "Memory.entries", "Memory.chat_stream", "Memory.settle"),
        *("Memory.export", "Memory.import_", "Memory.fit", "Memory.suggest_relations"),
        *("Memory.reembed", "Memory.check", "Memory.space"),
        *("MemoView.recent", "MemoView.settle"),
        *("MemoView.lines", "TreeView.settle"),
        *("CodeMemory.blocks", "CodeMemory.rounds"),
    }


def test_a_body_has_the_parameters_of_its_method_with_their_defaults() -> None:
    cases: list[tuple[type[Any], Callable[..., Any], set[str]]] = [
        (
            requests.AddRequest,
            Memory.add,
            {"text", "messages", "content", "encoding", "sync", "force"},
        ),
        (chat.ChatRequest, Memory.chat, {"stream"}),
        (custom.CodeRecordRequest, CodeMemory.record, set()),
    ]
    for body, method, differing in cases:
        taken = dict(signature(method).parameters)
        filters = set(Where.__annotations__) if taken.pop("where", None) else set()
        given = set(body.model_fields)
        assert given ^ (set(taken) | filters) <= differing | ONLY_HERE
        given -= {name for name in taken if taken[name].kind is Parameter.VAR_POSITIONAL}
        for name in given & set(taken) - {"root"}:  # the current folder is not the client's
            default = taken[name].default
            field = body.model_fields[name]
            assert field.is_required() == (default is taken[name].empty), name
            if not field.is_required():
                assert field.default == default, name
