"""Slack's workspace export: a folder with ``users.json``, lists of channels, and a folder for each
channel with a file a day.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.documents import below, objects, read_json
from treering.ingest.transcripts.jsonl import name_of, text_of, time_of

LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
SPOKEN = frozenset({"", "bot_message", "me_message", "thread_broadcast", "file_share"})
"""The subtypes of messages that somebody wrote; others say who joined and what was renamed."""

_LINK = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")


class SlackFormat:
    """Exports of a Slack workspace."""

    name = "slack"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """A folder with a list of users and one of channels."""
        del head
        return (path / "users.json").is_file() and any((path / name).is_file() for name in LISTS)

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of all channels, channel by channel and day by day."""
        names = {
            text_of(user.get("id")): _user_name(user)
            for user in objects(read_json(path / "users.json"))
        }
        for folder in sorted(child for child in path.iterdir() if child.is_dir()):
            for day in sorted(child for child in folder.iterdir() if child.suffix == ".json"):
                for message in objects(read_json(day)):
                    yield _item(message, folder.name, names)


def _user_name(user: Mapping[str, Any]) -> str:
    profile = user.get("profile")
    candidates = (
        below(profile, "display_name"),
        below(profile, "real_name"),
        user.get("real_name"),
        user.get("name"),
    )
    return next(filter(None, map(name_of, candidates)), text_of(user.get("id")))


def _item(message: Mapping[str, Any], channel: str, names: Mapping[str, str]) -> TranscriptItem:
    subtype = text_of(message.get("subtype"))
    if message.get("type") != "message" or subtype not in SPOKEN:
        return Omission(f"notices of the messenger: {subtype or 'event'!r:.60}")
    files = [name_of(file.get("name")) for file in objects(message.get("files"))]
    parts = [_plain(text_of(message.get("text")), names)]
    text = "\n".join(filter(None, [*parts, *(f"[file: {name}]" for name in files if name)]))
    stamp = text_of(message.get("ts"))
    if not text.strip() or not stamp:
        return Omission("messages without text")
    user = text_of(message.get("user"))
    speaker = names.get(user) or name_of(message.get("username")) or name_of(user)
    at = None
    with suppress(ValueError):
        at = time_of(float(stamp))
    thread = text_of(message.get("thread_ts"))
    return TranscriptMessage(
        id=json.dumps([channel, stamp, user]),
        source=f"slack/{channel}",
        text=text,
        speaker=speaker,
        at=at,
        session=f"{channel}:{thread}" if thread else None,
    )


def _plain(text: str, names: Mapping[str, str]) -> str:
    """Slack's markup as a person reads it: names for ids, links by their words and address."""

    def shown(link: re.Match[str]) -> str:
        target, label = link[1], link[2]
        if target.startswith("@"):
            return f"@{names.get(target[1:]) or label or target[1:]}"
        if target.startswith(("#", "!")):
            return f"{target[0].replace('!', '@')}{label or target[1:]}"
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_LINK.sub(shown, text))
