"""E-mail: single messages (``.eml``) and boxes of them (``.mbox``)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from email import message_from_bytes
from email.errors import MessageError
from email.policy import default
from email.utils import parseaddr, parsedate_to_datetime
from html.parser import HTMLParser

from treering import files
from treering.ingest.transcripts.archive import TranscriptPath, folder_name
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.values import refuse_larger

_REPLY = re.compile(r"^(?:\s*(?:re|fwd?|aw|wg|sv|vs|tr|rv|r)\s*:)+\s*", re.IGNORECASE)
_UNSEEN = frozenset({"script", "style", "head", "title"})
_BREAKS = frozenset({"br", "p", "div", "tr", "li", "h1", "h2", "h3", "blockquote"})


class MailFormat:
    """Mail in files."""

    name = "mail"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """By the file's name, or as a box by its first line."""
        box = path.suffix == "" and head.startswith("From ") and "\nFrom: " in head
        return box or path.suffix in (".eml", ".mbox", ".mbx")

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of a file."""
        if path.suffix == ".eml":
            refuse_larger(path)
            yield _item(files.read_bytes(path), folder_name(path) or "mail")
            return
        with files.open_file(path) as stream:
            for letter in _letters(stream):
                yield _item(letter, path.stem)


def _letters(box: Iterable[bytes]) -> Iterator[bytes]:
    """The messages of a box; a line with "From " begins one."""
    lines: list[bytes] = []
    for line in box:
        if line.startswith(b"From ") and lines:
            yield b"".join(lines)
            lines = []
        lines.append(line)
    yield b"".join(lines)


def _item(content: bytes, folder: str) -> TranscriptItem:
    message = message_from_bytes(content, policy=default)
    try:
        part = message.get_body(preferencelist=("plain", "html"))
        body = "" if part is None else str(part.get_content())
        names = ("subject", "from", "to", "message-id")
        subject, sender, to, identity = (" ".join(str(message[n] or "").split()) for n in names)
    except (LookupError, MessageError, UnicodeError, ValueError, AttributeError):
        return Omission("mails that cannot be read")  # an unknown coding, a torn part
    page = part is not None and part.get_content_subtype() == "html"
    attached = [f"[file: {name}]" for each in message.walk() if (name := each.get_filename())]
    text = "\n".join([(_page_text(body) if page else body).strip(), *attached])
    at = None
    with suppress(ValueError, TypeError):
        at = parsedate_to_datetime(str(message["date"]))
    name, address = parseaddr(sender)
    return TranscriptMessage(
        id=identity or hashlib.sha256(message.as_bytes()).hexdigest(),
        source=f"mail/{folder}",
        text=(f"Subject: {subject}\n\n{text}" if subject else text).strip(),
        speaker=name.strip() or address or None,
        at=at,
        session=_REPLY.sub("", subject).strip() or None,
        metadata={"to": to or None},
    )


def _page_text(page: str) -> str:
    """The text of a page of HTML, a line for each block, at most one empty line at a time."""
    parser = _PageText()
    parser.feed(page)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _PageText(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._hidden += tag in _UNSEEN
        self.parts.append("\n" if tag in _BREAKS else "")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _UNSEEN))

    def handle_data(self, data: str) -> None:
        self.parts.append("" if self._hidden else data)
