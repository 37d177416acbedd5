"""Messages as an OpenAI-style chat endpoint takes them, stripped of anything that could act there.

Servers paste message contents into the model's chat template and tokenize the whole with control
tokens enabled, so ``<|im_end|>`` in a remembered text would end the message and begin another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from treering.errors import TextEncodingError
from treering.llm.contract import Message

_CONTROL_TOKEN = re.compile(
    r"""<(?=[|｜][^<>\s]{1,64}[|｜]>      # <|im_end|>, <|eot_id|>, <｜User｜>
          |/?s>|/?(?:bos|eos|pad|unk)>   # <s>, </s>, <eos>
          |/?(?:start|end)_of_turn>)     # <start_of_turn>
      |\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])
      |<(?=</?SYS>>)""",
    re.VERBOSE,
)


def defuse(text: str) -> str:
    """``text`` with a space inside every control token of a known chat template."""
    return _CONTROL_TOKEN.sub(lambda opening: opening.group() + " ", text)


def to_wire(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The ``messages`` member of a chat completion request.

    Raises ``TextEncodingError`` for text that has no UTF-8 form (lone surrogates).
    """
    for message in messages:
        try:
            message.content.encode()
        except UnicodeEncodeError as error:
            raise TextEncodingError(
                f"the prompt holds {message.content[error.start]!r} at position {error.start}, "
                "which is not a character; decode its source with errors='replace'"
            ) from error
    return [{"role": message.role, "content": defuse(message.content)} for message in messages]
