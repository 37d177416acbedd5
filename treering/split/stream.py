"""A document of any size as a stream of entry-sized pieces, in constant memory."""

from __future__ import annotations

import codecs
from collections.abc import Generator, Iterable, Iterator
from typing import BinaryIO

from treering import files
from treering.errors import TextEncodingError
from treering.text import check_text

MAX_ENTRY_CHARS = 32_768
"""A longer text becomes several entries. Small enough to read for a hit, large enough that the
journal of a 1 GB text has 30,000 rows."""

_BLOCK_BYTES = 1 << 20
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def pieces(blocks: Iterable[str], limit: int = MAX_ENTRY_CHARS) -> Iterator[str]:
    """Regroup a stream of text into pieces of at most ``limit`` characters; joined, the same text.

    A piece ends after a blank line if it has one in its second half, else after a line, else
    after a space, else anywhere.
    """
    pending = ""
    for block in blocks:
        pending += block
        start = 0
        while len(pending) - start > limit:
            stop = _border(pending, start, start + limit)
            yield pending[start:stop]
            start = stop
        pending = pending[start:]
    if pending:
        yield pending


def _border(text: str, start: int, stop: int) -> int:
    middle = (start + stop) // 2
    # From the most to the least natural border, in the second half, so that no piece gets small.
    for mark in ("\n\n", "\n", " "):
        at = text.rfind(mark, middle, stop)
        if at >= 0:
            return at + len(mark)
    return stop


def decode(stream: BinaryIO, name: str, encoding: str = "utf-8") -> Iterator[str]:
    """The text of a file, a block at a time; a byte order mark decides before ``encoding``.

    Raises TextEncodingError with the offset of bytes that are not text.
    """
    head = stream.read(_BLOCK_BYTES)
    encoding = next((name for bom, name in _BOMS if head.startswith(bom)), encoding)
    decoder = codecs.getincrementaldecoder(encoding)()
    read = decoded = 0
    block = head
    while True:
        start = read - len(decoder.getstate()[0])  # it holds back a character cut by the block
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise TextEncodingError(
                f"{name} is not {encoding} text: {error.reason} at byte {start + error.start}; "
                "name its encoding, such as cp1252, or convert it to UTF-8"
            ) from error
        if text:
            yield check_text(text, name, decoded)
        if not block:
            return
        read += len(block)
        decoded += len(text)
        block = stream.read(_BLOCK_BYTES)


def read_text(path: files.AnyFile, encoding: str | None = None) -> Generator[str, None, None]:
    """The text of a file, a block at a time. ``encoding`` is for a file that is not UTF-8."""
    if encoding is None or _is_utf8(path):
        encoding = "utf-8"
    with files.open_file(path) as stream:
        yield from decode(stream, str(path), encoding)


def _is_utf8(path: files.AnyFile) -> bool:
    """Whether a file is UTF-8 beyond ASCII: a folder may hold files of several encodings."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_ascii = True
    with files.open_file(path) as stream:
        try:
            while block := stream.read(_BLOCK_BYTES):
                is_ascii = is_ascii and block.isascii()
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return not is_ascii
