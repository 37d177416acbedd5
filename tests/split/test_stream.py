"""A stream of text as pieces, and bytes as text."""

from __future__ import annotations

import codecs
from io import BytesIO
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.errors import TextEncodingError
from treering.split import stream
from treering.split.stream import decode, pieces
from treering.text import check_text

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(blocks=st.lists(st.text("ab \n", max_size=60)), limit=st.integers(2, 40))
def test_pieces_joined_are_the_stream(blocks: list[str], limit: int) -> None:
    found = list(pieces(blocks, limit))
    assert "".join(found) == "".join(blocks)
    assert all(0 < len(piece) <= limit for piece in found)


@given(text=st.text("ab \n", max_size=300), cuts=st.lists(st.integers(0, 300)))
def test_pieces_do_not_depend_on_how_the_stream_was_cut(text: str, cuts: list[int]) -> None:
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    blocks = [text[start:stop] for start, stop in pairwise(edges)]
    assert list(pieces(blocks, 40)) == list(pieces([text], 40))


def test_a_piece_ends_where_a_reader_would_pause() -> None:
    assert list(pieces(["aaaa bb\n\ncccc dddd"], 12)) == ["aaaa bb\n\n", "cccc dddd"]
    assert list(pieces(["aaaa bbb\ncccc dddd"], 12)) == ["aaaa bbb\n", "cccc dddd"]
    assert list(pieces(["aaaa bbbb cccc"], 12)) == ["aaaa bbbb ", "cccc"]
    assert list(pieces(["a" * 14], 12)) == ["a" * 12, "aa"]


@given(
    text=texts,
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32"]),
    block=st.integers(4, 9),
)
def test_text_is_decoded_whatever_its_mark_and_wherever_blocks_end(
    text: str, encoding: str, block: int
) -> None:
    marks = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
    data = marks.get(encoding, b"") + text.encode(encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "_BLOCK_BYTES", block)
        decoded = "".join(decode(BytesIO(data), "notes.txt"))
    assert decoded == (text.removeprefix("\ufeff") if encoding == "utf-8" else text)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"abc\xff", "byte 3"),
        (b"a" * (1 << 20) + b"bc\xff", f"byte {(1 << 20) + 2}"),
        (b"abc\xe2\x82", "byte 3"),
    ],
)
def test_bytes_that_are_no_text_are_refused_with_their_offset(data: bytes, place: str) -> None:
    with pytest.raises(TextEncodingError, match=rf"notes.txt is not utf-8 text.*{place}.*convert"):
        list(decode(BytesIO(data), "notes.txt"))


def test_a_nul_is_refused_with_its_offset_in_the_file() -> None:
    data = b"a" * (1 << 20) + b"bc\0"
    with pytest.raises(TextEncodingError, match=f"NUL.*offset {(1 << 20) + 2};"):
        list(decode(BytesIO(data), "notes.txt"))


@pytest.mark.parametrize(
    ("text", "message"),
    [("a\0b", "NUL character at offset 1"), ("ab\ud800", r"lone surrogate '\\ud800' at offset 2")],
)
def test_characters_that_cannot_be_stored_are_refused(text: str, message: str) -> None:
    with pytest.raises(TextEncodingError, match=message):
        check_text(text, "the text")
