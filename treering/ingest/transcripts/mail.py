"""E-mail: single messages (``.eml``) and boxes of them (``.mbox``)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr, parsedate_to_datetime
from html.parser import HTMLParser

from treering import files
from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.documents import refuse_larger

_REPLY = re.compile(r"^(?:\s*(?:re|fwd?|aw|wg|sv|vs|tr|rv|r)\s*:)+\s*", re.IGNORECASE)
_UNSEEN = frozenset({"script", "style", "head", "title"})
_BREAKS = frozenset({"br", "p", "div", "tr", "li", "h1", "h2", "h3", "blockquote"})


class MailFormat:
    """Mail in files."""

    name = "mail"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """By the file's name, or as a box by its first line."""
        return path.suffix in (".eml", ".mbox", ".mbx") or (
            path.suffix == "" and head.startswith("From ") and "\nFrom: " in head
        )

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of a file."""
        if path.suffix == ".eml":
            refuse_larger(path)
            yield _item(files.read_bytes(path), path)
            return
        with files.open_file(path) as stream:
            for lines in _letters(stream):
                yield _item(b"".join(lines), path)


def _letters(box: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines of each message of a box; a line with "From " begins one."""
    lines: list[bytes] | None = None
    for line in box:
        if line.startswith(b"From "):
            if lines is not None:
                yield lines
            lines = []
        elif lines is not None:
            lines.append(line)
    if lines is not None:
        yield lines


def _item(content: bytes, path: TranscriptPath) -> TranscriptItem:
    message = message_from_bytes(content, policy=default)
    try:
        body = _body(message)
        subject = _header(message, "subject")
    except (LookupError, MessageError, UnicodeError, ValueError, AttributeError):
        return Omission("mails that cannot be read")  # an unknown coding, a torn part
    files = [part.get_filename() for part in message.walk() if part.get_filename()]
    head = f"Subject: {subject}\n\n" if subject else ""
    text = "\n".join([head + body.strip(), *(f"[file: {name}]" for name in files)]).strip()
    if not text:
        return Omission("messages without text")
    name, address = parseaddr(_header(message, "from"))
    identity = _header(message, "message-id") or hashlib.sha256(message.as_bytes()).hexdigest()
    return TranscriptMessage(
        id=identity,
        source=f"mail/{path.stem if path.suffix != '.eml' else path.parent.name or 'mail'}",
        text=text,
        speaker=name.strip() or address or None,
        at=_date(message),
        session=_REPLY.sub("", subject).strip()[:MAX_THREAD_CHARS] or None,
        metadata={"to": to} if (to := _header(message, "to")) else {},
    )


MAX_THREAD_CHARS = 200  # of a subject: what names the thread


def _header(message: EmailMessage, name: str) -> str:
    """A header on one line; header lines may be folded, and hold what no name may."""
    return " ".join(str(message.get(name, "")).split())


def _date(message: EmailMessage) -> datetime | None:
    with suppress(ValueError, TypeError):
        return parsedate_to_datetime(str(message["date"]))
    return None


def _body(message: EmailMessage) -> str:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    content = str(part.get_content())
    if part.get_content_subtype() != "html":
        return content
    page = PageText()
    page.feed(content)
    page.close()
    return page.text()


class PageText(HTMLParser):
    """The text of a page of HTML, a line for each block."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block."""
        del attrs
        self._hidden += tag in _UNSEEN
        if tag in _BREAKS:
            self._parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """End what is not shown."""
        if tag in _UNSEEN and self._hidden:
            self._hidden -= 1

    def handle_data(self, data: str) -> None:
        """Take a text."""
        if not self._hidden:
            self._parts.append(data)

    def text(self) -> str:
        """What was taken; no more than one empty line at a time."""
        lines = (" ".join(line.split()) for line in "".join(self._parts).splitlines())
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
