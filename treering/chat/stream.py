"""A chat reply as it is written; its round is remembered when it is complete."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Self

from treering.chat.answer import Answer
from treering.chat.prompt import ChatPrompt
from treering.errors import InputError
from treering.llm.contract import Reply, ReplyStream


class ChatStream(Iterator[str]):
    """Iterate over the pieces of a reply, each a text, then read ``answer``.

    The message is stored before the model is asked, the reply once its last piece has been read;
    ``answer`` is None until then. ``close()``, or leaving the ``with`` block early, stops the
    model: the unfinished reply is not stored, and the same message can be sent again. To read on
    then raises InputError. ``prompt`` is set only for a memory in a file or database, not on a
    server.
    """

    _is_closed = False
    """Whether it was closed before its end."""

    def __init__(
        self,
        pieces: ReplyStream,
        prompt: ChatPrompt,
        remember: Callable[[Reply], Answer],
        abandon: Callable[[], None],
    ) -> None:
        self.prompt = prompt
        self._pieces = pieces
        self._remember = remember
        self._abandon = abandon
        self._over = False
        self._reading = threading.Lock()
        self._answer: Answer | None = None

    def __next__(self) -> str:
        if self._is_closed:
            raise InputError(
                "the stream was closed before the end of its reply; send the message again"
            )
        try:
            with self._reading:
                return self._read()
        finally:
            if self._over:
                self._stop()

    def _read(self) -> str:
        goes_on = False
        try:
            piece = next(self._pieces)
            goes_on = True
            return piece
        except StopIteration:
            reply = self._pieces.reply
            if reply is not None and not self._over:
                self._answer = self._remember(reply)
            raise
        finally:
            if not goes_on:
                self._end()

    def _end(self) -> None:
        """End the round, once, and give up a message without an answer."""
        if not self._over and self._answer is None:
            self._abandon()
        self._over = True

    def _close_pieces(self) -> None:
        self._pieces.close()

    @property
    def answer(self) -> Answer | None:
        """The whole reply with its cost; None until it is complete and remembered."""
        return self._answer

    def close(self) -> None:
        """Stop the model, after the piece that another thread is waiting for, if one is."""
        self._is_closed = self._is_closed or not (self._over or self._answer)
        self._end()
        self._stop()

    def _stop(self) -> None:
        """Close the pieces. A thread that is reading one closes them itself when it has it."""
        if self._reading.acquire(blocking=False):
            try:
                self._close_pieces()
            finally:
                self._reading.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
