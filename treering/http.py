"""HTTP shared by client, server and proxy: server-sent events and waiting times."""

from __future__ import annotations

from typing import NamedTuple


class ServerEvent(NamedTuple):
    """A server-sent event; most have no name."""

    name: str
    data: bytes


class EventReader:
    """Reads events out of the bytes of a reply as they arrive.

    Every line of data is given out at once, as its own event: no server read here spreads an event
    over several lines. So a reply that breaks off loses nothing that had arrived.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._name = ""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that these bytes complete."""
        # Line feeds alone end a line: texts hold other characters that other readers stop at.
        first, *lines = chunk.split(b"\n")
        self._rest.append(first)
        if not lines:
            return []  # joined once, at the end of the line, which may take many chunks
        lines.insert(0, b"".join(self._rest))
        self._rest = [lines.pop()]
        events = []
        for line in lines:
            field, _, value = line.removesuffix(b"\r").partition(b":")
            value = value.removeprefix(b" ")
            if field == b"event":
                self._name = value.decode("utf-8", "replace")
            elif field == b"data":
                events.append(ServerEvent(self._name, value))
            elif not field and not value:  # an empty line ends an event
                self._name = ""
        return events


def encoded_event(data: bytes, name: str | None = None) -> bytes:
    """An event of data in one line, as JSON is."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n"


def retry_after_s(header: str | None) -> float | None:
    """The seconds that a server asks to wait for; None if it names none."""
    return float(header) if header is not None and header.isdecimal() else None
