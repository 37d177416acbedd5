"""A memory as a LangGraph store: values of agents under a namespace, searched by meaning."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final
from urllib.parse import quote, unquote

from treering.adapters import storable_value
from treering.errors import InputError, MissingExtra
from treering.memory import Memory
from treering.records import Entry, Hit

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )
    from langgraph.store.base.embed import get_text_at_path
except ModuleNotFoundError as missing:
    raise MissingExtra.of(missing.name or "langgraph-checkpoint", "langgraph") from missing

ROOT: Final = "langgraph/"
"""All sources begin with this: a folder of their own among the other sources of the memory."""

WIDEN: Final = 4
"""If a filter or long values leave too few hits, this many times as many are searched for."""

_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le,
}  # fmt: skip


class TreeringStore(BaseStore):
    """Keeps each value as a source of its own, ``langgraph/NAMESPACE/KEY``; its text is searched.

    A value that is put again replaces the old one, which is forgotten for good. Values put with
    ``index=False`` are found by key and filter, not by what they say.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations one after the other. Raise InputError for an unknown operator."""
        return [self._do(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As ``batch``, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        if isinstance(op, PutOp):
            self._put(op)
            return None
        if isinstance(op, GetOp):
            held = self._entries(op.namespace, op.key)
            return Item(**_fields(held[-1])) if held else None
        if isinstance(op, SearchOp):
            return [*(self._search(op) if op.query else self._list_items(op))]
        return self._namespaces(op)

    def _put(self, op: PutOp) -> None:
        """Add the new value, then forget the old: after a crash in between, the newer one holds."""
        old = self._entries(op.namespace, op.key)
        if op.value is not None:
            now = datetime.now(UTC).isoformat()
            created = old[0].metadata["created"] if old else now
            value = storable_value(op.value)
            metadata = {"value": value, "created": created, "updated": now}
            source = _folder(op.namespace) + quote(op.key, safe="")
            self._memory.add(_text(op, value), source=source, metadata=metadata)
        if old:
            self._memory.forget(*(entry.id for entry in old))

    def _entries(self, namespace: tuple[str, ...], key: str) -> list[Entry]:
        return list(self._memory.entries(source=_folder(namespace) + quote(key, safe="")))

    def _list_items(self, op: SearchOp) -> Iterator[SearchItem]:
        entries = self._memory.entries(source=_folder(op.namespace_prefix))
        latest = {entry.source: entry for entry in entries}
        meeting = (entry for entry in latest.values() if _meets(entry, op.filter))
        return (
            SearchItem(**_fields(entry))
            for entry in islice(meeting, op.offset, op.offset + op.limit)
        )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        k = enough = op.offset + op.limit
        while True:
            folder = _folder(op.namespace_prefix)
            hits = self._memory.search(op.query or "", k=k, all=True, source=folder)
            best = {hit.source: hit for hit in reversed(hits)}
            meeting = [hit for hit in reversed(best.values()) if _meets(hit, op.filter)]
            if len(meeting) >= enough or len(hits) < k:
                meeting.sort(key=lambda hit: -hit.score)
                page = meeting[op.offset : enough]
                return [SearchItem(**_fields(hit), score=hit.score) for hit in page]
            k *= WIDEN

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        namespaces = {_path(entry.source)[:-1] for entry in self._memory.entries(source=ROOT)}
        conditions = op.match_conditions or ()
        matching = (
            namespace
            for namespace in namespaces
            if all(_matches(namespace, condition) for condition in conditions)
        )
        cut = sorted({namespace[: op.max_depth] for namespace in matching})
        return cut[op.offset : op.offset + op.limit]


def _folder(namespace: tuple[str, ...]) -> str:
    """Return the source of a namespace, each part quoted so that none can name another one."""
    return ROOT + "".join(f"{quote(part, safe='')}/" for part in namespace)


def _path(source: str) -> tuple[str, ...]:
    """Return the parts of a namespace, then the key."""
    return tuple(unquote(part) for part in source.removeprefix(ROOT).split("/"))


def _fields(item: Entry | Hit) -> dict[str, Any]:
    """Return the fields of a LangGraph item."""
    *namespace, key = _path(item.source)
    return {
        "namespace": tuple(namespace),
        "key": key,
        "value": item.metadata["value"],
        "created_at": item.metadata["created"],
        "updated_at": item.metadata["updated"],
    }


def _text(op: PutOp, value: Mapping[str, Any]) -> str:
    """Return the text for search: the indexed fields, or all fields, or else the key."""
    if op.index is False:
        texts: list[str] = []
    elif op.index is None:
        texts = list(_lines(value))
    else:
        texts = [text for path in op.index for text in get_text_at_path(value, path)]
    return "\n".join(texts) if any(text.strip() for text in texts) else op.key


def _lines(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _lines(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _lines(inner, name)
    elif value is not None:
        yield f"{name}: {value}"


def _meets(item: Entry | Hit, conditions: Mapping[str, Any] | None) -> bool:
    value = item.metadata["value"]
    return all(
        _compares(_field(value, key), condition) for key, condition in (conditions or {}).items()
    )


def _field(value: Any, key: str) -> Any:
    """Return the field of that name, else of a path with dots, such as ``user.name``."""
    if not isinstance(value, Mapping) or key in value:
        return value[key] if isinstance(value, Mapping) else None
    first, dot, rest = key.partition(".")
    return _field(value.get(first), rest) if dot else None


def _compares(value: Any, condition: Any) -> bool:
    """Compare by equality, or by all of several ``$`` operators."""
    if not (isinstance(condition, Mapping) and any(str(key).startswith("$") for key in condition)):
        return bool(value == condition)
    unknown = condition.keys() - _OPERATORS.keys()
    if unknown:
        raise InputError(f"no operator {', '.join(unknown)}; there are {', '.join(_OPERATORS)}")
    try:
        return all(_OPERATORS[name](value, operand) for name, operand in condition.items())
    except TypeError:  # a text is neither more nor less than a number
        return False


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    size = len(condition.path)
    if size > len(namespace):
        return False
    part = (
        namespace[:size] if condition.match_type == "prefix" else namespace[len(namespace) - size :]
    )
    return all(pattern in ("*", name) for pattern, name in zip(condition.path, part, strict=True))
