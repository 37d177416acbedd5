"""A chat that remembers: a policy decides what the model sees, both sides of a round are kept."""

from __future__ import annotations

from typing import Literal

PolicyName = Literal["auto", "window", "fragments", "tree", "memo"]
