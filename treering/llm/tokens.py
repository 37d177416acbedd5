"""Tokens without a tokenizer: a count for budgets, and control tokens made harmless.

Byte-pair tokenizers agree on little but the shape: a common word, a run of marks or a line break is
about one token, a digit is one, a letter of another script about half of one. The weights start
from a least-squares fit to Qwen2.5's tokenizer over English prose, chat, Python and C, rounded;
those of long words, other scripts and emoji, which the samples hardly hold, are set by hand. Of 35
texts of Python's language reference and standard library 34 are within 15 % (median ratio 1.05 and
0.98).
Two samples of German and Spanish came out a fifth low.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import accumulate

_WEIGHTS: tuple[tuple[re.Pattern[str], float], ...] = (
    (re.compile(r"[A-Za-z]+"), 1.1),  # a word with the space before it
    (re.compile(r"(?<=[A-Za-z]{12})[A-Za-z]"), 0.3),  # words this long are cut up
    (re.compile(r"(?<=[a-z])[A-Z]"), 1.5),  # a hump of camelCase
    (re.compile(r"[0-9]"), 1.2),
    (re.compile(r"[!-/:-@\[-`{-~]+"), 0.55),  # a run of ASCII marks, and each further mark of it
    (re.compile(r"(?<=[!-/:-@\[-`{-~])[!-/:-@\[-`{-~]"), 0.1),
    (re.compile(r"\n\s*|[ \t]{2,}"), 1.5),  # a line break with its indentation
    (re.compile(r"[^\W\d_\x00-\x7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"), 0.55),
    (re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"), 0.7),  # Chinese, Japanese, Korean
    (re.compile(r"[^\w\s\x00-\x7f]"), 1.5),  # combining vowels, emoji, typographic marks
)


def tokens_upto(text: str) -> Sequence[float]:
    """The estimate for the text up to each of its characters, one more than there are."""
    weights = [0.0] * len(text)
    for shape, weight in _WEIGHTS:
        for match in shape.finditer(text):
            weights[match.start()] += weight
    return [*accumulate(weights, initial=0.0)]


def estimate_tokens(text: str) -> int:
    """About how many tokens a current byte-pair tokenizer cuts ``text`` into; 0 for no text."""
    return math.ceil(sum(weight * len(shape.findall(text)) for shape, weight in _WEIGHTS))


_CONTROL_TOKEN = re.compile(
    r"""<(?=[|｜][^<>\s]{1,64}[|｜]>      # <|im_end|>, <|eot_id|>, <｜User｜>
          |/?s>|/?(?:bos|eos|pad|unk)>   # <s>, </s>, <eos>
          |/?(?:start|end)_of_turn>)     # <start_of_turn>
      |\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])
      |<(?=</?SYS>>)""",
    re.VERBOSE,
)
"""Servers paste message contents into the model's chat template and tokenize the whole with control
tokens enabled, so ``<|im_end|>`` in a remembered text would end the message and begin another."""


def defuse(text: str) -> str:
    """Return ``text`` with a space inside every control token of a known chat template."""
    return _CONTROL_TOKEN.sub(lambda opening: opening.group() + " ", text)
