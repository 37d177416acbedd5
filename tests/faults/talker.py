"""A process that says something in a chat whose model never ends its reply.

``python -m tests.faults.talker FILE MESSAGE chat|stream`` prints ``asked`` once the model has been.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator

from tests.embedders import HashingEmbedder
from treering import Memory
from treering.llm.contract import Reply, ReplyStream
from treering.llm.scripted import FakeLLM, Request


def hang(_: Request) -> None:
    print("asked", flush=True)
    threading.Event().wait()


class Stuck(FakeLLM):
    """Gives one piece of a reply and no more."""

    def stream(self, *_: object, **__: object) -> ReplyStream:
        def pieces() -> Generator[str, None, Reply]:
            yield "Well, "
            return self.complete([], max_tokens=1, temperature=0)

        return ReplyStream(pieces())


def main() -> None:
    path, message, way = sys.argv[1:]
    llm = Stuck(["Never."], before_reply=hang)
    with Memory.open(path, embedder=HashingEmbedder(), llm=llm) as memory:
        if way == "chat":
            memory.chat(message)
        else:
            list(memory.chat_stream(message))


if __name__ == "__main__":
    main()
