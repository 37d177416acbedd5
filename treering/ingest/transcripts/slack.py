"""Slack's workspace export: a folder with ``users.json``, lists of channels, and a folder for each
channel with a file a day.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping

from treering.ingest.transcripts import values
from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.values import Fields, below, name_of, objects, read_json, text_of

LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
SPOKEN = frozenset({"", "bot_message", "me_message", "thread_broadcast", "file_share"})
"""The subtypes of written messages; others report joins and renames."""

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
        users = objects(read_json(path / "users.json"))
        names = {text_of(user.get("id")): _user_name(user) for user in users}
        for folder in sorted((child for child in path.iterdir() if child.is_dir()), key=str):
            for day in sorted((day for day in folder.iterdir() if day.suffix == ".json"), key=str):
                for message in objects(read_json(day)):
                    yield _item(message, folder.name, names)


def _user_name(user: Fields) -> str:
    shown = (below(user, "profile", key) for key in ("display_name", "real_name"))
    given = (user.get(key) for key in ("real_name", "name", "id"))
    return next(filter(None, map(name_of, (*shown, *given))), "")


def _item(message: Fields, channel: str, names: Mapping[str, str]) -> TranscriptItem:
    subtype, stamp = text_of(message.get("subtype")), text_of(message.get("ts"))
    if message.get("type") != "message" or subtype not in SPOKEN or not stamp:
        return Omission(f"notices of the messenger: {subtype or 'event'!r:.60}")
    text = _plain(text_of(message.get("text")), names)
    user, thread = text_of(message.get("user")), text_of(message.get("thread_ts"))
    return TranscriptMessage(
        id=json.dumps([channel, stamp, user]),
        source=f"slack/{channel}",
        text=values.join_lines(text, *values.file_lines(message.get("files"))),
        speaker=names.get(user) or name_of(message.get("username")) or name_of(user),
        at=values.unix_time(stamp),
        session=f"{channel}:{thread}" if thread else None,
    )


def _plain(text: str, names: Mapping[str, str]) -> str:
    """Slack's markup as a person reads it: names for ids, links by their words and address."""

    def link_text(link: re.Match[str]) -> str:
        target, label = link[1], link[2]
        if target[0] in "@#!":
            return target[0].replace("!", "@") + (names.get(target[1:]) or label or target[1:])
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_LINK.sub(link_text, text))
