"""A memory as a session of the OpenAI Agents SDK: an agent's history, in the memory's file."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from treering.adapters import storable_value
from treering.errors import MissingExtra
from treering.memory import Memory
from treering.records import Entry

try:
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ModuleNotFoundError as missing:
    raise MissingExtra.of(missing.name or "openai-agents", "openai-agents") from missing

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

PLAIN: Final = frozenset({"role", "content"})
"""A message with only these keys is stored as its text; any other item as JSON besides."""


class TreeringSession(SessionABC):
    """An agent's history as entries of the source ``session/ID``, found by later searches.

    Items come back exactly as they were added, except for NUL and lone surrogates, which cannot be
    stored. ``clear_session`` and ``pop_item`` forget for good.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or {})
        self._memory = memory
        self._source = f"session/{quote(session_id, safe='')}"  # a name that no other begins with

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, in the order they were added; all of them without a limit."""
        most = resolve_session_limit(limit, self.session_settings)
        items = await asyncio.to_thread(lambda: [item for item, _ in self._items()])
        return items if most is None else items[max(len(items) - most, 0) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items; durable on return."""
        messages = [_message(storable_value(item)) for item in items]
        if messages:
            await asyncio.to_thread(
                self._memory.add, messages, source=self._source, session=self.session_id
            )

    async def pop_item(self) -> TResponseInputItem | None:
        """Forget the latest item and return it; None without one."""
        held = await asyncio.to_thread(lambda: list(self._items()))
        if not held:
            return None
        item, entries = held[-1]
        await asyncio.to_thread(self._memory.forget, *(entry.id for entry in entries))
        return item

    async def clear_session(self) -> None:
        """Forget all items."""
        held = await asyncio.to_thread(lambda: list(self._memory.entries(source=self._source)))
        if held:
            await asyncio.to_thread(self._memory.forget, *(entry.id for entry in held))

    def _items(self) -> Iterator[tuple[TResponseInputItem, list[Entry]]]:
        """Iterate over the items with their entries: a very long one has several."""
        stored = self._memory.entries(source=self._source)
        for _, group in groupby(stored, key=lambda entry: entry.metadata["number"]):
            entries = list(group)
            yield _item(entries), entries


def _message(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as a message to remember; ``number`` distinguishes it from an equal one."""
    plain = item.keys() == PLAIN and isinstance(item["content"], str) and item["content"].strip()
    text = item["content"] if plain else _text(item)
    return {
        "role": item.get("role") or item.get("type"),
        "content": text,
        "at": datetime.now(UTC),
        "metadata": {"number": secrets.token_hex(8)} | ({} if plain else {"item": item}),
    }


def _text(item: dict[str, Any]) -> str:
    """Return the text of an item that is more than a message: parts, a call, or its output."""
    content = item.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts)
    spoken = [text for text in texts if isinstance(text, str)]
    if "arguments" in item:
        spoken.append(f"{item.get('name', '')}({item['arguments']})")
    if "output" in item:
        output = item["output"]
        spoken.append(output if isinstance(output, str) else json.dumps(output, ensure_ascii=False))
    text = "\n".join(spoken)
    return text if text.strip() else f"[{item.get('type', 'message')}]"


def _item(entries: Sequence[Entry]) -> TResponseInputItem:
    original = entries[0].metadata.get("item")
    text = "".join(entry.text for entry in entries)
    return cast("TResponseInputItem", original or {"role": entries[0].role, "content": text})
